"""Where placements get to: what holds one, and by which names it leaves a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, is_host
from placement_lint.placement.domain.state import State, initial_state
from placement_lint.placement.domain.values import (
    NOTHING,
    AnyTree,
    Array,
    Atom,
    Class,
    Coroutine,
    DefaultDeviceContext,
    DeviceList,
    Function,
    Generator,
    Instance,
    Lazy,
    Mapping,
    Method,
    Partial,
    Sequence,
    TheDevice,
    Thread,
    Value,
    join,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module


class Reach:
    """Follows placements out of functions, objects and modules of a program that was run."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program

    def carries_placement(self, held: Value, state: State, depth: int = 3) -> bool:
        """Return whether a value holds an array that was placed on purpose."""
        if _is_placed(held):
            return True
        if any(isinstance(a, Generator | Lazy) and self._generates(a, state) for a in held):
            return True
        return depth > 0 and any(
            self.carries_placement(attribute, state, depth - 1)
            for atom in held
            if isinstance(atom, Instance)
            for name in self._program.objects.attribute_names(atom)
            if (attribute := state.variables.get((atom, name))) is not None
        )

    def _generates(self, generator: Generator | Lazy, state: State) -> bool:
        """Return whether a generator has, or gives, an array made under a default device."""
        if isinstance(generator, Lazy):
            return any(self.carries_placement(held, state, 0) for _, held in generator.operands)
        given = [held for _, held in generator.arguments]
        result = self._program.now.results.get(generator.function, NOTHING)
        return any(self.carries_placement(held, state, 0) for held in (*given, result))

    def carried_by(self, module: Module) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of a module through which a placement, or a default device, gets out.

        And those by which no more than a device does.
        """
        bindings = module.names.module_scope.bindings
        if self._program.changes_default(module):
            # Whoever imports anything of it has another default device from then on.
            return frozenset(bindings), frozenset()
        names: set[str] = set()
        devices: set[str] = set()
        state = initial_state()
        for name in bindings:
            held = self._program.linking.variable_of(module, module.names.module_scope, name, state)
            if any(self._lets_out(atom) for atom in held):
                names.add(name)
            elif any(self._gives_device(atom) for atom in held):
                devices.add(name)
        return frozenset(names), frozenset(devices)

    def _lets_out(self, atom: Atom, depth: int = 4) -> bool:
        """Return whether a thing is, makes or holds an array that was placed on purpose."""
        if isinstance(atom, Class | Instance):
            return self._holds_placement(atom.place if isinstance(atom, Class) else atom.cls)
        if isinstance(atom, DefaultDeviceContext):
            return True
        if isinstance(atom, Function) and self._acts(atom.place):
            return True
        state = initial_state()
        return self.carries_placement(value(atom), state) or (
            depth > 0 and any(self._lets_out(each, depth - 1) for each in self._made_by(atom))
        )

    def _acts(self, function: Place) -> bool:
        """Return whether calling a function does something with a placement, whatever it gives."""
        acting = (
            self._program.now.hands_out,
            self._program.now.sets_default,
            self._program.now.moving,
        )
        return any(function in places for places in acting)

    def _gives_device(self, atom: Atom, depth: int = 4) -> bool:
        """Return whether a thing is, makes or holds a device."""
        return isinstance(atom, TheDevice | DeviceList) or (
            depth > 0 and any(self._gives_device(each, depth - 1) for each in self._made_by(atom))
        )

    def _made_by(self, atom: Atom) -> Value:
        """Return what a function gave when it was called, and what a container holds."""
        if isinstance(atom, Function):
            return self._program.now.results.get(atom.place, NOTHING)
        if isinstance(atom, Method):
            return value(Function(atom.function))
        if isinstance(atom, Partial):
            given = (*atom.positional, *(held for _, held in atom.keywords))
            return join(value(atom.function), *given)
        if isinstance(atom, Thread):
            return self._made_by(atom.target)
        if isinstance(atom, Coroutine):
            return atom.result
        if isinstance(atom, Sequence):
            return join(*(atom.items or ()), atom.element)
        if isinstance(atom, Mapping):
            return join(*(held for _, held in atom.items), atom.element)
        return NOTHING

    def moves(self) -> None:
        """Note that the function being executed copies something, or may do so."""
        frame = self._program.functions.frame
        if frame is not None:
            self._program.now.moving.add(frame.place)

    def hands_out(self) -> None:
        """Note that the functions being executed give a placement to a function of others."""
        self._program.now.hands_out |= self._program.now.running

    def _holds_placement(self, cls: Place) -> bool:
        """Return whether an object of a class has such an array in an attribute, or returns one."""
        state = initial_state()
        held = [self._program.now.final[key] for key in self._program.now.attributes_of(cls)]
        node = self._program.node(cls)
        module = self._program.module_of(cls)
        if isinstance(node, cst.ClassDef):
            methods = [module.place(m) for m in node.body.body if isinstance(m, cst.FunctionDef)]
            if any(self._acts(method) for method in methods):
                return True
            held += [self._program.now.results.get(method, NOTHING) for method in methods]
        return any(self.carries_placement(each, state) for each in held)


def _is_placed(held: Value, depth: int = 4) -> bool:
    """Return whether an array in a value was made under a default device, or put on another one.

    Where one may be committed to some other device than others may be, or to one that is not
    known, no rule has anything to say, wherever it goes; unless that may be the host: who calls
    `load(path, device=None)` may say so.
    """
    committed = held and all(isinstance(a, Array) and a.committed and a.device for a in held)
    for atom in held:
        if isinstance(atom, Array):
            made_elsewhere = atom.origin is not None and atom.origin.device is not None
            if committed and atom.device != SYSTEM_DEFAULT:
                return True
            if atom.committed and is_host(atom.device):
                return True
            if made_elsewhere and not atom.committed:
                return True
        elif depth and isinstance(atom, Sequence):
            if any(_is_placed(item, depth - 1) for item in atom.items or (atom.element,)):
                return True
        elif depth and isinstance(atom, Mapping):
            parts = (*(item for _, item in atom.items), atom.element)
            if any(_is_placed(item, depth - 1) for item in parts):
                return True
        elif isinstance(atom, AnyTree) and _is_placed(atom.leaf, 0):
            return True
    return False
