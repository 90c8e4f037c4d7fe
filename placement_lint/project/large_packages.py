"""Packages of which it would take too long to follow what they import of their own modules."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

MOST_MODULES = 256
"""Where `package.module.name` is known all over a package, most of its files are one program. One
of 670 modules took ten times as long, and twice the memory."""


class Packaged(Protocol):
    """What tells of the files of a run which packages they are in: `modules.Modules`."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the run."""

    def packages_above(self, path: str) -> list[str]:
        """Return the `__init__.py` files of the packages that a file is in, the outermost first."""


def large_packages(modules: Packaged) -> frozenset[str]:
    """Return the `__init__.py` files of the outermost packages that have more modules."""
    above = map(modules.packages_above, modules.paths)
    sizes = Counter(packages[0] for packages in above if packages)
    return frozenset(package for package, size in sizes.items() if size > MOST_MODULES)
