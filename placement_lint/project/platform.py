"""Which files of a run belong to programs that only ever use the CPU."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from placement_lint.files.test_paths import is_test_path
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.parse import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.files.store import FileStore
    from placement_lint.project.modules import Modules

_PINS = (b"jax_platform", b"JAX_PLATFORM")
"""Without one of these a file does not choose the platform."""
_FOR_TESTS = b"default_device"
"""By this, fixtures choose it."""

_MAIN = "__main__"


def may_pin(path: str, words: bytes) -> bool:
    """Return whether a file may choose the platform, for itself or for tests."""
    return any(word in words for word in _PINS) or (_FOR_TESTS in words and is_test_path(path))


def pinned_files(choosing: Iterable[str], project: Modules) -> frozenset[str]:
    """Return the files that run on the CPU alone, of those that choose one and their neighbours.

    Where a file pins the program to the CPU, so is every file that imports it, and every file that
    only such files import. Tests and their `conftest.py` say nothing of what they test.
    """
    pinned = {path for path in choosing if _pins(path, project)}
    if not pinned:
        return frozenset()
    imported: dict[str, set[str]] = {}
    importers: dict[str, set[str]] = {}
    for importer, target, _ in project.imports:
        imported.setdefault(importer, set()).add(target)
        importers.setdefault(target, set()).add(importer)
    for conftest in pinned:
        if os.path.basename(conftest) == "conftest.py":
            for test in _tests_below(conftest, project.paths):
                imported.setdefault(test, set()).add(conftest)
    entries: dict[str, bool] = {}
    while True:
        more = {
            path
            for path in {*imported, *importers} - pinned
            if not imported.get(path, set()).isdisjoint(pinned)
            or _has_pinned_users(path, importers.get(path, set()), pinned, entries, project.store)
        }
        if not more:
            return frozenset(pinned)
        pinned |= more


def _tests_below(conftest: str, paths: Iterable[str]) -> Iterator[str]:
    """Return the tests for which pytest runs a `conftest.py` first."""
    above = os.path.join(os.path.dirname(os.path.abspath(conftest)), "")
    for path in paths:
        if is_test_path(path) and os.path.abspath(path).startswith(above):
            yield path


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


def _pins(path: str, project: Modules) -> bool:
    facts = project.facts_by_file[path]
    if facts.pins is None:
        find = functools.partial(_found_to_pin, path, project.store)
        facts.pins = run_deep(project.expenses.of, path, find, None)
    return facts.pins is True


def _found_to_pin(path: str, store: FileStore) -> bool:
    from placement_lint.placement.facts.cpu_pin import pins_cpu

    names = names_of(path, store)
    if names is None:
        return False
    return pins_cpu(names.tree, names, by_intent=os.path.basename(path) == "conftest.py")
