"""Which tests of a run get values from the fixtures of other files, by their names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from placement_lint.files.test_paths import CONFTEST, is_init, is_test_path

if TYPE_CHECKING:
    from placement_lint.project.modules import Modules

_FIXTURE = re.compile(
    r"^@[\w.][^\n]*\n(?:[^\n]*\n){0,8}?(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE
)
"""What is decorated in a file that has the word: the fixtures, and perhaps more."""
_NAMED = re.compile(r"\w\([^()\n]*\bname[ \t]*=[ \t]*[\"'](\w+)[\"']")
_PLUGINS = re.compile(r"^pytest_plugins\b[^=\n]*=([^#\n]*(?:\n[^\n\w][^\n]*){0,50})", re.MULTILINE)
_TEXT = re.compile(r"[\"']([\w.]+)[\"']")
_WORD_OF_FIXTURES = "fixture"
_WORD = re.compile(r"\w+")
_MOST_FILES = 50
"""Files of which one `conftest.py` has fixtures, by imports and as plugins."""


def fixture_links(modules: Modules) -> tuple[tuple[str, str, str], ...]:
    """Return who is given which fixture of which file, as `Modules.imports` has imports.

    Each `conftest.py` serves the tests of its folder and of those below it, with its own fixtures
    and with those of the files that it imports and names as plugins; one that is nearer to a test
    may hide what another one has. What a test imports itself is among the imports.
    """
    serving: dict[str, list[tuple[str, frozenset[str]]]] = {}
    found: list[tuple[str, str, str]] = []
    for path in modules.paths:
        if os.path.basename(path) == CONFTEST:
            files = _files_of(path, modules)
            provided = [(each, names) for each in files if (names := _fixtures(each, modules))]
            if provided:
                # What it has from others it hands on.
                every = frozenset().union(*(names for _, names in provided))
                provided = [(path, every), *(each for each in provided if each[0] != path)]
                serving[os.path.dirname(os.path.abspath(path))] = provided
            for each in files:
                found += ((each, plugin, "*") for plugin in _plugins(each, modules))
    for path in modules.paths if serving else ():
        if not is_test_path(path):
            continue
        above = [(each, names) for each, names in _above(path, serving) if each != path]
        if above:
            words = frozenset(_WORD.findall(modules.store.text(path)))
            for each, names in above:
                found += ((path, each, name) for name in sorted(names & words))
    return tuple(dict.fromkeys(found))


def _fixtures(path: str, modules: Modules) -> frozenset[str]:
    text = modules.store.text(path)
    if _WORD_OF_FIXTURES not in text:
        return frozenset()
    return frozenset({*_FIXTURE.findall(text), *_NAMED.findall(text)})


def _files_of(conftest: str, modules: Modules) -> list[str]:
    """Return a `conftest.py`, and the files whose fixtures it may have, with those of these."""
    files = {conftest: None}
    pending = [conftest]
    while pending and len(files) < _MOST_FILES:
        path = pending.pop()
        brought = [imported for _, imported, _ in modules.imports_of(path)]
        brought += _plugins(path, modules)
        for each in brought:
            if each in files:
                continue
            files[each] = None
            if is_init(each) or _WORD_OF_FIXTURES in modules.store.text(each):
                pending.append(each)
    return [*files]


def _plugins(path: str, modules: Modules) -> list[str]:
    listed = _PLUGINS.findall(modules.store.text(path))
    located = (modules.module_of(path, name) for each in listed for name in _TEXT.findall(each))
    return [found[0] for found in located if found is not None]


def _above(
    path: str, serving: dict[str, list[tuple[str, frozenset[str]]]]
) -> list[tuple[str, frozenset[str]]]:
    found: list[tuple[str, frozenset[str]]] = []
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        found += serving.get(folder, ())
        above = os.path.dirname(folder)
        if above == folder:
            return found
        folder = above
