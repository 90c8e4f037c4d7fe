"""Models of library functions: how one is written, and which there are.

A model is a function of one call, and is registered by the qualified names of what it models:

    @models("itertools.count")
    def counted(call: LibraryCall) -> Value:
        call.operands()
        return value(Sequence(None, PLAIN))

Every module of this package is imported when the first call is evaluated, so that a new one needs
no mention anywhere.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import libcst as cst

from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.values import NOTHING, UNKNOWN, Value, join
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.operand_layouts import GivenArguments, LaidOut
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.jaxmodel.effects import Effect, Row
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator, Interpreter


@dataclass
class LibraryCall:
    """A call of a library function: what is passed, and what a model may do with it.

    A model evaluates every argument, once: evaluating records the uses of arrays.
    """

    on: Evaluator
    """Evaluates the expressions of the body that the call is in."""
    node: cst.Call
    state: State
    """What holds where the call runs; a model may change it."""
    name: str = ""
    """The qualified name of what is called."""

    @functools.cached_property
    def arguments(self) -> Arguments:
        """What is written out, by position or keyword."""
        return Arguments(self.node)

    @property
    def row(self) -> Row:
        """The row of the transfer table for what is called, where a model applies an effect."""
        return self.on.names.table[self.name]

    @property
    def program(self) -> Interpreter:
        return self.on.program

    @property
    def place(self) -> Place:
        return self.on.module.place(self.node)

    def index(self, node: cst.CSTNode) -> int:
        return self.on.index(node)

    # -- arguments ------------------------------------------------------------------------------

    def evaluate(self, node: cst.CSTNode) -> Value:
        return self.on.evaluate(node, self.state)

    def argument(self, node: cst.BaseExpression | None) -> Value:
        """Evaluate one argument; None: an unknown one. A generator expression is consumed."""
        return self.on.argument(node, self.state)

    def values(self) -> list[Value]:
        """Evaluate every argument."""
        return [self.argument(argument.value) for argument in self.node.args]

    def operands(self) -> list[Operand]:
        """Evaluate every argument, of literal containers each element, with its place."""
        return self.on.arguments(self.node, self.state)

    def operand(self, node: cst.CSTNode) -> Operand:
        """Evaluate one argument, with its place."""
        return self.on.operand(node, self.state)

    def operands_in(self, node: cst.CSTNode) -> list[Operand]:
        """Evaluate one argument, of a literal container each element, with its place."""
        return self.on.operands(node, self.state)

    def passed(self) -> CallArguments:
        """Evaluate every argument, and sort them by how they are passed."""
        return self.on.calls.objects.passed(self.node, self.state)

    # -- what is done with them -----------------------------------------------------------------

    def iterated(self, node: cst.CSTNode, held: Value) -> Value:
        """Return what iterating over an argument gives, once its rows are taken."""
        return self.on.iteration.iterated(node, held, self.state)

    def element(self, node: cst.BaseExpression, held: Value) -> Value:
        """Return an element of an argument; a generator expression was consumed already."""
        if isinstance(node, cst.GeneratorExp):
            return element_of(held) or UNKNOWN
        return self.iterated(node, held)

    def computed(self, operands: list[Operand], *, certain: bool = True) -> Value:
        """Compute with arrays, and return the result where that runs."""
        return self.on.computed(self.node, operands, self.state, certain=certain)

    def created(
        self, *, certain: bool = True, is_small: bool = False, is_weak: bool = False
    ) -> Value:
        """Return an array that the call makes on the default device."""
        return self.on.operations.created(
            self.index(self.node), self.state, certain=certain, is_small=is_small, is_weak=is_weak
        )

    def called(self, function: Value, passed: CallArguments) -> Value:
        """Call a function that the program defines, or may define."""
        return self.on.calls.objects.called_with(self.node, function, passed, self.state)

    def escapes(self, held: Value) -> None:
        """Note that arrays go to something that nobody follows."""
        self.on.escapes(held, self.state)

    def saw_sharded(self, *given: Value, is_on_device: bool = False) -> None:
        """Remember what the call was given that has to do with shardings."""
        program = self.program
        self.on.record.sharded_calls.saw(
            self.index(self.node),
            program.running,
            program.meshes_in(self.state),
            *given,
            is_on_device=is_on_device,
        )

    def may_change(self, held: Value) -> None:
        """Note that containers go to something that may change them."""
        self.on.targets.may_change(held, self.state)


class ObjectCall:
    """A call that makes an object of a library, or calls a method of one.

    Its arguments are evaluated already, once, before the model runs: it may also be called where
    nothing is written out, as by `jax.tree.map(model.init, keys)`.
    """

    def __init__(
        self,
        on: Evaluator,
        node: cst.CSTNode,
        state: State,
        name: str,
        receiver: Atom | None = None,
        given: CallArguments | None = None,
    ) -> None:
        """Evaluate the arguments of the call `node`, unless they are given."""
        self.on = on
        self.node = node
        self.state = state
        self.name = name
        self.receiver = receiver
        """The object whose method it is; None: a function is called by its name."""
        self._laid_out = (
            LaidOut(on, node, state)
            if given is None and isinstance(node, cst.Call)
            else GivenArguments(on.index(node), given or CallArguments([]))
        )
        self.operands: list[Operand] = self._laid_out.operands
        """The arguments, of literal containers each element, with their places."""
        self.arguments = self._laid_out.passed([held for _, held in self.operands])

    @property
    def program(self) -> Interpreter:
        return self.on.program

    @property
    def place(self) -> Place:
        return self.on.module.place(self.node)

    def argument(self, position: int | None, *names: str) -> Value | None:
        """Return an argument by its position or by one of its names; None: it is not passed."""
        for name in names:
            if name in self.arguments.keywords:
                return self.arguments.keywords[name]
        if position is not None and position < len(self.arguments.positional):
            return self.arguments.positional[position]
        is_open = self.arguments.rest is not None or self.arguments.more is not None
        return UNKNOWN if is_open else None

    def named(self, position: int, *names: str) -> str | None:
        """Return the qualified name of what is passed, if a name is written out."""
        if not isinstance(self.node, cst.Call):
            return None
        node = Arguments(self.node).get(position, *names)
        return None if node is None else self.on.names.qualified(node)

    def keyword(self, name: str) -> cst.BaseExpression | None:
        """Return what is written out for an argument that is passed by its name."""
        return Arguments(self.node).get(None, name) if isinstance(self.node, cst.Call) else None

    def created(self, *, certain: bool = True, is_small: bool = False) -> Value:
        """Return an array that the call makes on the default device."""
        return self.on.operations.created(
            self.on.index(self.node), self.state, certain=certain, is_small=is_small
        )

    def computed(self, operands: list[Operand], *, certain: bool = True) -> Value:
        """Compute with arrays, also those of objects, and return the result where that runs."""
        spread = self.on.spread(operands, self.state)
        return self.on.computed(self.node, spread, self.state, certain=certain)

    def rebuilt(self, tree: Value, change: Callable[[Value], Value]) -> Value:
        """Return a tree of the same structure with each leaf changed."""
        return self.program.trees.rebuilt(tree, change, self.place, self.state, is_given=True)

    def arrays_of(self, held: Value) -> Value:
        """Return what the leaves of a tree may be."""
        leaves = [*self.program.trees.leaves(held, self.state)]
        return join(*leaves) if leaves else NOTHING

    def called(self, function: Value, *given: Value) -> Value:
        """Call a function with arguments."""
        objects = self.on.calls.objects
        return objects.called_with(self.node, function, CallArguments([*given]), self.state)

    def escapes(self, *given: Value) -> None:
        """Note that arrays go to something that nobody follows, which may change containers."""
        for held in given:
            self.on.escapes(held, self.state)
            self.on.targets.may_change(held, self.state)


Model: TypeAlias = Callable[[LibraryCall], Value]
ObjectModel: TypeAlias = Callable[[ObjectCall], Value]
_Key = TypeVar("_Key")

_BY_NAME: dict[str, Model] = {}
_BY_EFFECT: dict[Effect, Model] = {}
_OF_OBJECTS: dict[str, ObjectModel] = {}
_LAZY: set[str] = set()


def models(*names: str, lazy: bool = False) -> Callable[[Model], Model]:
    """Register a model of the functions with these qualified names.

    `lazy`: they give an iterator, and touch nothing before that is consumed, where the model runs.
    """
    if lazy:
        _LAZY.update(names)
    return lambda model: _registered(_BY_NAME, names, model)


def objects(*names: str) -> Callable[[ObjectModel], ObjectModel]:
    """Register a model of what makes objects of a library, and of their methods.

    Methods are named after the class of the library, whichever class derives from it.
    """

    def register(model: ObjectModel) -> ObjectModel:
        for name in names:
            if name in _OF_OBJECTS or name in _BY_NAME:
                message = f"{name} has two models: the second is {_name(model)}"
                raise ValueError(message)
            _OF_OBJECTS[name] = model
        return model

    return register


def applies(effect: Effect) -> Callable[[Model], Model]:
    """Register a model of all functions that the transfer table gives an effect."""
    return lambda model: _registered(_BY_EFFECT, (effect,), model)


def _registered(table: dict[_Key, Model], keys: tuple[_Key, ...], model: Model) -> Model:
    for key in keys:
        if key in table:
            message = f"{key} has two models: {_name(table[key])} and {_name(model)}"
            raise ValueError(message)
        table[key] = model
    return model


def _name(model: Model | ObjectModel) -> str:
    return f"{model.__module__}.{model.__qualname__}"


def models_by_name() -> dict[str, Model]:
    """Return every model, by the qualified names of what it models."""
    _import_all()
    return _BY_NAME


def models_of_objects() -> dict[str, ObjectModel]:
    """Return every model of what makes objects of libraries and of their methods, by name."""
    _import_all()
    return _OF_OBJECTS


def lazy_functions() -> set[str]:
    """Return the names of what gives an iterator, and touches nothing before that is consumed."""
    _import_all()
    return _LAZY


def models_by_effect() -> dict[Effect, Model]:
    """Return the models of what the transfer table has, by effect."""
    _import_all()
    return _BY_EFFECT


@functools.cache
def _import_all() -> None:
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
