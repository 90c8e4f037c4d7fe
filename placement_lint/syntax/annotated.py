"""Annotations of names in parentheses, `(x): int`, which Python knows and LibCST does not."""

from __future__ import annotations

import ast
import re

from placement_lint.files.python_tree import parsed

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_CLOSING = re.compile(r"[ \t\f)]*(?=:)")
_LONGEST = 1_000
"""Characters of a line: there may be as many such annotations on it."""
_OPENING = re.compile(r"[ \t\f(]*")


def without_parentheses(text: str) -> str | None:
    """Return a text with spaces in the place of the parentheses around annotated targets.

    The target then begins where its statement did. None where there are none on one line, or the
    text is not Python. Needs `run_deep`.
    """
    if ":" not in text or "(" not in text:
        return None
    tree = parsed(text)
    if tree is None:
        return None
    lines = [line for line in _LINE.findall(text) if line]
    changed = False
    for node in ast.walk(tree):
        if not isinstance(node, ast.AnnAssign):
            continue
        target = node.target
        if target.end_lineno != node.lineno or target.end_col_offset is None:
            continue
        line = lines[node.lineno - 1]
        if target.col_offset == node.col_offset or len(line) > _LONGEST:
            continue
        # Python counts bytes.
        start, first, last = (
            len(line.encode()[:count].decode())
            for count in (node.col_offset, target.col_offset, target.end_col_offset)
        )
        opening, closing = _OPENING.fullmatch(line, start, first), _CLOSING.match(line, last)
        if opening is None or closing is None:
            continue
        bare = line[first:last].ljust(closing.end() - start)
        lines[node.lineno - 1] = f"{line[:start]}{bare}{line[closing.end() :]}"
        changed = True
    return "".join(lines) if changed else None
