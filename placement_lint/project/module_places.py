"""At which places imports find the files of a run, and from which folders they start."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from placement_lint.files.notebook import is_notebook
from placement_lint.files.test_paths import is_init
from placement_lint.project.roots import ROOTS

if TYPE_CHECKING:
    from collections.abc import Sequence


class ModulePlaces:
    """The files of a run by their places: absolute paths without `.py` or `/__init__.py`."""

    def __init__(self, paths: Sequence[str], mentioning: frozenset[str]) -> None:
        """Take the paths of the run, and those of them whose bytes mention the roots."""
        self._paths = paths
        self._mentioning = mentioning
        self._packages: dict[str, bool] = {}
        self._folders: dict[str, str] = {}
        self._based: dict[tuple[str, str], str | None] = {}
        self._only_package: dict[str, str | None] = {}
        """For the first part of an absolute import, the only folder that has such a package."""

    @functools.cached_property
    def by_place(self) -> dict[str, str]:
        """From a place, an absolute path without `.py` or `/__init__.py`, to the file there.

        Empty where no file mentions a root, so that there is nothing to re-export. Without the
        files of the roots themselves.
        """
        if not self._mentioning:
            return {}
        best: dict[str, tuple[bool, bool, str]] = {}
        for path in self._paths:
            stem, suffix = os.path.splitext(os.path.abspath(path))
            if suffix in {".py", ".pyi"}:
                is_package = is_init(path)
                folder = os.path.dirname(stem)
                if self._in_root(folder):
                    continue
                place = folder if is_package else stem
                entry = (not is_package, suffix == ".pyi", path)
                best[place] = min(entry, best.get(place, entry))
        return {place: path for place, (_, _, path) in best.items()}

    @functools.cached_property
    def notebooks(self) -> list[str]:
        """The files of the run that import others, and that nothing imports."""
        return [path for path in self._paths if self._mentioning and is_notebook(path)]

    @functools.cached_property
    def children(self) -> dict[str, set[str]]:
        """From a folder to the names of the modules and folders of the run that lie in it."""
        children: dict[str, set[str]] = {}
        for place in self.by_place:
            folder, name = os.path.split(place)
            while name and name not in children.setdefault(folder, set()):
                children[folder].add(name)
                folder, name = os.path.split(folder)
        return children

    @functools.cached_property
    def bases(self) -> dict[str, dict[str, None]]:
        """From the first part of an absolute import to the folders that may be on the path."""
        bases: dict[str, dict[str, None]] = {}
        for folder, names in sorted(self.children.items()):
            if not self.is_package(folder):
                for name in names:
                    bases.setdefault(name, {})[folder] = None
        return bases

    def is_package(self, folder: str) -> bool:
        if folder not in self._packages:
            marker = os.path.join(folder, "__init__.py")
            self._packages[folder] = os.path.exists(marker)
        return self._packages[folder]

    def _in_root(self, folder: str) -> bool:
        """Return whether a folder is a package of the roots, or inside of one."""
        while self.is_package(folder):
            folder, name = os.path.split(folder)
            if name in ROOTS and not self.is_package(folder):
                return True
        return False

    def folder_of(self, path: str) -> str:
        """Return the folder in which a file of the run lies."""
        folder = self._folders.get(path)
        if folder is None:
            folder = self._folders[path] = os.path.dirname(os.path.abspath(path))
        return folder

    def base(self, folder: str, top: str) -> str | None:
        """Choose the folder that an absolute import in a folder starts from.

        That is the nearest one at or above it, or else the only one that has such a package.
        """
        if (folder, top) not in self._based:
            self._based[folder, top] = self._chosen_base(folder, top)
        return self._based[folder, top]

    def _chosen_base(self, folder: str, top: str) -> str | None:
        bases = self.bases.get(top, {})
        above = folder
        while above not in bases:
            next_above = os.path.dirname(above)
            if next_above == above:
                if top not in self._only_package:
                    is_one = [base for base in bases if self.is_package(os.path.join(base, top))]
                    self._only_package[top] = is_one[0] if len(is_one) == 1 else None
                return self._only_package[top]
            above = next_above
        return above

    def outermost_package(self, folder: str) -> str:
        """Return the outermost package that a folder lies in, or is; else the folder itself."""
        above = os.path.dirname(folder)
        while above != folder and self.is_package(above):
            folder, above = above, os.path.dirname(above)
        return folder

    def packages_above(self, path: str) -> list[str]:
        """Return the `__init__.py` files of the packages that a file is in, the outermost first."""
        found: list[str] = []
        folder = self.folder_of(path)
        while self.is_package(folder):
            package = self.by_place.get(folder)
            if package is not None:
                found.append(package)
            folder = os.path.dirname(folder)
        return found[::-1]
