"""What iterating over a value gives: the items of what is written out, and of what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import SHARING
from placement_lint.semantic.donation.buffers import (
    Nature,
)
from placement_lint.semantic.donation.calls import DonationCalls
from placement_lint.semantic.donation.choices import NOTHING, Choice
from placement_lint.semantic.donation.expressions import DATA
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.donation.choices import Thing, Things


class DonationIteration(DonationCalls):
    """The items that the loops and comprehensions of one file draw from what they iterate over."""

    def element(self, node: cst.BaseExpression, held: Things) -> Things:
        """Return what iterating over an expression gives."""
        if isinstance(node, cst.Call):
            name = self.names.qualified(node.func)
            arguments = Arguments(node).positional
            if name == "builtins.range":
                return DATA
            if name == "builtins.enumerate" and arguments:
                return self.pair(DATA, self.element(arguments[0], self._again(arguments[0])))
            if name == "builtins.zip":
                # Two of them may be of one thing: `zip(rows, rows[1:])`.
                self.drawing = 0
                every = [self.element(each, self._again(each)) for each in arguments]
                return self._row(every)
            method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            if method == "items":
                return self.pair(DATA, self._drawn(held))
            if method == "keys":
                return DATA
        return self._drawn(held)

    def _again(self, node: cst.BaseExpression) -> Things:
        """Return what an expression stands for that was evaluated before."""
        is_shared = (
            isinstance(node, cst.Call) and (self.names.qualified(node.func) or "") in SHARING
        )
        if is_shared or isinstance(node, cst.Name | cst.Attribute):
            return self.evaluate(node)
        return self.fresh()

    def pair(self, first: Things, second: Things) -> Things:
        return self._row([first, second])

    def _row(self, every: Sequence[Things]) -> Things:
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {(f"[{place}]",): each for place, each in enumerate(every)}
        return frozenset({part})

    def _items(self, part: BufferPart) -> list[Things]:
        """Return what is in a container that is written out."""
        entries = self.state.entries(part, self.roots)
        if entries is not None:
            return [*entries.values()]
        root = self.roots[part.root]
        found = [*self._known_items(part).values()]
        if root.nature is Nature.TREE and root.base is None:
            return found
        rare = frozenset().union(*found)
        some = self._any_item(part)
        return [Choice(some | rare, rare) if rare else some]

    def _known_items(self, part: BufferPart) -> dict[str, Things]:
        """Return what was assigned to items of a container, or of those that it is a copy of."""
        base = self.roots[part.root].base
        found = {} if base is None or part.keys else self._known_items(base)
        count = len(part.keys)
        for keys, held in self.state.parts.get(part.root, {}).items():
            if keys[:count] == part.keys and len(keys) == count + 1:
                found[keys[count]] = held
        return found

    def _drawn(self, held: Things) -> Things:
        if not any(isinstance(each, BufferPart) and each.root for each in held):
            return self.fresh(is_foreign=True)
        if self.nature(held) is Nature.ARRAY:
            return self.fresh(Nature.ARRAY)
        return self.parts(held, self.new_key(), self._item_of)

    def _item_of(self, thing: Thing) -> Things:
        if not isinstance(thing, BufferPart) or not thing.root:
            return NOTHING
        every = self._items(thing)
        if not every:
            return self._any_item(thing)
        return every[0] if len(every) == 1 else Choice(frozenset().union(*every))

    def _any_item(self, part: BufferPart) -> Things:
        return self.state.load(part.at(self.drawn_key()), self.roots)
