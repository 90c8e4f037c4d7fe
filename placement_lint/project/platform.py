"""Which files of a run belong to programs that only ever use the CPU."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.notebook import is_notebook
from placement_lint.files.test_paths import is_test_path
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.parse import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.files.store import FileStore
    from placement_lint.project.modules import Modules
    from placement_lint.project.project import Project

_PINS = (b"jax_platform", b"JAX_PLATFORM")
"""Without one of these a file does not choose the platform."""
_FOR_TESTS = b"default_device"
"""By this, fixtures choose it."""

_MAIN = "__main__"
_MOST_LOOKED_AT = 200_000
"""Importing files, for all files with a function that pins the program."""


def may_pin(path: str, words: bytes) -> bool:
    """Return whether a file may choose the platform, for itself or for tests."""
    return any(word in words for word in _PINS) or (_FOR_TESTS in words and is_test_path(path))


def pinned_files(choosing: Iterable[str], project: Project) -> frozenset[str]:
    """Return the files that run on the CPU alone, of those that choose one and their neighbours.

    Where a file pins the program to the CPU, so is every file that imports it, be it as the
    `__init__.py` of its package, but for a notebook if that file only pins where it is run as a
    program; and every file that only such files import. Tests and their `conftest.py` say nothing
    of what they test.
    """
    choosing = list(choosing)
    pinned, offered = _pinning(choosing, project)
    if not pinned and not offered:
        return frozenset()
    imported: dict[str, set[str]] = {}
    importers: dict[str, set[str]] = {}
    for importer, target, _ in project.imports:
        imported.setdefault(importer, set()).add(target)
        importers.setdefault(target, set()).add(importer)
    takers = _Takers(offered, importers, project.store, functools.partial(_takes, project))
    pinned |= {path for path in offered if takers.take(path)}
    if not pinned:
        return frozenset()
    for conftest in pinned:
        if os.path.basename(conftest) == "conftest.py":
            for test in _tests_below(conftest, project.paths):
                imported.setdefault(test, set()).add(conftest)
    entries: dict[str, bool] = {}
    # Only what a notebook imports is asked how it pins: that is read.
    asked = pinned if any(map(is_notebook, imported)) else ()
    at_import = {
        path
        for path in asked
        if project.facts_by_file[path].pins_at_top and _MAIN not in project.store.text(path)
    }
    while True:
        pinned |= _in_packages(pinned, project.paths)
        more = {
            path
            for path in {*imported, *importers} - pinned
            # A notebook runs no program that it imports a function from.
            if not imported.get(path, set()).isdisjoint(at_import if is_notebook(path) else pinned)
            or _has_pinned_users(path, importers.get(path, set()), pinned, entries, project.store)
        }
        if not more:
            return frozenset(pinned)
        at_import |= {each for each in more if not at_import.isdisjoint(imported.get(each, ()))}
        pinned |= more


def _in_packages(pinned: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Return the modules of packages whose `__init__.py` is pinned: Python runs it before them."""
    inits = {path for path in pinned if os.path.basename(path) == "__init__.py"}
    packages = {os.path.dirname(path) for path in inits}
    if not packages:
        return set()
    every = [*paths]
    are_packages = {
        os.path.dirname(path) for path in every if os.path.basename(path) == "__init__.py"
    }
    found: set[str] = set()
    for path in every:
        above = os.path.dirname(path)
        while above in are_packages and above not in packages:
            above = os.path.dirname(above)
        if above in packages:
            found.add(path)
    return found


def _tests_below(conftest: str, paths: Iterable[str]) -> Iterator[str]:
    """Return the tests for which pytest runs a `conftest.py` first."""
    above = os.path.join(os.path.dirname(os.path.abspath(conftest)), "")
    for path in paths:
        if is_test_path(path) and os.path.abspath(path).startswith(above):
            yield path


Takes: TypeAlias = "Callable[[str, frozenset[str]], tuple[bool, frozenset[str]]]"
"""Whether a file surely calls a function of some names, and which of its own do so."""


