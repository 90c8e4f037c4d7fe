"""Which files may have something that donates by what they import from other files of the run."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.project.modules import Modules

WORD = b"donate"
"""Part of all keywords by which something is donated."""
NAMES = "donate\njax"
"""What the file filter is to find in a file that imports from one that may donate."""


def brings_donation(path: str, modules: Modules) -> bool:
    """Return whether a file imports from one that may donate, also by way of packages."""
    if not modules.donating:
        return False
    pending, seen = [path], {path}
    while pending:
        for _, imported, _ in modules.imports_of(pending.pop()):
            if imported in modules.donating and imported != path:
                return True
            if imported not in seen and PurePath(imported).name == "__init__.py":
                seen.add(imported)
                pending.append(imported)
    return False
