"""How long the lines of a project may be: what its formatter is set to."""

from __future__ import annotations

import os
from typing import Any

from placement_lint.config import toml
from placement_lint.config.listings import Listings
from placement_lint.regular import MOST_OF_SETTINGS, read_regular

DEFAULT = 88
"""What ruff and Black keep to where nobody says otherwise."""


class LineLengths:
    """What projects set for the lengths of their lines; each file is read once."""

    def __init__(self, listings: Listings | None = None) -> None:
        """Read nothing yet."""
        self._listings = listings or Listings()
        self._of_folder: dict[str, int | None] = {}

    def of(self, path: str) -> int | None:
        """Return the length that a project sets for the lines of a file; None where it sets none.

        Of the nearest `ruff.toml`, `.ruff.toml` or `pyproject.toml` that has one, up to the root of
        the repository: `line-length` of ruff, else of Black. Files that cannot be read say nothing.
        """
        return self._in_folder(os.path.dirname(os.path.abspath(path)))

    def _in_folder(self, folder: str) -> int | None:
        if folder not in self._of_folder:
            length, parent = self._set_in(folder), os.path.dirname(folder)
            # A repository ends where it ends: what lies around it is another's.
            is_top = parent == folder or self._listings.is_repository(folder)
            self._of_folder[folder] = length if length or is_top else self._in_folder(parent)
        return self._of_folder[folder]

    def _set_in(self, folder: str) -> int | None:
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            is_there = self._listings.may_have(folder, name)
            table = _read(os.path.join(folder, name)) if is_there else None
            if table is None:
                continue
            tools = table.get("tool") if name == "pyproject.toml" else {"ruff": table}
            for tool in ("ruff", "black"):
                section = tools.get(tool) if isinstance(tools, dict) else None
                length = section.get("line-length") if isinstance(section, dict) else None
                if isinstance(length, int) and not isinstance(length, bool) and length > 0:
                    return length
        return None


def _read(path: str) -> dict[str, Any] | None:
    try:
        data = read_regular(path, MOST_OF_SETTINGS)
        if b"line-length" not in data:
            return None
        return toml.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
