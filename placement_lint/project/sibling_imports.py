"""Scripts in packages, which import the modules beside them by plain names.

Python puts the folder of a script first on the path: of `pkg/train.py`, run as `python
pkg/train.py`, `import data` is `pkg/data.py`. Where the same file is imported as `pkg.train`, it is
another module, or none. So the module beside is meant only where nothing speaks for the latter.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING

from placement_lint.files.test_paths import is_init
from placement_lint.prefilter.import_words import RELATIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.project.module_places import ModulePlaces


class SiblingImports:
    """For the files of a run that lie in packages: what they import from beside them."""

    def __init__(
        self,
        places: ModulePlaces,
        named_in: Callable[[str], frozenset[str]],
        imported_by: Callable[[str], Iterable[str]],
    ) -> None:
        """Take where the files lie.

        `named_in` returns the words of the import statements of a file, and `imported_by` the names
        of what these import.
        """
        self._places = places
        self._named_in = named_in
        self._imported_by = imported_by

    def of(self, path: str) -> frozenset[str]:
        """Return the names of the modules beside a file that its plain imports lead to."""
        return self._by_path.get(path, frozenset())

    def find(self) -> None:
        """Find them now, at the expense of nobody; else they are found when they are asked for."""
        _ = self.names

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All names by which a file imports a module beside it."""
        return frozenset().union(*self._by_path.values())

    @functools.cached_property
    def _by_path(self) -> dict[str, frozenset[str]]:
        possible = dict(self._possible())
        if not possible:
            return {}
        members = self._members(possible)
        installed = self._installed(possible)
        scripts = {path: names - installed for path, names in possible.items()}
        return {path: names for path, names in scripts.items() if names and path not in members}

    def _possible(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the files of packages that no import of their own takes for a member of theirs.

        With the names of modules beside them that nothing else of the run can be. A module that
        imports its own name means another one, of a library.
        """
        for folder, names in self._places.children.items():
            if not self._places.is_package(folder):
                continue
            modules = self._modules_in(folder, names)
            package = os.path.basename(self._places.outermost_package(folder))
            for name, path in modules.items():
                named = self._named_in(path)
                if RELATIVE in named or package in named or is_init(path):
                    continue
                beside = {
                    each
                    for each in named & modules.keys()
                    if each != name
                    and self._places.base(folder, each) is None
                    and each not in self._named_in(modules[each])
                }
                if beside and (plain := beside & self._plain_names(path)):
                    yield path, frozenset(plain)

    def _plain_names(self, path: str) -> set[str]:
        """Return how the names begin that the import statements of a file import."""
        return {each.partition(".")[0] for each in self._imported_by(path)}

    def _modules_in(self, folder: str, names: Iterable[str]) -> dict[str, str]:
        """Return the modules in a folder by name, but for those with the name of one of Python."""
        found = {
            name: self._places.by_place.get(os.path.join(folder, name), "")
            for name in names
            if name not in sys.stdlib_module_names
        }
        return {name: path for name, path in found.items() if path.endswith(".py")}

    def _members(self, possible: Iterable[str]) -> set[str]:
        """Return those of some files that another file may import as a member of their package."""
        by_name: dict[str, dict[str, list[str]]] = {}
        by_package: dict[tuple[str, str], list[str]] = {}
        for path in possible:
            name = os.path.splitext(os.path.basename(path))[0]
            package = self._places.outermost_package(self._places.folder_of(path))
            by_name.setdefault(name, {}).setdefault(os.path.basename(package), []).append(path)
            by_package.setdefault((name, package), []).append(path)
        members: set[str] = set()
        for importer in self._places.by_place.values():
            named = self._named_in(importer)
            package = self._places.outermost_package(self._places.folder_of(importer))
            for name in named & by_name.keys():
                for each in named & by_name[name].keys():
                    members.update(by_name[name].pop(each))
                if RELATIVE in named:
                    members.update(by_package.pop((name, package), ()))
        return members

    def _installed(self, possible: dict[str, frozenset[str]]) -> set[str]:
        """Return the names that a file imports of which no module of the run can be meant."""
        names = frozenset().union(*possible.values())
        installed: set[str] = set()
        for path in self._places.by_place.values():
            others = (self._named_in(path) & names).difference(possible.get(path, ()))
            folder = self._places.folder_of(path)
            if others:
                others &= self._plain_names(path)
            installed.update(each for each in others if self._places.base(folder, each) is None)
        return installed
