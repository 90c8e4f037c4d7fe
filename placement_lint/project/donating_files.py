"""Which files may have something that donates by what they import from other files of the run."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.project.modules import Modules

WORD = b"donate"
"""Part of all keywords by which something is donated."""
NAMES = "donate\njax"
"""What the file filter is to find in a file that imports from one that may donate."""

_PACKAGE = "__init__.py"
_ENOUGH = 2
"""Donating files behind a package: whoever imports it, one of them is another file."""


def brings_donation(path: str, modules: Modules) -> bool:
    """Return whether a file imports from one that may donate, also by way of packages."""
    if not modules.donating:
        return False
    behind = modules.fact(_donating_behind_packages)
    return any(
        (imported in modules.donating and imported != path)
        or not behind.get(imported, set()) <= {path}
        for _, imported, _ in modules.imports_of(path)
    )


def _donating_behind_packages(modules: Modules) -> Mapping[str, set[str]]:
    """Return, for each package, files that may donate and that its imports lead to.

    They are followed through further packages; of many such files a few are enough.
    """
    behind: dict[str, set[str]] = {}
    importers: dict[str, list[str]] = {}
    pending: list[str] = []
    nothing: list[tuple[str, str, str]] = []
    for package in modules.paths if modules.donating else ():
        if os.path.basename(package) != _PACKAGE:
            continue
        imports = nothing
        with modules.isolating(package):
            read = functools.partial(modules.imports_of, package)
            imports = modules.expenses.of(package, read, nothing)
        found = {imported for _, imported, _ in imports}
        for imported in found:
            if os.path.basename(imported) == _PACKAGE:
                importers.setdefault(imported, []).append(package)
        donating = sorted(found & modules.donating)[:_ENOUGH]
        if donating:
            behind[package] = {*donating}
            pending.append(package)
    while pending:
        package = pending.pop()
        for importer in importers.get(package, ()):
            known = behind.setdefault(importer, set())
            for each in sorted(behind[package] - known)[: _ENOUGH - len(known)]:
                known.add(each)
                pending.append(importer)
    return behind
