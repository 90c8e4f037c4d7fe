"""Which tests of a run get values from the fixtures of a `conftest.py`, by their names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from placement_lint.files.test_paths import CONFTEST, is_test_path

if TYPE_CHECKING:
    from placement_lint.project.modules import Modules

_FIXTURE = re.compile(
    r"^@(?:\w+\.)?fixture\b[^\n]*\n(?:[^\n]*\n){0,8}?(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE
)
_NAMED = re.compile(r"\bfixture\([^()\n]*\bname[ \t]*=[ \t]*[\"'](\w+)[\"']")
_WORD = re.compile(r"\w+")


def fixture_links(modules: Modules) -> tuple[tuple[str, str, str], ...]:
    """Return who is given which fixture of which `conftest.py`, as `Modules.imports` has imports.

    Each `conftest.py` serves the tests of its folder and of those below it; one that is nearer to
    a test may hide what another one has.
    """
    conftests: dict[str, tuple[str, frozenset[str]]] = {}
    for path in modules.paths:
        if os.path.basename(path) == CONFTEST:
            text = modules.store.text(path)
            names = frozenset({*_FIXTURE.findall(text), *_NAMED.findall(text)})
            if names:
                conftests[os.path.dirname(os.path.abspath(path))] = path, names
    found: list[tuple[str, str, str]] = []
    for path in modules.paths if conftests else ():
        if not is_test_path(path):
            continue
        above = [(conftest, names) for conftest, names in _above(path, conftests)]
        if above:
            words = frozenset(_WORD.findall(modules.store.text(path)))
            for conftest, names in above:
                found += ((path, conftest, name) for name in sorted(names & words))
    return tuple(found)


def _above(
    path: str, conftests: dict[str, tuple[str, frozenset[str]]]
) -> list[tuple[str, frozenset[str]]]:
    found = []
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        conftest = conftests.get(folder)
        if conftest is not None and conftest[0] != path:
            found.append(conftest)
        above = os.path.dirname(folder)
        if above == folder:
            return found
        folder = above
