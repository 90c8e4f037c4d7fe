"""Globs as they are written in one folder, rewritten so that they mean the same in another."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from placement_lint.config.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BRACE = re.compile(r"(?<!\\)[{}]|\\[{}]")
_MOST_ALTERNATIVES = 100
"""Of one glob: each pair of braces multiplies them."""
_SPECIAL = re.compile(r"([\\*?\[\]!#])")


def written_in(folder: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in whose globs the syntax of .gitignore replaces all else.

    What people write, and other tools take: `./here.py`, an absolute path below the folder in which
    it is written, and `*.{py,ipynb}` (in a table, whoever asks sees to that: a `!` there is before
    all of it). Left as they are, these would match nothing.
    """
    plain = dict(table)
    for option in OPTIONS:
        if option.is_path and option.field in table:
            value = table[option.field]
            plain[option.field] = (
                {_plain(glob, folder): codes for glob, codes in value.items()}
                if isinstance(value, dict)
                else tuple(each for glob in value for each in alternatives(_plain(glob, folder)))
            )
    return plain


def _plain(glob: str, folder: Path) -> str:
    negation, body = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    above = f"{folder.as_posix().rstrip('/')}/"
    if body.startswith("./"):
        body = body[1:]
    elif body.startswith(above):
        body = f"/{body[len(above) :]}"
    return negation + body


def alternatives(glob: str) -> tuple[str, ...]:
    """Return the globs that one with `{a,b}` in it stands for: itself, where they are too many."""
    pending, done = [glob], []
    while pending:
        each = pending.pop()
        found = _innermost(each)
        if found is None:
            done.append(each)
        else:
            start, end = found
            if each.count(",", start, end) >= _MOST_ALTERNATIVES:
                return (glob,)
            choices = each[start + 1 : end - 1].split(",")
            pending += [each[:start] + choice + each[end:] for choice in reversed(choices)]
        if len(pending) + len(done) > _MOST_ALTERNATIVES:
            return (glob,)
    return tuple(dict.fromkeys(done))


def _innermost(glob: str) -> tuple[int, int] | None:
    """Return where the first braces with a comma and no other braces between them begin and end."""
    start = None
    for brace in _BRACE.finditer(glob):
        if start is not None and brace.group() == "}" and "," in glob[start : brace.start()]:
            return start, brace.end()
        start = brace.start() if brace.group() == "{" else None
    return None


def rebase_table(table: Mapping[str, Any], base: Path, root: Path) -> dict[str, Any]:
    """Rewrite the globs among some settings, from relative to `base` to relative to `root`.

    `root` is `base` or a folder above it.
    """
    rebased = dict(table)
    for option in OPTIONS:
        if option.is_path and option.field in table:
            value = table[option.field]
            rebased[option.field] = (
                {rebase(glob, base, root): codes for glob, codes in value.items()}
                if isinstance(value, dict)
                else tuple(rebase(glob, base, root) for glob in value)
            )
    return rebased


def has_anchored_globs(table: Mapping[str, Any]) -> bool:
    """Return whether any glob among some settings depends on the folder it was written in."""
    return any(
        _is_anchored(glob)
        for option in OPTIONS
        if option.is_path
        for glob in table.get(option.field, ())
    )


def rebase(glob: str, base: Path, root: Path) -> str:
    """Rewrite one glob. One without a slash matches names at any depth, and stays as it is."""
    if base == root or not _is_anchored(glob):
        return glob
    negation, body = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    folder = base.relative_to(root).as_posix()
    escaped = _SPECIAL.sub(r"\\\1", folder)
    return f"{negation}/{escaped}/{body.lstrip('/')}"


def common_root(one: Path, other: Path) -> Path | None:
    """Return the nearest folder above both. None: they are on different drives."""
    try:
        return type(one)(os.path.commonpath([one, other]))
    except ValueError:
        return None


def _is_anchored(glob: str) -> bool:
    return "/" in glob.rstrip("/")
