"""Texts that stand in for files while somebody edits them and has not saved them.

Everything that reads a source file does so through `read_bytes` of `placement_lint.files.source`,
and that asks here first: so an analysis of several files sees all of them as their author does.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_texts: dict[str, bytes] = {}


@contextlib.contextmanager
def standing_in(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Let bytes stand in for files, by the paths that these are read under.

    They do so for the whole process: whoever uses this does one thing at a time.
    """
    before = dict(_texts)
    _texts.clear()
    _texts.update(texts)
    try:
        yield
    finally:
        _texts.clear()
        _texts.update(before)


def unsaved(path: str) -> bytes | None:
    """Give what stands in for a file; None where the file speaks for itself."""
    return _texts.get(path)
