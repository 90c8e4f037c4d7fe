"""Copies that Python makes of objects, and of the arrays in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.containers import anonymous, anonymous_outside
from placement_lint.placement.domain.contents import map_arrays
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import (
    ANYTHING,
    UNKNOWN,
    Array,
    Container,
    Host,
    Mapping,
    Plain,
    Sequence,
    value,
)
from placement_lint.placement.overlays.registry import LibraryCall, models

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.values import Atom, Value


@models("copy.copy")
def copied(call: LibraryCall) -> Value:
    """`copy.copy(x)`: of an array a computation, of a list another list of the same items.

    And of an object of the program another one with the same attributes.
    """
    first = call.arguments.get(0, "x")
    if first is None:
        return UNKNOWN
    held = call.argument(first)
    containers = frozenset(atom for atom in held if isinstance(atom, Mapping | Sequence))
    objects = frozenset(atom for atom in held if isinstance(atom, Instance))
    if objects and objects == held:
        return frozenset(_copied_object(call, each) for each in objects)
    others = held - containers
    made = anonymous_outside(containers)
    if any(isinstance(atom, Array) for atom in others):
        return made | call.computed([(call.index(first), others)])
    call.escapes(others)
    return made | UNKNOWN if others else made


def _copied_object(call: LibraryCall, instance: Instance) -> Atom:
    if call.program.classes.method(instance.cls, "__copy__") is not None:
        return ANYTHING
    made = replace(instance, through=call.place)
    trees = call.program.trees
    trees.make(made, trees.fields(instance, call.state), call.state)
    return made


@models("copy.deepcopy")
def deep_copied(call: LibraryCall) -> Value:
    """`copy.deepcopy(x)`: of each array in it a computation, in containers like those of x."""
    first = call.arguments.get(0, "x")
    if first is None:
        return UNKNOWN
    held = call.argument(first)
    call.escapes(frozenset(a for a in held if not isinstance(a, Array)))
    return copies(call, first, held)


def copies(call: LibraryCall, argument: cst.BaseExpression, held: Value) -> Value:
    """Return what a call makes that copies each array in a part of its argument, as Python does.

    An array that is not committed is copied to the default device (0.10.2).
    """

    def copied(array: Array) -> Atom:
        made = call.computed([(call.index(argument), value(array))])
        return next(iter(made)) if len(made) == 1 else ANYTHING

    made = map_arrays(anonymous(held), copied)
    return made if all(map(_is_of_arrays, held)) else UNKNOWN


def _is_of_arrays(atom: Atom) -> bool:
    """Return whether a thing is an array, a number, or a container of nothing else."""
    if isinstance(atom, Container):
        return all(map(_is_of_arrays, frozenset().union(*atom.parts())))
    return isinstance(atom, Array | Host | Plain)
