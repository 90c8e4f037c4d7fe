"""Globs that were written in one folder, rewritten so that they mean the same in another."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from placement_lint.config.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SPECIAL = re.compile(r"([\\*?\[\]!#])")


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
    """Tell whether any glob among some settings depends on the folder it was written in."""
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
    """Give the nearest folder above both. None: they are on different drives."""
    try:
        return type(one)(os.path.commonpath([one, other]))
    except ValueError:
        return None


def _is_anchored(glob: str) -> bool:
    return "/" in glob.rstrip("/")
