"""Reading files of a run for what others need to know of them: damage is their own finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError, read_bytes

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names


def text_of(path: str) -> str:
    """Give the text of a file; the empty one where it cannot be read."""
    try:
        return Source.decode(path, read_bytes(path)).text
    except UnreadableError:
        # Its own finding says so; here nothing is known of it.
        return ""


def names_of(path: str) -> Names | None:
    """Give the names of a file, with its tree; `None` where it cannot be parsed."""
    import libcst as cst

    from placement_lint.files.nesting import too_deep
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

    text = text_of(path)
    if not text or too_deep(text) is not None:
        return None
    try:
        return Names(Tree(cst.parse_module(text)))
    except Exception:  # the file's own findings say so; here it is only unknown
        return None
