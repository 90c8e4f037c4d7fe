"""Globs in the syntax of .gitignore, asked as git asks them.

A glob is asked about one entry of a folder: whoever walks a tree does not enter a folder that is
ignored, and so nothing below it need be asked about.
"""

from __future__ import annotations

import functools
import heapq
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.files.wildmatch import Path, Segment

_PLAIN_NAME = re.compile(r"[^\s!#/*?\[\\](?:[^/*?\[\\]*[^\s/*?\[\\])?")
_FEW = 30
"""So many globs are tried one by one: to sort them would take longer."""


@dataclass(frozen=True)
class Glob:
    """One line of a .gitignore."""

    text: str
    """Without the slash at the end."""
    folders_only: bool
    pattern: Path | Segment | None = field(compare=False)
    """None: the text is a plain name."""

    @property
    def negated(self) -> bool:
        """Whether it brings back what others ignore."""
        return self.pattern is not None and self.text.startswith("!")

    @property
    def is_name(self) -> bool:
        """Whether it names no path, and so holds at any depth."""
        return "/" not in self.text

    def matches(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Return whether it names this entry itself; the path is relative to the globs' folder."""
        if self.folders_only and not is_folder:
            return False
        if self.pattern is None:
            return parts[-1] == self.text
        return self.pattern.matches(parts)


@dataclass(frozen=True)
class Globs:
    """The globs of one place, in order: the last one that matches decides."""

    globs: tuple[Glob, ...]

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Globs:
        """Read globs, one a line; blank lines, comments and what is no glob go."""
        return cls(tuple(glob for glob in map(parse, lines) if glob is not None))

    def verdict(self, parts: tuple[str, ...], *, is_folder: bool) -> bool | None:
        """Return whether an entry is ignored. None: no glob speaks of it."""
        named = self._names.get(parts[-1], ())
        last = next((at for at, only in named if is_folder or not only), -1)
        for at, glob in self._that_may_match(parts[-1]):
            if at < last:
                break
            if glob.matches(parts, is_folder=is_folder):
                return not glob.negated
        return True if last >= 0 else None

    def suspects(self, names: set[str]) -> set[str]:
        """Return those names of entries of which a glob may speak."""
        if not self._patterns:
            return names & self._names.keys()
        if len(self._patterns) > _FEW:
            return names
        heads, tails = self._ends
        return {
            name
            for name in names
            if name in self._names or name.startswith(heads) or name.endswith(tails)
        }

    @functools.cached_property
    def _names(self) -> dict[str, list[tuple[int, bool]]]:
        """From plain names to where they stand, the last first, and whether for folders only."""
        names: dict[str, list[tuple[int, bool]]] = {}
        for at, glob in reversed([*enumerate(self.globs)]):
            if glob.pattern is None:
                names.setdefault(glob.text, []).append((at, glob.folders_only))
        return names

    @functools.cached_property
    def _patterns(self) -> tuple[tuple[int, Glob], ...]:
        """The globs that are no plain names, the last first, with where they stand."""
        every = reversed([*enumerate(self.globs)])
        return tuple((at, glob) for at, glob in every if glob.pattern is not None)

    def _that_may_match(self, name: str) -> Iterable[tuple[int, Glob]]:
        """Return those of the globs that may match an entry with such a name, the last first."""
        if len(self._patterns) <= _FEW:
            return self._patterns
        lists = [
            found
            for place, by_end in enumerate(self._by_ends)
            for width, globs in by_end.items()
            for found in [globs.get(name[:width] if place == 0 else name[len(name) - width :])]
            if found and width <= len(name)
        ]
        return heapq.merge(*lists, key=lambda each: -each[0])

    @functools.cached_property
    def _ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What names may begin with, and end with: of each of `_patterns` the longer of both."""
        by_ends = self._by_ends
        heads, tails = ([end for ends in each.values() for end in ends] for each in by_ends)
        return tuple(heads), tuple(tails)

    @functools.cached_property
    def _by_ends(self) -> tuple[dict[int, dict[str, list[tuple[int, Glob]]]], ...]:
        """The same by how many characters names begin with, and those; and end with, and those.

        Each is in one of the two, by the longer of both.
        """
        by_ends: tuple[dict[int, dict[str, list[tuple[int, Glob]]]], ...] = ({}, {})
        for at, glob in self._patterns:
            head, tail = ("", "") if glob.pattern is None else glob.pattern.ends
            place, end = (0, head) if len(head) > len(tail) else (1, tail)
            globs = by_ends[place].setdefault(len(end), {})
            globs.setdefault(end, []).append((at, glob))
        return by_ends

    def covers(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Return whether an entry, or a folder above it, is ignored."""
        return any(
            self.verdict(parts[:depth], is_folder=is_folder or depth < len(parts))
            for depth in range(1, len(parts) + 1)
        )

    def names_only(self) -> Globs:
        """Return the globs that name no path, and so hold in any folder."""
        return Globs(tuple(glob for glob in self.globs if glob.is_name))

    def without_those_that_match(self, parts: tuple[str, ...]) -> Globs:
        """Return the globs that ignore neither a folder nor any folder above it."""
        folders = [parts[:depth] for depth in range(1, len(parts) + 1)]
        return Globs(
            tuple(
                glob
                for glob in self.globs
                if glob.negated
                or not any(glob.matches(folder, is_folder=True) for folder in folders)
            )
        )


def parse(line: str) -> Glob | None:
    """Read one line of a .gitignore. None: it holds no glob, or one that nothing can match."""
    text = _without_spaces(line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if _PLAIN_NAME.fullmatch(text):
        return Glob(text, folders_only, None)
    from placement_lint.files.wildmatch import NoGlobError, read

    try:
        return Glob(text, folders_only, read(text.removeprefix("!")))
    except NoGlobError:
        return None


def _without_spaces(line: str) -> str:
    """Return a line without the spaces at its end, but for one behind a backslash."""
    text = line.rstrip(" ")
    before = len(text) - len(text.rstrip("\\"))
    return text + " " if before % 2 and len(text) < len(line) else text
