"""Where placements get to: what holds one, and by which names it leaves a module."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, is_host
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.places import NOWHERE
from placement_lint.placement.domain.program_values import Class, Function, Instance
from placement_lint.placement.domain.state import State, chosen_defaults, initial_state
from placement_lint.placement.domain.values import (
    NOTHING,
    AnyTree,
    Array,
    Atom,
    Closure,
    ContextFactory,
    Coroutine,
    DefaultDeviceContext,
    Generator,
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
from placement_lint.syntax.pytest_fixtures import fixtures_among

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import Variable
    from placement_lint.placement.engine.frames import Frame
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module


Ways: TypeAlias = "frozenset[str] | None"
"""The attributes by which a placement gets out of what has a name; None: any use of it does."""
_UNNAMED = frozenset({"", "run", "setup"})
"""Functions that are called where nobody names them: lambdas, and those that libraries call."""


class Reach:
    """Follows placements out of functions, objects and modules of a program that was run."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._found_in: dict[Value, tuple[Array, ...]] = {}
        self._attributes: dict[Place, frozenset[str]] = {}

    @functools.cached_property
    def mentions_meshes(self) -> bool:
        """Whether any module of the program has a name of meshes in it: then numbers may matter."""
        return any(module.mentions_meshes() for module in [*self._program.modules.values()])

    @functools.cached_property
    def keeps_positions(self) -> bool:
        """Whether any module names the positions of donated arguments, or those of devices."""
        return any(
            module.keeps_positions or module.takes_devices(module.tree.module)
            for module in [*self._program.modules.values()]
        )

    def carries_placement(self, held: Value, state: State) -> bool:
        """Return whether a value holds an array that was placed on purpose."""
        return any(True for _ in self._placed(held, state))

    def _placed(
        self, held: Value, state: State, depth: int = 3, passed: dict[Instance, int] | None = None
    ) -> Iterator[Array]:
        """Yield the arrays in a value that were placed on purpose.

        `passed`: the objects that were looked into already, and how deep.
        """
        yield from self._placed_arrays(held)
        for atom in held:
            if isinstance(atom, Generator | Lazy):
                yield from self._generated(atom, state)
            elif isinstance(atom, Instance) and depth > 0:
                if passed is None:
                    passed = {}
                elif passed.get(atom, 0) >= depth:
                    continue
                passed[atom] = depth
                for name in self._program.objects.attribute_names(atom):
                    attribute = state.variables.get((atom, name))
                    if attribute is not None:
                        yield from self._placed(attribute, state, depth - 1, passed)

    def _placed_arrays(self, held: Value) -> tuple[Array, ...]:
        """Return the arrays in a value, and in its containers, that were placed on purpose."""
        found = self._found_in.get(held)
        if found is None:
            found = self._found_in[held] = (*_placed_in(held),)
        return found

    def _generated(self, generator: Generator | Lazy, state: State) -> Iterator[Array]:
        """Yield the placed arrays that a generator has, or gives."""
        if isinstance(generator, Lazy):
            every = [held for _, held in generator.operands]
        else:
            every = [held for _, held in generator.arguments]
            every.append(self._program.now.results.get(generator.function, NOTHING))
        for held in every:
            yield from self._placed(held, state, 0)

    # -- what functions do by themselves --------------------------------------------------------

    def enter(self, frame: Frame, arguments: abc.Mapping[str, Value], state: State) -> None:
        """Note what placements a function is given by its caller, in whose state it is called.

        A function that only passes on what it is given is no source of placements to others that
        call it: what it does then says nothing of it.
        """
        given = {array for held in arguments.values() for array in self._placed(held, state)}
        # What committed an array is forgotten where several things may have.
        frame.given = frozenset(given | {replace(each, via=NOWHERE) for each in given if each.via})
        frame.defaults = chosen_defaults(state)
        node = self._program.node(frame.place)
        names_placement = self._program.module_of(frame.place).names_placement(node)
        frame.touches = not frame.is_own or names_placement

    def left(
        self,
        frame: Frame,
        result: Value,
        writes: abc.Mapping[Variable, Value],
        state: State,
        *,
        sets_default: bool,
    ) -> None:
        """Note what a function did by itself that gave a result, and left variables of others."""
        now = self._program.now
        if frame.asks_meshes:
            # So does what called it.
            self.asks_meshes()
        if sets_default or (frame.moves and frame.is_own):
            now.acting.add(frame.place)
        frame.touches = (
            frame.touches
            or sets_default
            or any(
                held is not None and self.carries_placement(held, state)
                for held in (result, *frame.reads.values(), *writes.values())
            )
        )
        own = frozenset(atom for atom in result if self._is_own(value(atom), frame, state))
        now.placing[frame.place] = join(now.placing.get(frame.place, NOTHING), own)
        name = self._name_of(frame.place)
        for (owner, attribute), held in writes.items():
            if (
                isinstance(owner, Instance)
                and (name, attribute) not in now.holding.get(owner.cls, ())
                and self.carries_placement(held, state)
                and self._is_own(held, frame, state)
            ):
                now.holding.setdefault(owner.cls, set()).add((name, attribute))

    def _is_own(self, held: Value, frame: Frame, state: State) -> bool:
        """Return whether a function itself places some of what is placed in a value."""
        placed = [*self._placed(held, state)]
        return not placed or any(
            array not in frame.given
            and (
                array.committed or array.origin is None or array.origin.device not in frame.defaults
            )
            for array in placed
        )

    def carried_by(self, module: Module) -> tuple[dict[str, Ways], frozenset[str]]:
        """Return the names of a module through which a placement, or a default device, gets out.

        And those by which no more than a device does.
        """
        bindings = module.names.module_scope.bindings
        if self._program.changes_default(module):
            # Whoever imports anything of it has another default device from then on.
            return dict.fromkeys(bindings), frozenset()
        names: dict[str, Ways] = {}
        devices: set[str] = set()
        state = initial_state()
        scope = module.names.module_scope
        leaving = [
            (name, self._program.linking.variable_of(module, scope, name, state))
            for name in bindings
        ]
        # Tests are given what the functions of fixtures give.
        fixtures = fixtures_among(module.tree.module.body, module.names).values()
        leaving += ((each.name, value(Function(module.place(each.node)))) for each in fixtures)
        for name, held in leaving:
            others = [atom for atom in held if not isinstance(atom, Class)]
            if any(self._lets_out(atom) for atom in others):
                names[name] = None
            elif classes := [
                ways
                for atom in held
                if isinstance(atom, Class)
                if (ways := self._ways_out_of(atom.place)) is None or ways
            ]:
                known = [ways for ways in classes if ways is not None]
                names[name] = None if None in classes else frozenset().union(*known)
            elif any(self._gives_device(atom) for atom in held):
                devices.add(name)
        return names, frozenset(devices)

    def _lets_out(self, atom: Atom, depth: int = 4) -> bool:
        """Return whether a thing is, makes or holds an array that was placed on purpose."""
        if isinstance(atom, Class):
            ways = self._ways_out_of(atom.place)
            return ways is None or bool(ways)
        if isinstance(atom, Instance):
            final = self._program.now.final
            every = (final[key] for key in self._program.now.attributes_of(atom.cls))
            state = initial_state()
            return any(self.carries_placement(held, state) for held in every) or bool(
                self._placing_methods(atom.cls)
            )
        if isinstance(atom, DefaultDeviceContext):
            return atom.expression is not None
        if isinstance(atom, Function) and atom.place in self._program.now.acting:
            return True
        state = initial_state()
        return self.carries_placement(value(atom), state) or (
            depth > 0
            and any(
                self._lets_out(each, depth - 1)
                for each in self._made_by(atom, self._program.now.placing)
            )
        )

    def _ways_out_of(self, cls: Place) -> Ways:
        """Return the names by which a placement gets out of a class, or of its objects."""
        holding = self._program.now.holding.get(cls, ())
        names = {function for function, _ in holding} | self._placing_methods(cls)
        grows = bool(names)
        while grows:
            leading = {
                self._name_of(method)
                for method in self._every_method_of(cls)
                if not names.isdisjoint(self._named_in(method))
            }
            grows = not leading <= names
            names |= leading
        if any(name in _UNNAMED or name.startswith("__") for name in names):
            return None
        return frozenset(names.union(attribute for _, attribute in holding))

    def _gives_device(self, atom: Atom, depth: int = 4) -> bool:
        """Return whether a thing is, makes or holds a device."""
        return isinstance(atom, TheDevice | DeviceList) or (
            depth > 0
            and any(
                self._gives_device(each, depth - 1)
                for each in self._made_by(atom, self._program.now.results)
            )
        )

    def _made_by(self, atom: Atom, results: abc.Mapping[Place, Value]) -> Value:
        """Return what a function gave, of these results, and what a container holds."""
        if isinstance(atom, Function):
            return results.get(atom.place, NOTHING)
        if isinstance(atom, Method):
            return value(Function(atom.function))
        if isinstance(atom, Closure):
            held = (held for _, held in atom.closed)
            return join(value(Function(atom.function)), *held)
        if isinstance(atom, Partial):
            given = (*atom.positional, *(held for _, held in atom.keywords))
            return join(value(atom.function), *given)
        if isinstance(atom, ContextFactory):
            return atom.context
        if isinstance(atom, Thread):
            return self._made_by(atom.target, results)
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
            frame.moves = frame.touches = True

    def touches(self) -> None:
        """Note that a placement comes in, or is asked for, in the function being executed."""
        frame = self._program.functions.frame
        if frame is not None:
            frame.touches = True

    def asks_meshes(self) -> None:
        """Note that what the function being executed does depends on the meshes in force, or that
        it changes them. One that does not is not executed again under other ones.
        """
        frame = self._program.functions.frame
        if frame is not None:
            frame.asks_meshes = True

    def hands_out(self) -> None:
        """Note that the functions being executed give a placement to a function of others."""
        own = (frame.place for frame in self._program.functions.frames if frame.is_own)
        self._program.now.acting.update(own)

    def _placing_methods(self, cls: Place) -> set[str]:
        """Return the names of the methods of a class that make placed arrays."""
        now, state = self._program.now, initial_state()
        return {
            self._name_of(method)
            for method in self._every_method_of(cls)
            if method in now.acting
            or self.carries_placement(now.placing.get(method, NOTHING), state)
        }

    def _every_method_of(self, cls: Place) -> list[Place]:
        """Return the methods of a class, with those of its bases in any file."""
        if not isinstance(self._program.node(cls), cst.ClassDef):
            return []
        bases = self._program.classes.bases(cls)
        return [method for each in bases for method in self._methods_of(each)]

    def _name_of(self, function: Place) -> str:
        node = self._program.node(function)
        return node.name.value if isinstance(node, cst.FunctionDef) else ""

    def _named_in(self, function: Place) -> frozenset[str]:
        """Return the attributes and texts in a function, of which one may be that of a method."""
        if function not in self._attributes:
            tree = self._program.module_of(function).tree
            found = tree.every(cst.Attribute, cst.SimpleString, below=self._program.node(function))
            self._attributes[function] = frozenset(
                each.attr.value if isinstance(each, cst.Attribute) else each.raw_value
                for each in found
            )
        return self._attributes[function]

    def _methods_of(self, cls: Place) -> list[Place]:
        node, module = self._program.node(cls), self._program.module_of(cls)
        members = node.body.body if isinstance(node, cst.ClassDef) else ()
        return [module.place(each) for each in members if isinstance(each, cst.FunctionDef)]


def _placed_in(held: Value, depth: int = 4) -> Iterator[Array]:
    """Yield the arrays in a value, and in its containers, that were placed on purpose.

    Those were made under a default device, or put on another one. Where one may be committed to
    some other device than others may be, or to one that is not known, no rule has anything to say,
    wherever it goes; unless that may be the host: who calls `load(path, device=None)` may say so.
    """
    committed = held and all(isinstance(a, Array) and a.committed and a.device for a in held)
    for atom in held:
        if isinstance(atom, Array):
            made_elsewhere = atom.origin is not None and atom.origin.device is not None
            if (
                (committed and atom.device != SYSTEM_DEFAULT)
                or (atom.committed and is_host(atom.device))
                or (made_elsewhere and not atom.committed)
            ):
                yield atom
        elif depth and isinstance(atom, Sequence):
            for item in atom.items or (atom.element,):
                yield from _placed_in(item, depth - 1)
        elif depth and isinstance(atom, Mapping):
            for item in (*(item for _, item in atom.items), atom.element):
                yield from _placed_in(item, depth - 1)
        elif isinstance(atom, AnyTree):
            yield from _placed_in(atom.leaf, 0)
