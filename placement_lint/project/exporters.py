"""Which modules of a run may pass on a name of the roots, found from those that have one.

A module that has none itself can only pass on what it imports. So the search begins with the files
that mention the roots, and goes on to those whose import statements name a module that passes one
on, or a package above it: the others are not looked at.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from placement_lint.prefilter.import_words import FROM_PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Ends = tuple[set[str], set[str]]


class Exporters:
    """The modules that may pass on a name of the roots."""

    def __init__(
        self,
        places: Mapping[str, str],
        children: Mapping[str, set[str]],
        named_in: Callable[[str], frozenset[str]],
        exported_by: Callable[[str], dict[str, Ends]],
        mentioning: frozenset[str],
    ) -> None:
        """Take the modules by their places, and the names of what lies in each folder.

        `named_in` returns what the import statements of a file name, and `exported_by` what its
        names lead to: names of the roots, and places of modules. `mentioning` are the files whose
        bytes mention the roots.
        """
        self._places = places
        self._children = children
        self._named_in = named_in
        self._exported_by = exported_by
        self._mentioning = mentioning

    @functools.cached_property
    def heads(self) -> dict[str, set[str]]:
        """From the modules that may pass on a name of the roots to the names that lead there.

        A name leads there also by standing for another such module.
        """
        self._find()
        return self._heads

    @functools.cached_property
    def below(self) -> dict[str, dict[str, list[str]]]:
        """From a place to those of these modules that are below it, by their names.

        The module at the place itself has none.
        """
        below: dict[str, dict[str, list[str]]] = {}
        for module in sorted(self.heads):
            places = [*self._above(module)]
            for place in places:
                name = "" if place == places[0] else os.path.basename(places[0])
                below.setdefault(place, {}).setdefault(name, []).append(module)
        return below

    @functools.cached_property
    def _last_parts(self) -> frozenset[str]:
        return frozenset(map(os.path.basename, self.below))

    def may_lead_here(self, path: str) -> bool:
        """Return whether an import statement of a file may lead to one of these modules."""
        named = self._named_in(path)
        if not named.isdisjoint(self._last_parts):
            return True
        return FROM_PACKAGE in named and not self.below.keys().isdisjoint(self._packages(path))

    def _find(self) -> None:
        """Check each module that may be one of these, once, and add what it exports."""
        self._heads: dict[str, set[str]] = {}
        self._leading: set[str] = set()
        self._standing_for: dict[str, list[tuple[str, str]]] = {}
        """From places to the names in modules that stand for what is there."""
        pending = [module for module in self._places.values() if module in self._mentioning]
        seen = {*pending}
        while pending:
            module = pending.pop()
            users = (user for place in self._added(module) for user in self._users(place))
            for user in users:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)

    def _added(self, module: str) -> Iterator[str]:
        """Check a module, and return the places that lead to the roots now, and did not."""
        more: list[tuple[str, str]] = []
        for head, (names, places) in self._exported_by(module).items():
            if names or not places.isdisjoint(self._leading):
                more.append((module, head))
            else:
                for place in places:
                    self._standing_for.setdefault(place, []).append((module, head))
        while more:
            exporting, head = more.pop()
            is_new = exporting not in self._heads
            self._heads.setdefault(exporting, set()).add(head)
            for place in self._above(exporting) if is_new else ():
                if place not in self._leading:
                    self._leading.add(place)
                    more += self._standing_for.pop(place, ())
                    yield place

    def _users(self, place: str) -> Iterator[str]:
        """Return the modules whose import statements may name what is at a place."""
        yield from self._by_word.get(os.path.basename(place), ())
        yield from self._by_folder.get(place, ())

    @functools.cached_property
    def _by_word(self) -> dict[str, list[str]]:
        """From the names of modules and folders to the modules that name them in an import."""
        known = {name for names in self._children.values() for name in names}
        by_word: dict[str, list[str]] = {}
        for module in self._places.values():
            for word in self._named_in(module) & known:
                by_word.setdefault(word, []).append(module)
        return by_word

    @functools.cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        """From each package to the modules below it that may import from it by dots alone."""
        by_folder: dict[str, list[str]] = {}
        for module in self._places.values():
            if FROM_PACKAGE in self._named_in(module):
                for folder in self._packages(module):
                    by_folder.setdefault(folder, []).append(module)
        return by_folder

    def _packages(self, path: str) -> Iterator[str]:
        return (folder for folder in self._folders_above(path) if folder in self._places)

    def _folders_above(self, path: str) -> Iterator[str]:
        folder = os.path.dirname(os.path.abspath(path))
        while folder in self._children:
            yield folder
            folder, name = os.path.split(folder)
            if not name:
                return

    def _above(self, module: str) -> Iterator[str]:
        """Return the place of a module, its folder, and so on, as far as imports lead."""
        if not os.path.basename(module).startswith("__init__."):
            yield os.path.splitext(os.path.abspath(module))[0]
        yield from self._folders_above(module)
