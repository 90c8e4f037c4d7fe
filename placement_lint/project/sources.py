"""Reading files of a run for what others need to know of them: damage is their own finding."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.files.opening import decode
from placement_lint.files.source import Source, UnreadableError, read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.syntax.names import Names


def text_of(path: str) -> str:
    """Give the text of a file; the empty one where it cannot be read."""
    try:
        return decode(path, read_bytes(path)).text
    except UnreadableError:
        # Its own finding says so; here nothing is known of it.
        return ""


def names_of(path: str) -> Names | None:
    """Give the names of a file, with its tree; `None` where it cannot be parsed."""
    import libcst as cst

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.parser_guard import too_deep
    from placement_lint.syntax.tree import Tree

    text = text_of(path)
    if not text or too_deep(text) is not None:
        return None
    try:
        module = cst.parse_module(text)
    except Exception:  # the file's own findings say so; here it is only unknown
        return None
    return Names(Tree(module))


def open_source(path: str, data: bytes) -> Source:
    """Read a file or a notebook from its bytes. Raises UnreadableError, or NotPythonError."""
    from placement_lint.files.notebook import is_notebook, read_notebook

    return read_notebook(path, data) if is_notebook(path) else decode(path, data)


def reopened(path: str, data: bytes | None = None) -> Source | None:
    """Read a file once more, if it is still what it was."""
    from placement_lint.files.notebook import NotPythonError

    try:
        return open_source(path, read_bytes(path) if data is None else data)
    except (UnreadableError, NotPythonError):
        return None


class Sources:
    """The texts that findings are about, read again when they are asked for."""

    def __init__(self, fixed: Mapping[str, bytes] | None = None) -> None:
        """Take the bytes of the files that fixes change, whether or not they were written."""
        self._fixed = fixed or {}
        self._read = functools.lru_cache(maxsize=32)(reopened)

    def __call__(self, path: str) -> Source | None:
        """Give the text of a file of the run."""
        return self._read(path, self._fixed.get(path))
