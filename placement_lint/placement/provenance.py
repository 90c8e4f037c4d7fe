"""Provenance: what the arrays of a program were made of, what they meet, and what replaces them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.values import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.domain.values import Array
    from placement_lint.placement.facts.module import Module


class Provenance:
    """What the arrays of a program that was run were made of, and what became of them."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules

    @functools.cached_property
    def replacements(self) -> Replacements:
        """What comes in the place of arrays."""
        return Replacements(self._modules)

    @functools.cached_property
    def device_expressions(self) -> dict[Place, Place | None]:
        """For each expression that makes arrays which are copied, the one that names a device."""
        return {
            array.origin.commit_at: array.origin.device
            for module in self._modules.values()
            for use in module.record.uses.values()
            for array in use.moved
            if array.origin is not None
        }


class Replacements:
    """What is computed of the arrays of a program and comes in their place: they are copied once.

    `params = step(params)` in a loop: what was made on the host is copied in the first iteration,
    and what comes around is the result, which is on the default device. Many programs mean that.
    """

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._known: dict[tuple[Place, bool], frozenset[Place]] = {}

    @functools.cached_property
    def places(self) -> frozenset[Place]:
        """What made arrays in whose place something computed of them comes, at any use."""
        return frozenset(
            array.origin.created
            for module in self._modules.values()
            for use in module.record.uses.values()
            for array in self.of(use, module)
            if array.origin is not None
        )

    def of(self, use: Use, module: Module) -> dict[Array, frozenset[Place]]:
        """Return the arrays, of those that a use copies, that the operand may be only before they
        were computed with, and the operations whose results it may be after that.
        """
        held = module.record.values.get(use.node, NOTHING)
        inside = module.record.trees.get(use.node, NOTHING)
        stays = {*arrays(held), *arrays(inside)} - use.moved
        found: dict[Array, frozenset[Place]] = {}
        for array in use.moved if stays else ():
            if array.origin is None:
                continue
            results = self._results(array.origin.created)
            # What copies the array away gives a result that is where the copy is.
            others = {other for other in stays if other.device != array.device}
            made = {other.origin.created for other in others if other.origin}
            instead = results & made
            if instead and not inside and others.isdisjoint(use.beside):
                # Never both in one execution: two calls pass an array, and a part of it.
                instead &= self._results(array.origin.created, of_parts=False)
            # Where a result is committed, nothing but its device says what it is the result of.
            pinned = {other for other in others if other.origin is None and other.committed}
            if pinned:
                instead |= {place for place in results if not pinned.isdisjoint(self._at(place))}
            if instead:
                found[array] = instead
        return found

    def _at(self, place: Place) -> frozenset[Array]:
        held = self._modules[place.module].record.values.get(place.node, NOTHING)
        return frozenset(arrays(held))

    @functools.cached_property
    def _derived(self) -> dict[Place, set[Place]]:
        derived: dict[Place, set[Place]] = {}
        for module in self._modules.values():
            for source, results in module.record.derived.items():
                derived.setdefault(source, set()).update(results)
        return derived

    @functools.cached_property
    def _taking(self) -> frozenset[Place]:
        """The operations that take a part of an array."""
        return frozenset(
            Place(module.name, operation)
            for module in self._modules.values()
            for use in module.record.uses.values()
            if use.kind is UseKind.INDEXED
            for operation in use.operations
        )

    def _results(self, made: Place, *, of_parts: bool = True) -> frozenset[Place]:
        """Return the operations that were given an array, or something that was computed of it.

        `of_parts`: also those that take a part, and what is computed of that.
        """
        known = self._known.get((made, of_parts))
        if known is None:
            found: set[Place] = set()
            pending = [made]
            while pending:
                new = self._derived.get(pending.pop(), set()) - found
                new = new if of_parts else new - self._taking
                found |= new
                pending += new
            known = self._known[made, of_parts] = frozenset(found)
        return known
