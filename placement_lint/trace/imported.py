"""Doing something as soon as the program has imported a package, and not before.

Runs in the traced process.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


def when_imported(name: str, act: Callable[[], None]) -> None:
    """Call `act` when the package has been imported for the first time, before its importer."""
    sys.meta_path.insert(0, _Finder(name, act))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the package as the other finders do, and wraps what loads it."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = act

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec: importlib.machinery.ModuleSpec | None = None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None:
                break
        if spec is None:
            sys.meta_path.insert(0, self)  # a later attempt may find it
            return None
        loader: Any = spec.loader
        if not hasattr(loader, "exec_module"):
            return spec
        real, act = loader.exec_module, self._act

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            # Nothing in it is the program's, and it is long: a trace function would slow it down.
            tracing = sys.gettrace()
            sys.settrace(None)
            try:
                real(module)
            finally:
                sys.settrace(tracing)
            act()

        loader.exec_module = exec_module
        return spec
