"""How long the lines of a project may be: what its formatter is set to."""

from __future__ import annotations

import functools
import os
from typing import Any

from placement_lint.config import toml
from placement_lint.regular import MOST_OF_SETTINGS, read_regular

DEFAULT = 88
"""What ruff and Black keep to where nobody says otherwise."""


def line_length(path: str) -> int | None:
    """Return the length that a project sets for the lines of a file; None where it sets none.

    Of the nearest `ruff.toml`, `.ruff.toml` or `pyproject.toml` that has one, up to the root of the
    repository: `line-length` of ruff, else of Black. Files that cannot be read say nothing.
    """
    return _in_folder(os.path.dirname(os.path.abspath(path)))


def forget() -> None:
    """Drop what was read: the files are read again when they are asked for next."""
    _in_folder.cache_clear()


@functools.lru_cache(maxsize=4096)
def _in_folder(folder: str) -> int | None:
    for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
        table = _read(os.path.join(folder, name))
        if table is None:
            continue
        tools = table.get("tool") if name == "pyproject.toml" else {"ruff": table}
        for tool in ("ruff", "black"):
            section = tools.get(tool) if isinstance(tools, dict) else None
            length = section.get("line-length") if isinstance(section, dict) else None
            if isinstance(length, int) and not isinstance(length, bool) and length > 0:
                return length
    parent = os.path.dirname(folder)
    # A repository ends where it ends: what lies around it is another's.
    if parent == folder or os.path.exists(os.path.join(folder, ".git")):
        return None
    return _in_folder(parent)


def _read(path: str) -> dict[str, Any] | None:
    try:
        data = read_regular(path, MOST_OF_SETTINGS)
        if b"line-length" not in data:
            return None
        return toml.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
