"""What calls run, by what the interpreter has found the called expressions to be.

A compiled function goes through objects, containers and other functions before it is called.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Function
from placement_lint.placement.domain.values import (
    NONE,
    Array,
    Computation,
    Host,
    Mapping,
    Plain,
    Sequence,
    sole,
)
from placement_lint.semantic.donation.buffers import Nature
from placement_lint.semantic.donation.callables import Defined, Donor
from placement_lint.semantic.donation.choices import NOTHING
from placement_lint.semantic.donation.outputs import DonationOutputs
from placement_lint.semantic.donation.parameters import DonationParameters
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.model import UnfollowedError

if TYPE_CHECKING:
    import collections.abc
    from collections.abc import Iterable

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.flow import Flow
    from placement_lint.semantic.donation.callables import Chosen
    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.libraries import Given
    from placement_lint.semantic.model import ModuleFacts

_MOST_DONORS = 4
"""Compiled functions of which a call may be."""


class DonationsCarried(DonationParameters):
    """The functions that are called by expressions of which the text does not say so."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self.may_interpret = False
        """The file is executed by the interpreter for this, where that has not been done."""
        self._carried: dict[int, Things] = {}
        self._said: dict[int, dict[str, Chosen]] = {}
        """For calls that compile, by `id`: what the execution at hand was given."""
        self._made_at: dict[tuple[Place, tuple[tuple[str, Value], ...]], Things] = {}

    def carried(self, node: cst.Call, callee: Things = NOTHING) -> Things:
        """Return what a call runs: of something unknown, what it is by the interpreter.

        Only what donates, and nothing where it may be something else.
        """
        if not all(isinstance(each, BufferPart) for each in callee):
            return callee
        if id(node) not in self._carried:
            self._carried[id(node)] = NOTHING
            self._carried[id(node)] = self._donors(node)
        return self._carried[id(node)] or callee

    def filled_in(self, node: cst.Call, donors: list[Donor]) -> list[Donor]:
        """Return the compiled functions that a call may run, with what is compiled.

        The one that the interpreter knows, where an initializer compiles what it is given.
        """
        if len(donors) != 1 or donors[0].inner is not None or donors[0].elsewhere is not None:
            return donors
        known = [each for each in self.carried(node) if isinstance(each, Donor)]
        is_same = len(known) == 1 and known[0].inner is not None and known[0].jit == donors[0].jit
        return [replace(donors[0], inner=known[0].inner)] if is_same else donors

    def is_numpy(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is an array of NumPy, or a dict, a list or a tuple of such
        arrays alone, as far as the interpreter knows.
        """
        return _is_numpy(self._held(node))

    def may_be_numpy(self, given: Given) -> bool:
        """Return whether something may be no JAX array: an iterator gave it, or a caller."""
        is_unknown = any(
            isinstance(each, BufferPart) and self.roots[each.root].nature is Nature.UNKNOWN
            for each in given.things
        )
        held = self._held(given.node) if is_unknown else NOTHING
        return is_unknown and not (held and all(isinstance(atom, Array) for atom in held))

    def chosen(self, node: cst.BaseExpression) -> Chosen | None:
        """Return the numbers and texts that an expression is, as far as the interpreter knows."""
        return _chosen(self._held(node))

    def spread(
        self, call: cst.Call
    ) -> collections.abc.Mapping[str, Chosen | cst.BaseExpression] | None:
        """Return what `**options` passes on to a call; None where that is not known."""
        known = self._said.get(id(call))
        if known is not None:
            return known
        found: dict[str, Chosen | cst.BaseExpression] = {}
        for argument in call.args:
            if argument.star != "**":
                continue
            packed = self.unpacked(argument)
            if packed is not None:
                found |= {str(each.at): each.passed_on or each.node for each in packed}
                continue
            options = sole(self._held(argument.value))
            if not isinstance(options, Mapping) or options.element:
                return None
            for key, held in options.items:
                chosen = _chosen(held)
                if chosen is not None:
                    found[str(key)] = chosen
                elif str(key).startswith("donate"):
                    return None
        return found

    def _held(self, node: cst.CSTNode) -> Value:
        flow = self._flow()
        return frozenset() if flow is None else flow.value(node)

    def is_kept(self, donor: Donor, each: Given, beside: Iterable[Given]) -> bool:
        """Return whether JAX keeps a donated array, as an operand that is elsewhere decides.

        The output is on its device, or split as it is (measured on 0.10): an array that is whole
        has no buffer for that.
        """
        whole = self._held(each.node)
        if not whole or not all(isinstance(atom, Array) and is_whole(atom) for atom in whole):
            return False
        combined: frozenset[str] = frozenset()
        if donor.inner is not None and each.at is not None:
            function, parameter = donor.inner.node, donor.parameter(each.at)
            if parameter is not None:
                outputs = self.facts_of(function).fact(DonationOutputs)
                combined = outputs.combined(function, parameter)
        for other in beside:
            held = self._held(other.node) if other is not each else NOTHING
            arrays = [atom for atom in held if isinstance(atom, Array) and atom.committed]
            if not arrays or len(arrays) < len(held):
                continue
            is_combined = other.at is not None and donor.parameter(other.at) in combined
            if is_combined and all(is_split(array) for array in arrays):
                return True
        return False

    def _donors(self, node: cst.Call) -> Things:
        held = self._held(node.func) - NONE
        found: set[Thing] = set()
        for atom in held:
            if not isinstance(atom, Computation) or atom.donated_by is None:
                return NOTHING
            made = self._made_by_call(atom.donated_by, atom.donation)
            if not made:
                return NOTHING
            given, inner = len(atom.bound), self._inner(atom)
            found.update(
                replace(each, given=given, inner=each.inner or inner)
                for each in made
                if isinstance(each, Donor)
            )
        return frozenset(found) if len(found) <= _MOST_DONORS else NOTHING

    def _inner(self, atom: Computation) -> Defined | None:
        """Return the function that is compiled, where a helper compiles what it is given."""
        only = sole(atom.of)
        if atom.bound or not isinstance(only, Function):
            return None
        facts = self.own.siblings.get(only.place.module)
        node = None if facts is None else facts.tree.nodes[only.place.node]
        if facts is None or not isinstance(node, cst.FunctionDef | cst.Lambda):
            return None
        self.add_file(facts)
        return Defined(node)

    def _flow(self) -> Flow | None:
        facts = self.facts
        if not facts.is_executed and not (self.may_interpret and facts is self.own):
            return None
        try:
            return facts.flow
        except UnfollowedError:
            return None

    def _made_by_call(self, place: Place, donation: tuple[tuple[str, Value], ...]) -> Things:
        """Return what a call makes, or a decorated function is; nothing but what donates.

        `donation`: what this execution of the call was given, by the keyword.
        """
        at = (place, donation)
        if at in self._made_at:
            return self._made_at[at]
        self._made_at[at] = NOTHING
        facts = self.own.siblings.get(place.module)
        if facts is None:
            return NOTHING
        self.add_file(facts)
        with self.in_file(facts):
            made = self._made_by_node(facts.tree.nodes[place.node], donation)
        if all(isinstance(each, Donor) for each in made):
            self._made_at[at] = made
        return self._made_at[at]

    def _made_by_node(self, node: cst.CSTNode, donation: tuple[tuple[str, Value], ...]) -> Things:
        if isinstance(node, cst.FunctionDef):
            return self.decorated(node)
        if not isinstance(node, cst.Call):
            return NOTHING
        said = {name: _chosen(held) for name, held in donation}
        known = {name: each for name, each in said.items() if each is not None}
        if donation and len(known) == len(said):
            self._said[id(node)] = known
        made = self.callable_in(node, self.tree.around(node, cst.ClassDef))
        self._said.pop(id(node), None)
        return made


def _chosen(held: Value) -> Chosen | None:
    """Return the one number or text, or those of the one tuple or list, that a value is."""
    only = sole(held)
    if isinstance(only, Sequence):
        parts = [_chosen(each) for each in only.items or ()]
        is_known = only.items is not None and None not in parts
        return frozenset().union(*filter(None, parts)) if is_known else None
    if not isinstance(only, Plain) or only.truth is True:
        return None
    if only.is_none:
        return frozenset()
    said = only.text if only.number is None else only.number
    return None if said is None else frozenset({said})


def _is_numpy(held: Value) -> bool:
    """Return whether all that a value may be are arrays of NumPy, or what holds nothing else."""
    return bool(held) and all(
        not atom.is_tensor if isinstance(atom, Host) else _holds_numpy(atom) for atom in held
    )


def _holds_numpy(atom: Atom) -> bool:
    if not isinstance(atom, Mapping | Sequence):
        return False
    items = [each for _, each in atom.items] if isinstance(atom, Mapping) else [*(atom.items or ())]
    every = [*items, *([atom.element] if atom.element else [])]
    return bool(every) and all(map(_is_numpy, every))


def is_whole(array: Array) -> bool:
    """Return whether one device has all of an array, or each one of a mesh has."""
    return not array.committed or (array.sharding is not None and array.sharding.replicated)


def is_split(array: Array) -> bool:
    """Return whether each device of a mesh has another part of an array."""
    sharding = array.sharding
    return sharding is not None and sharding.spec is not None and sharding.spec.splits
