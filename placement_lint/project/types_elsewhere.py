"""What files of the run define, as far as others ask: types, and whether it is about versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.project.functions_elsewhere import reexported
from placement_lint.semantic.array_operators import defines_array
from placement_lint.semantic.file_view import FileView
from placement_lint.semantic.known_types import KnownTypes
from placement_lint.semantic.program_queries import ARRAY
from placement_lint.semantic.version_guards import exports_version
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import KnownType

_MOST_FILES = 6
"""Files that lead to one another, from a question to what answers it."""


class TypesElsewhere:
    """The types of functions, classes and variables of a run."""

    def __init__(
        self,
        project: Modules,
        borrowed: Callable[[str], AbstractContextManager[ModuleFacts | None]],
    ) -> None:
        """`borrowed` lends the facts of a file."""
        self._project = project
        self._borrowed = borrowed
        self._known: dict[tuple[str, str, bool], KnownType | None] = {}
        self._flags: dict[tuple[str, str], bool | None] = {}
        self._open: list[tuple[str, str, bool]] = []
        self._is_cut = False

    def of(self, path: str, name: str, *, called: bool, file: str = "") -> KnownType | None:
        """Return the type of what a file names, or `file` has; None where it is not known."""
        located = (file, name) if file else self._project.module_of(path, name)
        if located is None or not located[1]:
            return None
        key = (*located, called)
        if key in self._known:
            return self._known[key]
        if key in self._open or len(self._open) >= _MOST_FILES:
            self._is_cut = True
            return None
        self._open.append(key)
        try:
            with self._borrowed(located[0]) as facts:
                found = None if facts is None else run_deep(_exported, facts, located[1], called)
        finally:
            self._open.pop()
        # What did not come to its end may be answered otherwise when it is asked first.
        if not self._open:
            self._is_cut = False
            self._known[key] = found
        elif not self._is_cut:
            self._known[key] = found
        return found

    def is_about_version(self, path: str, name: str) -> bool | None:
        """Return whether what another file defines is worked out of the version of JAX.

        None where it is not known.
        """
        located = self._project.module_of(path, name)
        for _ in range(_MOST_FILES):
            if located is None or not located[1] or located[0] == path:
                return None
            if located in self._flags:
                return self._flags[located]
            # What leads back to it is not about versions by that.
            self._flags[located] = None
            with self._borrowed(located[0]) as facts:
                if facts is None:
                    return None
                onward = reexported(facts, located[1])
                if onward is None:
                    found = self._flags[located] = exports_version(located[1], FileView(facts))
                    return found
            del self._flags[located]
            located = self._project.module_of(located[0], onward)
        return None


def _exported(facts: ModuleFacts, name: str, called: bool) -> KnownType | None:
    known = facts.fact(KnownTypes).exported(name, called=called)
    if known is None and defines_array(name, FileView(facts), called=called):
        return ARRAY
    return known
