"""The classes that a class derives from, in the order in which Python asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.callables import OfClass
from placement_lint.semantic.donation.choices import NOTHING
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.donation.takings import DonationsTaken
from placement_lint.semantic.object_classes import SUPER
from placement_lint.syntax.definitions import BARE_BASES, class_named, class_of_method, is_static

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.model import ModuleFacts

_MAX_DEPTH = 5
"""Bases of bases."""
_MOST_BASES = 24


class DonationLineages(DonationsTaken):
    """The methods of classes, as their objects have them."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self._lineages: dict[int, list[cst.ClassDef]] = {}

    def above(self, node: cst.Call) -> tuple[BufferPart | None, Things] | None:
        """Return what `super().method(…)` calls, with the object at hand; else None."""
        receiver = node.func.value if isinstance(node.func, cst.Attribute) else None
        if not isinstance(receiver, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if not self.tree.contains(receiver):
            return None
        function = self.tree.around(node, cst.FunctionDef)
        if function is None or self.names.qualified(receiver.func) != SUPER:
            return None
        cls = class_of_method(function, self.names)
        if cls is None or not function.params.params or not self._is_of(receiver, cls):
            return None
        frame = self.frames.get(id(self.names.scope(function.body)))
        held = self.state.names.get((frame or 0, function.params.params[0].name.value), NOTHING)
        owner = next(iter(held)) if len(held) == 1 else None
        if not isinstance(owner, BufferPart):
            return None
        lineage = self.lineage(self.class_of(owner) or cls)
        if not any(each is cls for each in lineage):
            lineage = self.lineage(cls)
        behind = next(at for at, each in enumerate(lineage) if each is cls) + 1
        method = _first_named(lineage[behind:], node.func.attr.value)
        if method is None:
            return None
        with self.at(method):
            to = None if is_static(method, self.names) else owner
            return to, self.decorated(method)

    def _is_of(self, made: cst.Call, cls: cst.ClassDef) -> bool:
        """Return whether `super()`, or `super(Class, self)`, begins behind this class."""
        return not made.args or class_named(made.args[0].value, self.names) is cls

    def method_named(self, cls: cst.ClassDef, name: str) -> cst.FunctionDef | None:
        return _first_named(self.lineage(cls), name)

    def lineage(self, cls: cst.ClassDef) -> list[cst.ClassDef]:
        """Return a class and those that it derives from, in the order in which Python asks them.

        Those of the program: behind one that it does not have, only what the class has itself or
        by those before that one.
        """
        if id(cls) not in self._lineages:
            found: list[cst.ClassDef] = []
            self._follow_bases(cls, found, 0)
            # What several derive from is asked behind all of them.
            last = {id(each): place for place, each in enumerate(found)}
            self._lineages[id(cls)] = [
                each for place, each in enumerate(found) if last[id(each)] == place
            ]
        return self._lineages[id(cls)]

    def _follow_bases(self, cls: cst.ClassDef, found: list[cst.ClassDef], depth: int) -> bool:
        """Add a class and its bases; return whether all of them are known."""
        found.append(cls)
        if depth == _MAX_DEPTH or len(found) > _MOST_BASES:
            return False
        bases = [each.value for each in cls.bases]
        # `Generic[T]`
        bases = [each.value if isinstance(each, cst.Subscript) else each for each in bases]
        for base in bases:
            with self.at(cls):
                is_bare = self.names.qualified(base) in BARE_BASES
            if is_bare:
                continue
            above = self._class_beside(base, cls)
            if above is None or not self._follow_bases(above, found, depth + 1):
                return False
        return True

    def _class_beside(self, base: cst.BaseExpression, cls: cst.ClassDef) -> cst.ClassDef | None:
        """Return the class of the program that a class derives from by an expression."""
        with self.at(cls):
            here = class_named(base, self.names)
            name = self.names.qualified(base) if here is None else None
            made = next(iter(NOTHING if name is None else self.beside(name)), None)
        return made.node if isinstance(made, OfClass) else here

    def _bases_of(self, cls: cst.ClassDef) -> list[cst.ClassDef]:
        """Return the bases of a class that the program has."""
        found = (self._class_beside(each.value, cls) for each in cls.bases)
        return [each for each in found if each is not None]


def _first_named(classes: Iterable[cst.ClassDef], name: str) -> cst.FunctionDef | None:
    """Return the method of a name that the first class of some has."""
    for each in classes:
        for statement in each.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                return statement
    return None
