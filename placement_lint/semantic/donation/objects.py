"""Of which classes the objects are that nobody has made yet: of variables, attributes, parameters.

Of a class some method of which may lead to a donation. Which methods of the others are called makes
no difference here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.donation.readings import DonationReadings
from placement_lint.semantic.known_types import KnownTypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import KnownType
    from placement_lint.syntax.names import Binding, Scope

MOST_FILES = 24
"""Of a program, in all of which code is executed that has to do with donation."""


class DonationObjects(DonationReadings):
    """The classes of objects, as the text says them."""

    may_follow: Callable[[cst.ClassDef], bool] | None = None
    """Returns whether a method of a class may lead to a donation; None: nobody asks that yet."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self._bound_to_roots: dict[int, tuple[ModuleFacts, Binding]] = {}
        """For things that variables of code stand for that was executed before: their bindings."""
        self._classes: dict[tuple[int, str], cst.ClassDef | None] = {}
        """By class and key, or by root."""

    def remember_binding(self, part: BufferPart, name: str, owner: Scope) -> None:
        """Know by which one binding a variable has something of which nothing else is known."""
        bindings = owner.bindings.get(name, ())
        if len(bindings) == 1:
            self._bound_to_roots[part.root] = (self.facts, bindings[0])

    def class_of(self, part: BufferPart) -> cst.ClassDef | None:
        """Return the class of the program that something is an object of; None: not known."""
        if not part.keys:
            return self.roots[part.root].cls or self._class_of_variable(part.root)
        name = part.keys[-1]
        above = self.class_of(BufferPart(part.root, part.keys[:-1])) if name[0] == "." else None
        if above is None or self.may_follow is None:
            return None
        key = (id(above), name)
        if key not in self._classes:
            self._classes[key] = None
            facts = self.facts_of(above)
            if not self._is_base(above):
                self._classes[key] = self.class_said(facts.fact(KnownTypes).member(above, name[1:]))
        return self._classes[key]

    def _class_of_variable(self, root: int) -> cst.ClassDef | None:
        bound = self._bound_to_roots.get(root)
        if bound is None or self.may_follow is None:
            return None
        key = (root, "")
        if key not in self._classes:
            self._classes[key] = None
            facts, binding = bound
            self._classes[key] = self.class_said(facts.fact(KnownTypes).of_binding(binding))
        return self._classes[key]

    def class_said(self, known: KnownType | None) -> cst.ClassDef | None:
        """Return the class of the program that a type is, if its objects are worth following, and
        none of a class that derives from it may be meant.
        """
        siblings = self.own.siblings
        if known is None or not known.path or self.may_follow is None:
            return None
        is_own = known.path == self.own.path
        facts = self.own if is_own else siblings.get(known.path)
        if facts is None or not (is_own or len(siblings) <= MOST_FILES):
            return None
        cls = facts.fact(KnownTypes).class_here(known)
        if cls is None or self._is_base(cls):
            return None
        self.add_file(facts)
        return cls if self.may_follow(cls) else None

    def _is_base(self, cls: cst.ClassDef) -> bool:
        """Return whether a class of the program may derive from one, by its name."""
        siblings = self.own.siblings
        every = siblings.values() if len(siblings) <= MOST_FILES else (self.own,)
        return any(cls.name.value in each.fact(_names_of_bases) for each in every)


def _names_of_bases(facts: ModuleFacts) -> frozenset[str]:
    """Return the last parts of the names of the bases that the classes of a file have."""
    named = (base.value for cls in facts.tree.every(cst.ClassDef) for base in cls.bases)
    return frozenset(
        each.attr.value if isinstance(each, cst.Attribute) else each.value
        for each in named
        if isinstance(each, cst.Attribute | cst.Name)
    )
