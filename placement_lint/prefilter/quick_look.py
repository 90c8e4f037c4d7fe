"""The rules that can find anything in a few files, known before a rule is imported.

A commit hook gets the files that were changed, and most of those that have to do with JAX hold
nothing of what the rules look for; the others hold something of a few. What each rule needs of a
file is in `needed.txt`, written by `python -m placement_lint.rules.needed`: to import all rules
takes longer than to ask what is written there.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError
from placement_lint.prefilter import NEEDED_FILE
from placement_lint.prefilter.conditions import JAX, FileText
from placement_lint.prefilter.early_exit import is_simple, may_say_something
from placement_lint.prefilter.import_words import RELATIVE, import_words
from placement_lint.prefilter.written_needs import read_needs
from placement_lint.syntax.python_parser import may_be_broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.files.store import FileStore
    from placement_lint.prefilter.conditions import Needs

MOST_FILES = 20
MOST_BYTES = 200_000
"""More is worth remembering, and may take more than it saves."""


def candidates(files: Sequence[str], store: FileStore) -> frozenset[str] | None:
    """Return the modules of the rules that are on by default and may find something in the files.

    None where it takes more to tell: where files may import from one another, say, or cannot be
    parsed.
    """
    if len(files) > MOST_FILES:
        return None
    try:
        texts = {path: store.read(path) for path in files}
    except UnreadableError:
        # That is a finding.
        return None
    if sum(map(len, texts.values())) > MOST_BYTES or _may_import_each_other(texts):
        return None
    if not all(is_simple(path, data) for path, data in texts.items()):
        return None
    found: set[str] = set()
    for path, data in texts.items():
        if not may_say_something(data):
            continue
        text = FileText(data, jax=JAX in data, path=path)
        able = modules_of_rules(text)
        if not able and text.jax and may_be_broken(Source(path, data.decode())):
            return None
        found |= able
    return frozenset(found)


def modules_of_rules(text: FileText) -> frozenset[str]:
    """Return the modules of the rules that are on by default and may find something in a text."""
    return frozenset(module for module, need in _needs() if text.meets(need))


def _may_import_each_other(texts: dict[str, bytes]) -> bool:
    if len(texts) == 1:
        return False
    parts = {part for path in texts for part in os.path.abspath(path)[:-3].split(os.sep)}
    parts |= {os.path.splitext(os.path.basename(path))[0] for path in texts}
    return any(
        RELATIVE in named or not parts.isdisjoint(named)
        for named in map(import_words, texts.values())
    )


@functools.cache
def _needs() -> tuple[tuple[str, Needs], ...]:
    with open(NEEDED_FILE, encoding="utf-8") as file:
        rows = [line.split("\t", 2) for line in file]
    modules = [module for _, module, _ in rows]
    return tuple(zip(modules, read_needs(need for _, _, need in rows), strict=True))