class _Takers:
    """Which files call functions that others of which they import offer; each text is read once."""

    def __init__(
        self,
        offered: dict[str, frozenset[str]],
        importers: dict[str, set[str]],
        store: FileStore,
        takes: Takes,
    ) -> None:
        """Take the names that files offer, and the files that import each file."""
        self._offered = offered
        self._importers = importers
        self._store = store
        self._takes = takes
        every = sorted(frozenset().union(*offered.values()))
        self._words = re.compile(rf"\b(?:{'|'.join(map(re.escape, every))})\b")
        self._said: dict[str, frozenset[str]] = {}
        self._left = _MOST_LOOKED_AT

    def take(self, path: str) -> bool:
        """Return whether a file that imports another, by way of others too, surely calls what it
        offers, or what the others offer that do so.

        One is taken to, where very many files have been looked at for all.
        """
        names = self._offered[path]
        while True:
            more = self._offered_further(path, names)
            if more is None:
                return True
            if more <= names:
                return False
            names |= more

    def _offered_further(self, path: str, names: frozenset[str]) -> frozenset[str] | None:
        """Return the functions of importing files that call those of some names; None where one of
        the files surely calls one.
        """
        seen, found = {path}, [path]
        further: frozenset[str] = frozenset()
        while found:
            more = self._importers.get(found.pop(), set()) - seen
            self._left -= len(more)
            if self._left < 0:
                return None
            for each in sorted(more):
                said = names & self._says(each, names)
                is_taken, offered = self._takes(each, said) if said else (False, frozenset())
                if is_taken:
                    return None
                further |= offered
            seen |= more
            found += more
        return further

    def _says(self, path: str, names: frozenset[str]) -> frozenset[str]:
        """Return the names that a file says, of those that files offer and, perhaps, of others."""
        if path not in self._said:
            self._said[path] = frozenset(self._words.findall(self._store.text(path)))
        later = names.difference(*self._offered.values())
        text = self._store.text(path) if later else ""
        return self._said[path].union(name for name in later if name in text)


def _takes(project: Modules, path: str, names: frozenset[str]) -> tuple[bool, frozenset[str]]:
    """Return whether a file surely calls a function of some names, and which of its own do."""
    known, key = project.facts_by_file[path].takes, tuple(sorted(names))
    if key not in known:
        find = functools.partial(_found_to_take, path, names, project.store)
        found = run_deep(project.expenses.of, path, find, None)
        known[key] = (True, frozenset()) if found is None else found
    return known[key]


def _found_to_take(
    path: str, offered: frozenset[str], store: FileStore
) -> tuple[bool, frozenset[str]]:
    from placement_lint.placement.facts.cpu_pin import takes_offered

    names = names_of(path, store)
    return (True, frozenset()) if names is None else takes_offered(names.tree, names, offered)


def _has_pinned_users(
    path: str,
    importers: set[str],
    pinned: set[str],
    entries: dict[str, bool],
    store: FileStore,
) -> bool:
    users = {each for each in importers if not is_test_path(each)}
    if not users or not users <= pinned:
        return False
    if path not in entries:
        entries[path] = _MAIN in store.text(path)
    return not entries[path]


def _pinning(
    choosing: Iterable[str], project: Project
) -> tuple[set[str], dict[str, frozenset[str]]]:
    """Return the files that pin the program, and those with functions that do if they are called.

    What pins it by its own text may come too late in the program: then it does not. Nothing runs
    before what stands in no function, if the file imports no other one of the run.
    """
    pinned: set[str] = set()
    offered: dict[str, frozenset[str]] = {}
    for path in choosing:
        facts = project.facts_by_file[path]
        pins, offers = _pins(path, project), facts.offers
        is_early = facts.pins_at_top and not project.imports_of(path)
        if (pins or offers) and not is_early and not is_test_path(path):
            pins, offers = project.view.pins(path, (pins, offers))
        if pins:
            pinned.add(path)
        elif offers:
            offered[path] = offers
    return pinned, offered


def _pins(path: str, project: Modules) -> bool:
    facts = project.facts_by_file[path]
    if facts.pins is None:
        find = functools.partial(_found_to_pin, path, project.store)
        found = run_deep(project.expenses.of, path, find, None)
        if found is not None:
            facts.pins, facts.pins_at_top, facts.offers = found
    return facts.pins is True


def _found_to_pin(path: str, store: FileStore) -> tuple[bool, bool, frozenset[str]]:
    """Return whether a file pins the program, whether it does so in no function, and what it has
    that does if it is called.
    """
    from placement_lint.placement.facts.cpu_pin import offers_cpu, pins_at_top, pins_cpu

    names = names_of(path, store)
    if names is None:
        return False, False, frozenset()
    by_intent = os.path.basename(path) == "conftest.py"
    if pins_cpu(names.tree, names, by_intent=by_intent):
        return True, pins_at_top(names.tree, names), frozenset()
    return False, False, offers_cpu(names.tree, names)
