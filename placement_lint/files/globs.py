"""Globs in the syntax of .gitignore, matched exactly as git matches them.

A glob is asked about one entry of a folder, as git asks it: whoever walks a tree does not enter
a folder that is ignored, and so nothing below it need be asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_SPECIAL = frozenset("*?[\\")


@dataclass(frozen=True)
class Glob:
    """One line of a .gitignore. `segments` None: a single name, at any depth."""

    negated: bool
    folders_only: bool
    name: str
    name_pattern: re.Pattern[str] | None
    segments: tuple[re.Pattern[str] | None, ...] | None
    """The parts between slashes; None stands for `**`."""

    def matches(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Tell whether it names this entry; `parts` are relative to the globs' folder."""
        if self.folders_only and not is_folder:
            return False
        if self.segments is None:
            name = parts[-1]
            if self.name_pattern is None:
                return name == self.name
            return self.name_pattern.fullmatch(name) is not None
        return _match_segments(self.segments, parts)


@dataclass(frozen=True)
class Globs:
    """The globs of one place, in order: the last one that matches decides."""

    globs: tuple[Glob, ...]
    _names: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Note whether they are nothing but names."""
        if not any(
            glob.negated or glob.folders_only or glob.segments is not None or glob.name_pattern
            for glob in self.globs
        ):
            object.__setattr__(self, "_names", frozenset(glob.name for glob in self.globs))

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Globs:
        """Read globs, one a line; blank lines, comments and what git takes for no glob go."""
        return cls(tuple(glob for glob in map(parse, lines) if glob is not None))

    def verdict(self, parts: tuple[str, ...], *, is_folder: bool) -> bool | None:
        """Tell whether an entry is ignored. None: no glob speaks of it."""
        if self._names is not None:
            return True if parts[-1] in self._names else None
        for glob in reversed(self.globs):
            if glob.matches(parts, is_folder=is_folder):
                return not glob.negated
        return None

    def covers(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Tell whether an entry, or a folder above it, is ignored."""
        return any(
            self.verdict(parts[:depth], is_folder=is_folder or depth < len(parts))
            for depth in range(1, len(parts) + 1)
        )

    def names_only(self) -> Globs:
        """Give the globs that name no path, and so hold in any folder."""
        return Globs(tuple(glob for glob in self.globs if glob.segments is None))

    def without_those_that_match(self, parts: tuple[str, ...]) -> Globs:
        """Give the globs that ignore neither a folder nor any folder above it."""
        prefixes = [parts[:depth] for depth in range(1, len(parts) + 1)]
        return Globs(
            tuple(
                glob
                for glob in self.globs
                if glob.negated or not any(glob.matches(p, is_folder=True) for p in prefixes)
            )
        )


def parse(line: str) -> Glob | None:
    """Read one line of a .gitignore. None: it holds no glob."""
    text = line.rstrip("\r\n")
    if text.startswith("#"):
        return None
    stripped = text.rstrip(" ")
    # A backslash keeps the first of the spaces at the end.
    if stripped != text and (len(stripped) - len(stripped.rstrip("\\"))) % 2:
        stripped += " "
    negated = stripped.startswith("!")
    body = stripped[1:] if negated else stripped
    folders_only = body.endswith("/")
    body = body[:-1] if folders_only else body
    if not body:
        return None
    if "/" not in body:
        if _SPECIAL.isdisjoint(body):
            return Glob(negated, folders_only, body, None, None)
        pattern = _segment(body)
        return None if pattern is None else Glob(negated, folders_only, body, pattern, None)
    segments: list[re.Pattern[str] | None] = []
    for part in body.removeprefix("/").split("/"):
        if part.startswith("**") and not part.strip("*"):
            segments.append(None)
            continue
        pattern = _segment(part)
        if pattern is None:
            return None
        segments.append(pattern)
    return Glob(negated, folders_only, body, None, tuple(segments))


def _match_segments(segments: tuple[re.Pattern[str] | None, ...], parts: tuple[str, ...]) -> bool:
    """Match like a glob over whole names: the reachable places after each segment."""
    last = len(segments) - 1
    reachable = {0}
    for index, segment in enumerate(segments):
        if segment is None:
            # At the end it stands for one name at least, elsewhere for none or more.
            first = min(reachable) + (1 if index == last else 0)
            reachable = set(range(first, len(parts) + 1))
        else:
            reachable = {
                at + 1 for at in reachable if at < len(parts) and segment.fullmatch(parts[at])
            }
        if not reachable:
            return False
    return len(parts) in reachable


def _segment(text: str) -> re.Pattern[str] | None:
    """Translate the glob of one name. None: git takes it for one that matches nothing."""
    pieces = [""]
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            found = _bracket(text, at)
            if found is None:
                return None
            pieces[-1] += found[0]
            at = found[1]
        elif char == "\\":
            if at == len(text):
                return None
            pieces[-1] += re.escape(text[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    # What lies between two stars is taken where it comes first, and never tried elsewhere: that
    # is enough for a match, and a hostile pattern then costs no more than its length.
    middle = "".join(
        f"(?=(?P<s{number}>.*?{piece}))(?P=s{number})"
        for number, piece in enumerate(pieces[1:-1])
        if piece
    )
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)


def _bracket(text: str, at: int) -> tuple[str, int] | None:
    """Translate a `[...]` from behind its bracket; give it and the place behind it."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    content = ""
    start = at
    while at < len(text) and (text[at] != "]" or at == start):
        if text.startswith("[:", at):
            end = text.find(":]", at + 2)
            if end != -1:
                name = text[at + 2 : end]
                if name not in _CLASSES:
                    return None
                content += _CLASSES[name]
                at = end + 2
                continue
        low, at = _bracket_char(text, at)
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in {"]", ""}:
            high, at = _bracket_char(text, at + 1)
            if low <= high:
                content += f"{re.escape(low)}-{re.escape(high)}"
        else:
            content += re.escape(low)
    if at >= len(text):
        return None
    if not content:
        return ("." if negated else r"(?!)"), at + 1
    return f"[{'^' if negated else ''}{content}]", at + 1


def _bracket_char(text: str, at: int) -> tuple[str, int]:
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1
