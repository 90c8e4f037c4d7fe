"""A few files in which no rule can find anything, told before a rule is imported.

A commit hook gets the files that were changed, and most of those that have to do with JAX hold
nothing of what the rules look for. What each rule needs of a file is in `needed.txt`, written by
`python -m placement_lint.rules.needed`: to import the rules takes longer than all else.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError
from placement_lint.prefilter.conditions import JAX, FileText
from placement_lint.prefilter.early_exit import is_simple, may_say_something
from placement_lint.prefilter.import_words import RELATIVE, import_words
from placement_lint.prefilter.written_needs import read_need
from placement_lint.syntax.python_parser import may_be_broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.files.store import FileStore
    from placement_lint.prefilter.conditions import Needs

FILE = os.path.join(os.path.dirname(__file__), "needed.txt")
"""For each rule that is on by default, what it needs."""

MOST_FILES = 20
MOST_BYTES = 200_000
"""More is worth remembering, and may take more than it saves."""


def nothing_can_fire(files: Sequence[str], store: FileStore) -> bool:
    """Return whether no rule that is on by default finds anything; False where one may.

    Also where it takes more to tell: where files may import from one another, say, or cannot be
    parsed.
    """
    if len(files) > MOST_FILES:
        return False
    try:
        texts = {path: store.read(path) for path in files}
    except UnreadableError:
        # That is a finding.
        return False
    if sum(map(len, texts.values())) > MOST_BYTES or _may_import_each_other(texts):
        return False
    return all(is_simple(path, data) for path, data in texts.items()) and not any(
        _may_fire(path, data) for path, data in texts.items()
    )


def _may_import_each_other(texts: dict[str, bytes]) -> bool:
    if len(texts) == 1:
        return False
    parts = {part for path in texts for part in os.path.abspath(path)[:-3].split(os.sep)}
    parts |= {os.path.splitext(os.path.basename(path))[0] for path in texts}
    return any(
        RELATIVE in named or not parts.isdisjoint(named)
        for named in map(import_words, texts.values())
    )


def _may_fire(path: str, data: bytes) -> bool:
    if not may_say_something(data):
        return False
    text = FileText(data, jax=JAX in data, path=path)
    if any(text.meets(need) for need in _needs()):
        return True
    return text.jax and may_be_broken(Source(path, data.decode()))


def _needs() -> Iterator[Needs]:
    """Yield what each rule needs, read as far as it is asked for."""
    for line in _lines():
        yield _need(line)


@functools.cache
def _lines() -> tuple[str, ...]:
    with open(FILE, encoding="utf-8") as file:
        return tuple(line.partition("\t")[2] for line in file)


@functools.cache
def _need(line: str) -> Needs:
    return read_need(line)
