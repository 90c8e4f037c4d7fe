"""Contexts that decorate functions of the program: `@on_cpu()`, `@Placed(device)`.

Each call of such a function runs in the block of the context, as `@jax.default_device(d)` does it.
A function that a context decorates is called as it was before; what it enters is known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Function, Instance
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice, variable
from placement_lint.placement.domain.values import (
    NOTHING,
    Closure,
    DefaultDeviceContext,
    PlainContext,
    value,
)
from placement_lint.placement.engine.closures import enters_something
from placement_lint.placement.engine.contexts import entered_default
from placement_lint.placement.facts.decorators import decorator_name, is_property

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module

_DECORATING = "contextlib.ContextDecorator"


class ContextDecorators:
    """The functions of a program that contexts decorate, and by which of their decorators."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._found: dict[Place, dict[int, cst.Decorator]] = {}

    def note(self, function: Place, decorator: cst.Decorator, held: Value) -> bool:
        """Return whether a decorator is a context, and remember it as one of that function."""
        if not held or not all(
            isinstance(atom, DefaultDeviceContext | PlainContext)
            or (isinstance(atom, Instance) and self._decorates(atom.cls))
            for atom in held
        ):
            return False
        self._found.setdefault(function, {})[id(decorator)] = decorator
        return True

    def _decorates(self, cls: Place) -> bool:
        """Return whether objects of a class are contexts that may decorate functions."""
        classes = self._program.classes
        return (
            _DECORATING in classes.base_names(cls)
            and classes.method(cls, "__enter__") is not None
            and classes.method(cls, "__call__") is None
        )

    def call_around(
        self, function: Place, passed: CallArguments, state: State, receiver: Instance | None = None
    ) -> bool:
        """Call what decorators make of a function that nothing called, if that has a block; return
        whether they have called it.

        `receiver`: of a method, the object.
        """
        program = self._program
        module, node = program.module_of(function), program.node(function)
        if not isinstance(node, cst.FunctionDef) or not node.decorators:
            return False
        if receiver is not None and is_property(module, node):
            held = program.classes.decorated(function, state)
        elif receiver is not None:
            held = program.classes.attribute(value(receiver), node.name.value, state)
        else:
            key = variable(module.names.scope(node), node.name.value)
            held = program.held(key, state) or program.now.final.get(key) or NOTHING
        if not held or not all(self._enters_something(atom, function) for atom in held):
            return False
        self.call(module, node, held, passed, state.copy())
        return function in program.now.executed

    def call(
        self,
        module: Module,
        node: cst.FunctionDef,
        held: Value,
        passed: CallArguments,
        state: State,
    ) -> Value:
        """Call what decorators made of a function."""
        objects = self._program.expressions(module).calls.objects
        return objects.called_with(node.decorators[0].decorator, held, passed, state)

    def _enters_something(self, atom: Atom, function: Place) -> bool:
        """Return whether what decorators made of a function has a block around its call."""
        if not isinstance(atom, Closure | Function):
            return False
        place = atom.function if isinstance(atom, Closure) else atom.place
        if place == function:
            return False
        module, node = self._program.module_of(place), self._program.node(place)
        inner = [held for _, held in atom.closed] if isinstance(atom, Closure) else []
        return enters_something(module, node) or any(
            self._enters_something(each, function) for held in inner for each in held
        )

    def entered(
        self, module: Module, node: cst.FunctionDef, state: State, *, is_called: bool
    ) -> bool:
        """Enter what decorates a function, whose body is about to run; return whether it enters
        anything.

        It has no effect on the body of a generator or of an `async def`. A generator that nothing
        else decorates runs where it is consumed, if anything calls it; of others nothing says that.

        `is_called`: whether the program calls it.
        """
        noted = self._found.get(module.place(node), {})
        blocks = state.blocks
        for decorator in node.decorators:
            if id(decorator) not in noted and decorator_name(module, decorator) != (
                "jax.default_device"
            ):
                continue
            if is_called and self._is_plain_generator(module, node, noted):
                return False
            if node.asynchronous is not None or module.is_generator(node):
                state.blocks = (DefaultDevice(ANY_DEVICE),)
                return True
            expressions = self._program.expressions(module)
            held = expressions.evaluate(decorator.decorator, state)
            objects = expressions.calls.objects
            objects.entered_value(held, state)
            entered = entered_default(held)
            if id(decorator) not in noted and not any(
                isinstance(atom, DefaultDeviceContext) for atom in held
            ):
                entered = DefaultDevice(ANY_DEVICE)
            if entered is not None:
                state.blocks = (*state.blocks, entered)
        return state.blocks is not blocks

    @staticmethod
    def _is_plain_generator(
        module: Module, node: cst.FunctionDef, noted: dict[int, cst.Decorator]
    ) -> bool:
        """Return whether what a function gives is a generator, as contexts alone decorate it."""
        return (
            node.asynchronous is None
            and module.is_generator(node)
            and all(
                id(each) in noted or decorator_name(module, each) == "jax.default_device"
                for each in node.decorators
            )
        )
