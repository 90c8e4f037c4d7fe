"""What the program itself does where an attribute of an object is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import UNKNOWN, Plain, Value, value
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import PROPERTIES

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Interpreter


class AttributeHooks:
    """Descriptors that decorators make, properties made by calls, `__getattr__` and
    `__getattribute__`.
    """

    def __init__(self, program: Interpreter) -> None:
        self._program = program

    def got(
        self, descriptor: Atom | None, of: Value, owner: Place, name: str, state: State
    ) -> Value | None:
        """Return what a descriptor gives that stands for a method; None for anything else."""
        if not isinstance(descriptor, Instance):
            return None
        getter = self._program.classes.method(descriptor.cls, "__get__")
        if getter is None:
            return None
        self.name(descriptor, owner, name, state)
        given = (value(descriptor), of, value(Class(owner)))
        return self._program.functions.call(getter, dict(enumerate(given)), state, bound=True)

    def name(self, descriptor: Instance, owner: Place, name: str, state: State) -> None:
        """Call the `__set_name__` of a descriptor, as Python did when it made the class."""
        named = self._program.classes.method(descriptor.cls, "__set_name__")
        if named is not None:
            given = (value(descriptor), value(Class(owner)), value(Plain(text=name)))
            self._program.functions.call(named, dict(enumerate(given)), state, bound=True)

    def delegated(self, instance: Instance, name: str, state: State) -> Value:
        """Return what `__getattr__` gives for an attribute that an object does not have."""
        function = self._program.classes.method(instance.cls, "__getattr__")
        if function is None or name.startswith("__"):
            return UNKNOWN
        arguments: dict[int | str, Value] = {0: value(instance), 1: value(Plain(text=name))}
        return self._program.functions.call(function, arguments, state, bound=True)

    def made_property(self, instance: Instance, name: str, state: State) -> Value | None:
        """Return what `name = property(function)` in a class gives of an object."""
        for place in self._program.classes.bases(instance.cls):
            module, node = self._program.module_of(place), self._program.node(place)
            scope = module.names.scope(node.body) if isinstance(node, cst.ClassDef) else None
            bindings = [] if scope is None else scope.bindings.get(name, [])
            if not bindings:
                continue
            made = bindings[0].value if len(bindings) == 1 else None
            if not isinstance(made, cst.Call) or (
                module.names.qualified(made.func) not in PROPERTIES
            ):
                return None
            getter = Arguments(made).get(0, "fget", "func")
            if getter is None:
                return None
            there = self._program.expressions(module)
            held = there.evaluate(getter, state)
            given = CallArguments([value(instance)])
            return there.calls.objects.called_with(getter, held, given, state)
        return None

    def by_hook(self, instance: Instance, name: str, state: State) -> Value | None:
        """Return what `__getattribute__` of the program gives; None: it is not called here."""
        function = self._program.classes.method(instance.cls, "__getattribute__")
        if function is None or name.startswith("__"):
            return None
        if any(frame.place == function for frame in self._program.functions.frames):
            return None
        arguments: dict[int | str, Value] = {0: value(instance), 1: value(Plain(name))}
        held = self._program.functions.call(function, arguments, state, bound=True)
        return (
            None if held == UNKNOWN and self._program.classes.method(instance.cls, name) else held
        )
