"""Globs in the syntax of .gitignore: pathspec reads them, and they are asked as git asks them.

A glob is asked about one entry of a folder: whoever walks a tree does not enter a folder that is
ignored, and so nothing below it need be asked about. pathspec's own `GitIgnoreSpec.check_file` is
asked about whole paths of files, and so cannot tell what `*`, `!*/`, `!*.py` make of a folder, nor
that `!x.py` does not bring back what lies in an ignored folder.
"""

from __future__ import annotations

import functools
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pathspec.pattern import RegexPattern

_PLAIN_NAME = re.compile(r"[^\s!#/*?\[\\]([^/*?\[\\]*[^\s/*?\[\\])?")


@dataclass(frozen=True)
class Glob:
    """One line of a .gitignore."""

    text: str
    """Without the slash at the end."""
    folders_only: bool
    pattern: RegexPattern | None = field(compare=False)
    """None: the text is a plain name."""

    @property
    def negated(self) -> bool:
        """Whether it brings back what others ignore."""
        return self.pattern is not None and not self.pattern.include

    @property
    def is_name(self) -> bool:
        """Whether it names no path, and so holds at any depth."""
        return "/" not in self.text

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether it names this entry itself; `path` is relative to the globs' folder."""
        if self.folders_only and not is_folder:
            return False
        if self.pattern is None:
            return path.rpartition("/")[2] == self.text
        found = self.pattern.match_file(path)
        # The only group in a pattern is the slash behind a folder: there, it names one above.
        return found is not None and found.match.lastindex is None


@dataclass(frozen=True)
class Globs:
    """The globs of one place, in order: the last one that matches decides."""

    globs: tuple[Glob, ...]

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Globs:
        """Read globs, one a line; blank lines, comments and what is no glob go."""
        return cls(tuple(glob for glob in map(parse, lines) if glob is not None))

    def verdict(self, parts: tuple[str, ...], *, is_folder: bool) -> bool | None:
        """Tell whether an entry is ignored. None: no glob speaks of it."""
        named = self._names.get(parts[-1], ())
        last = next((at for at, only in named if is_folder or not only), -1)
        path = "/".join(parts) if self._patterns else ""
        for at, glob in self._patterns:
            if at < last:
                break
            if glob.matches(path, is_folder=is_folder):
                return not glob.negated
        return True if last >= 0 else None

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

    def covers(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Tell whether an entry, or a folder above it, is ignored."""
        return any(
            self.verdict(parts[:depth], is_folder=is_folder or depth < len(parts))
            for depth in range(1, len(parts) + 1)
        )

    def names_only(self) -> Globs:
        """Give the globs that name no path, and so hold in any folder."""
        return Globs(tuple(glob for glob in self.globs if glob.is_name))

    def without_those_that_match(self, parts: tuple[str, ...]) -> Globs:
        """Give the globs that ignore neither a folder nor any folder above it."""
        folders = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        return Globs(
            tuple(
                glob
                for glob in self.globs
                if glob.negated or not any(glob.matches(f, is_folder=True) for f in folders)
            )
        )


def parse(line: str) -> Glob | None:
    """Read one line of a .gitignore. None: it holds no glob."""
    # A backslash keeps the space at the end.
    text = line if line.endswith("\\ ") else line.rstrip()
    if not text or text.startswith("#"):
        return None
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if _PLAIN_NAME.fullmatch(text):
        return Glob(text, folders_only, None)
    pattern = _pattern(text)
    return None if pattern is None else Glob(text, folders_only, pattern)


def _pattern(text: str) -> RegexPattern | None:
    """Have pathspec read a glob. None: there is none, or one that git takes for none."""
    from pathspec import GitIgnoreSpec

    try:
        with warnings.catch_warnings():
            # `[[:alpha:]]`, which pathspec takes for a set of characters.
            warnings.simplefilter("ignore", FutureWarning)
            patterns = GitIgnoreSpec.from_lines([text]).patterns
    except (ValueError, re.error):
        return None
    return next((pattern for pattern in patterns if pattern.include is not None), None)
