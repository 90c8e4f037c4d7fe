"""The placements of one module: the interpreter's results, as rules ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import leaves_of
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.state import SYSTEM, Devices
from placement_lint.placement.domain.values import (
    DOUBT,
    DOUBTFUL,
    NONE,
    NOTHING,
    UNKNOWN,
    Anything,
    Array,
    Host,
    Plain,
    TheDevice,
    Value,
)
from placement_lint.placement.facts.annotations import Annotated, bound_as, is_bound_as_device
from placement_lint.placement.facts.module import Module
from placement_lint.placement.interpreter import Program
from placement_lint.syntax.definitions import class_of_method, class_of_receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.placement.counterfactual.commitments import Commitment
    from placement_lint.placement.domain.consequences import Destination
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.engine.linking import ModuleSources
    from placement_lint.placement.journeys import JourneyStep
    from placement_lint.placement.lifetimes import Lifetime
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree


_STAYING = (Anything, External, Host, Plain)
"""What is no array, or may be none: of it, nothing is copied."""


def interpret(modules: list[Module], sources: ModuleSources | None = None) -> Program:
    """Execute modules as one program."""
    program = interpret_within(modules, sources)
    if program.misses_host_arrays:
        # What they met may be an array of the accelerator.
        program = interpret_within([module.again() for module in modules], sources, follows=True)
    return program


def interpret_within(
    modules: list[Module], sources: ModuleSources | None = None, *, follows: bool = False
) -> Program:
    """Execute modules as one program. With `follows`, all calls into other files are followed."""
    program = Program(modules, sources, follows=follows)
    program.run()
    return program


def interpret_alone(
    name: str,
    tree: Tree,
    names: Names,
    *,
    accelerator: bool,
    is_open: bool = False,
    pins: bool | None = None,
) -> Flow:
    """Execute one module as a program of its own; without `accelerator`, only on the CPU."""
    module = Module(name, tree, names, accelerator=accelerator, is_open=is_open, pins=pins)
    return Flow(interpret([module]), module)


def free_program(program: Program) -> None:
    """Free what a program found out, of which nothing can be asked any longer.

    Reference cycles lead through it, and through its expressions.
    """
    for expressions in vars(program).get("_expressions", ()):
        for each in expressions.values():
            vars(each).clear()
    vars(program).clear()


class Flow:
    """What the interpreter found out about one module of a program."""

    def __init__(self, program: Program, module: Module) -> None:
        self.program = program
        self.module = module
        self.tree = module.tree
        self.record = module.record
        self.accelerator = module.has_accelerator

    def free(self) -> None:
        """Free what the program found out, as `ModuleFacts.free` does."""
        free_program(self.program)
        vars(self).clear()

    def uses(self) -> Iterator[Use]:
        """Yield every use of an array that copies it, in source order."""
        for place in sorted(self.record.uses):
            use = self.record.uses[place]
            if use.moved:
                surely = use.always and self._is_always_moved(place)
                yield replace(use, always=surely)

    def possible_uses(self) -> Iterator[Use]:
        """Yield every use that copies an array only where a device which is chosen when the program
        runs comes out one way, or where what may be something else is an array; in source order.
        """
        for place in sorted(self.record.uses):
            use = self.record.uses[place]
            if use.possible and not use.moved:
                yield use

    def _is_always_moved(self, place: int) -> bool:
        """Return whether no execution found something else there than arrays."""
        seen = self.record.values.get(place, NOTHING)
        return not self.program.is_tampered and not any(isinstance(a, _STAYING) for a in seen)

    def replaced(self, use: Use) -> dict[Array, frozenset[Place]]:
        """Return the arrays that a use copies once, then it is given what was computed of them.

        For each, the operations that gave it.
        """
        return self.program.provenance.replacements.of(use, self.module)

    def is_replaced(self, array: Array) -> bool:
        """Return whether what is computed of an array comes in its place anywhere."""
        return array.origin is not None and array.origin.created in (
            self.program.provenance.replacements.places
        )

    def is_overridden(self, function: cst.CSTNode | None, cls: Place) -> bool:
        """Return whether a function is a method in the place of which objects of a class have
        another one.
        """
        if (
            not isinstance(function, cst.FunctionDef)
            or class_of_method(function, self.module.names) is None
        ):
            return False
        own = self.program.classes.method(cls, function.name.value)
        return own is not None and own != self.module.place(function)

    def journey(self, made: Iterable[Place], use: cst.CSTNode) -> list[JourneyStep]:
        """Return the way of arrays from the first expression that made them to a use of them all.

        Without the two ends, and without what only some of them passed.
        """
        first, *others = made
        steps = self.program.journeys.of(first, self.module.place(use)) or []
        journeys = self.program.journeys
        return [
            step for step in steps if all(journeys.carries(step.place, other) for other in others)
        ]

    def lifetimes(self, array: Array, held: cst.CSTNode) -> list[Lifetime]:
        """Return what becomes of an array that an expression is, until it is put somewhere.

        Nothing where that is not known: see `Lifetimes`.
        """
        if array.origin is None or array.origin.created.module not in self.program.modules:
            return []
        found = self.program.lifetimes.of(array.origin.created)
        return [each for each in found if self.module.place(held) in each.held]

    def commitment(self, arrays: Iterable[Array], *, alone: bool = False) -> Commitment | None:
        """Return how arrays that are copied are committed where they were made.

        `alone`: nothing that is taken of them is put back.
        """
        origins = [array.origin for array in arrays]
        if any(o is None or o.device is None or not o.can_be_committed for o in origins):
            return None
        places = [origin.commit_at for origin in origins if origin is not None]
        return self.program.commitments.of(places, alone=alone)

    def committed_by(
        self, node: cst.CSTNode, target: Destination, *, moves: bool = False, rebinds: bool = False
    ) -> Callable[[], Commitment | None]:
        """Ask what comes of committing what an expression gives: see `Requests`."""
        place = self.module.place(node)
        return self.program.requests.ask(place, target, moves=moves, rebinds=rebinds)

    def value(self, node: cst.CSTNode) -> Value:
        """Return what an expression may be, all executions joined."""
        if not self.tree.contains(node):
            return UNKNOWN
        return self.record.values.get(self.tree.index(node), UNKNOWN)

    def has_value(self, node: cst.CSTNode) -> bool:
        """Return whether an execution outside of traced code evaluated an expression."""
        return self.tree.contains(node) and self.tree.index(node) in self.record.values

    def tree_of(self, node: cst.CSTNode) -> Value:
        """Return what an expression may be, with dicts of their leaves in the place of objects."""
        held = self.value(node)
        if not any(isinstance(atom, Instance) for leaf in leaves_of(held) for atom in leaf):
            return held
        return self.record.trees.get(self.tree.index(node), held)

    def is_array(self, node: cst.CSTNode) -> bool:
        """Return whether an expression certainly is a JAX array, by what it is or is said to be."""
        held = self.value(node)
        if held and all(isinstance(atom, Array) or atom == DOUBT for atom in held):
            return held != DOUBTFUL
        is_unknown = bool(held) and all(isinstance(atom, Anything) for atom in held)
        return is_unknown and self.tree.contains(node) and self._is_annotated(node)

    def _is_annotated(self, node: cst.CSTNode) -> bool:
        """Return whether annotations say that a variable or a field is a JAX array."""
        names = self.module.names
        if isinstance(node, cst.Name):
            bindings = names.bindings(node)
            return bool(bindings) and all(
                bound_as(each, names) is Annotated.ARRAY for each in bindings
            )
        if not isinstance(node, cst.Attribute):
            return False
        owners = self.value(node.value)
        return bool(owners) and all(
            isinstance(atom, Instance)
            and self.program.classes.annotated_field(atom.cls, node.attr.value) is Annotated.ARRAY
            for atom in owners
        )

    def is_device(self, node: cst.CSTNode) -> bool:
        """Return whether an expression certainly is a device or None, by what it is or is said to
        be. One that is only ever None is not.
        """
        held = self.value(node) - NONE
        if held and all(isinstance(atom, TheDevice) for atom in held):
            return True
        return all(isinstance(atom, Anything) for atom in held) and self._is_said_device(node)

    def _is_said_device(self, node: cst.CSTNode) -> bool:
        """Return whether annotations say that a variable or a field is a device, or None."""
        names = self.module.names
        if isinstance(node, cst.Name):
            bindings = names.bindings(node)
            return bool(bindings) and all(is_bound_as_device(each, names) for each in bindings)
        if not isinstance(node, cst.Attribute):
            return False
        classes = {a.cls if isinstance(a, Instance) else None for a in self.value(node.value)}
        if classes == {None} and (cls := class_of_receiver(node.value, names)) is not None:
            # Where nothing comes by: a field that is None so far is asked whether it is.
            classes = {self.module.place(cls)}
        return bool(classes) and all(
            cls is not None and self.program.classes.is_device_field(cls, node.attr.value)
            for cls in classes
        )

    def default_devices(self, call: cst.Call) -> Devices:
        """Return the default devices that may be in force at a call; none where it never runs."""
        seen = self.record.defaults.get(self.tree.index(call), frozenset())
        return frozenset[Device | None]().union(*(default.devices for default in seen))

    def runs_on_system_default(self, call: cst.Call) -> bool:
        """Return whether a call runs, and always where nobody has chosen a default device.

        Never so in a program that has no accelerator: then the system default is the host.
        """
        seen = self.record.defaults.get(self.tree.index(call), frozenset())
        return (
            self.accelerator
            and bool(seen)
            and all(d.expression is None and d.devices == SYSTEM for d in seen)
        )

    def is_traced(self, node: cst.CSTNode) -> bool:
        """Return whether a node runs on tracers, inside a function that JAX traces."""
        return node in self.module.traced
