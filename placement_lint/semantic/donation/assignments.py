"""Assignments: names, attributes and items that stand for something else from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.buffers import (
    Nature,
)
from placement_lint.semantic.donation.choices import NOTHING
from placement_lint.semantic.donation.expressions import DATA, is_list, item_key
from placement_lint.semantic.donation.iteration import DonationIteration
from placement_lint.semantic.donation.libraries import Given
from placement_lint.semantic.donation.parts import BufferPart, container_of
from placement_lint.semantic.donation.readings import given_to
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.donation.choices import Thing, Things


class DonationAssignments(DonationIteration):
    """The assignments of one file: to names, to parts of containers, and what `del` removes."""

    def assign_value(
        self, value: cst.BaseExpression, targets: Sequence[cst.BaseExpression]
    ) -> None:
        self.targets = tuple(name for target in targets for name in _texts(target))
        held = self.evaluate(value)
        self.targets = ()
        for target in targets:
            self.given = given_to(target, value)
            self.bind(target, held)
        self.given = {}

    def augment(self, node: cst.AugAssign) -> None:
        held = self.evaluate(node.target)
        given = self.evaluate(node.value)
        if isinstance(node.operator, cst.BitOrAssign) and self.nature(held) is not Nature.ARRAY:
            self.update_items(held, [Given(0, node.value, given)])
            if self.nature(held) is Nature.TREE:
                return
        elif Nature.TREE not in {self.nature(held), self.nature(given)}:
            self.read(node.target, held)
            self.read(node.value, given)
        self.bind(node.target, self.fresh(self.nature(held)))

    def bind(self, target: cst.BaseExpression, held: Things) -> None:
        """Assign to a target."""
        if self.given:
            held = self.restored(target, held, is_there=self._holds_still(target, held))
        self.keep(held)
        if isinstance(target, cst.Name):
            if self.tree.contains(target):
                owner = self.names.owner(target.value, self.names.scope(target))
                frame = self.frames.get(id(owner)) if owner is not None else None
                if owner is not None and frame is None:
                    frame = self.frames.setdefault(id(owner), self.new_number())
                name = (frame or 0, target.value)
                self.state.names[name] = held
                is_gone = self.state.death_of(held, self.where) is not None
                (self.late.add if is_gone else self.late.discard)(name)
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(target, held)
        elif isinstance(target, cst.StarredElement):
            self.bind(target.value, self.fresh())
        elif isinstance(target, cst.Attribute):
            self.keep_truth(target, self.given.get(id(target)))
            self.set_parts(self.evaluate(target.value), f".{target.attr.value}", held)
        elif isinstance(target, cst.Subscript):
            owners = self.evaluate(target.value)
            for each in target.slice:
                self._index(each.slice)
            key = item_key(target)
            if key is not None and key.startswith("[-"):
                key = self._from_front(owners, int(key[1:-1]))
            if key is None or key.startswith("[:"):
                self._store_somewhere(owners, held)
            else:
                self.set_parts(owners, key, held)

    def _holds_still(self, target: cst.BaseExpression, held: Things) -> bool:
        """Return whether an attribute is what it is assigned already, of one object."""
        if not self.state.dead or len(held) != 1 or not isinstance(target, cst.Attribute):
            return False
        owners = self.evaluate(target.value)
        return len(owners) == 1 and self.attribute_of(owners, target.attr.value) == held

    def _from_front(self, owners: Things, at: int) -> str | None:
        """Return the key of an item that is counted from the end."""
        only = next(iter(owners)) if len(owners) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if entries is None or not is_list(entries) or -at > len(entries):
            return None
        return f"[{len(entries) + at}]"

    def _unpack(self, target: cst.Tuple | cst.List, held: Things) -> None:
        is_open = any(isinstance(each, cst.StarredElement) for each in target.elements)
        nature = self.nature(held)
        for place, each in enumerate(target.elements):
            if is_open or nature in {Nature.ARRAY, Nature.DATA}:
                self.bind(
                    each.value, self.fresh(nature if nature is Nature.ARRAY else Nature.UNKNOWN)
                )
                continue
            given = self.parts(
                held,
                f"[#{place}]",
                lambda thing, place=place: self._at(thing, place, len(target.elements)),  # type: ignore[misc]
            )
            self.bind(each.value, given)

    def _at(self, thing: Thing, place: int, count: int) -> Things:
        """Return the item at a place of a container, which is taken apart into so many."""
        if not isinstance(thing, BufferPart):
            return NOTHING
        entries = self.state.entries(thing, self.roots)
        if entries is not None and len(entries) == count:
            return [*entries.values()][place]
        return self.state.load(thing.at(f"[{place}]"), self.roots) if thing.root else DATA

    def _store_somewhere(self, owners: Things, held: Things) -> None:
        for part in owners:
            if isinstance(part, BufferPart) and part.root:
                self.state.overwrite(container_of(part), self.roots, self.fresh)
                self.state.set_part(part.at(self.new_key()), held)

    def delete(self, target: cst.BaseExpression) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            for each in target.elements:
                self.delete(each.value)
        elif isinstance(target, cst.Name) and self.tree.contains(target):
            owner = self.names.owner(target.value, self.names.scope(target))
            if owner is not None and id(owner) in self.frames:
                self.state.names.pop((self.frames[id(owner)], target.value), None)
        elif isinstance(target, cst.Subscript | cst.Attribute):
            self.bind(target, self.fresh())


def _texts(target: cst.BaseExpression) -> list[str]:
    """Return the dotted names in a target."""
    if isinstance(target, cst.Tuple | cst.List):
        return [text for each in target.elements for text in _texts(each.value)]
    text = dotted(target)
    return [text] if text else []
