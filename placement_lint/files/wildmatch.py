"""Globs read and matched as git does it, in time that no glob can make long.

A regular expression takes time that grows with the n-th power of a name's length for n stars, and
no engine of Python's can be told not to. But a star can be matched without ever coming back to an
earlier one: what stands between two stars is looked for from left to right, and where it is first
found is as good a place as any. The same holds for `**` and the folders of a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_CLASS_NAME = re.compile(r":(?P<name>[^\]:]*):\]")
_STAR, _ANY, _SLASH = object(), object(), object()


class NoGlobError(ValueError):
    """A text that is a glob which nothing can match."""


@dataclass(frozen=True)
class Piece:
    """What stands between two stars, of a fixed number of characters."""

    width: int
    literal: str | None
    """What it is, where it has neither `?` nor a set of characters."""
    pattern: re.Pattern[str] | None

    def is_at(self, name: str, place: int) -> bool:
        """Return whether it stands at a place of a name."""
        if self.pattern is None:
            return name.startswith(self.literal or "", place)
        return self.pattern.match(name, place) is not None

    def find(self, name: str, place: int) -> int:
        """Return where it stands first from a place on; -1: nowhere."""
        if self.pattern is None:
            return name.find(self.literal or "", place)
        found = self.pattern.search(name, place)
        return -1 if found is None else found.start()


@dataclass(frozen=True)
class Segment:
    """A glob for one name: pieces between stars."""

    pieces: tuple[Piece, ...]
    least: int
    """Characters that a name has to have."""

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether the last name of a path is one of those."""
        return self.matches_name(parts[-1])

    def matches_name(self, name: str) -> bool:
        """Return whether a name is one of those."""
        first, *between = self.pieces
        if not between:
            return len(name) == first.width and first.is_at(name, 0)
        if len(name) < self.least or not first.is_at(name, 0):
            return False
        last = between.pop()
        end = len(name) - last.width
        if not last.is_at(name, end):
            return False
        place = first.width
        for piece in between:
            place = piece.find(name, place)
            if place < 0:
                return False
            place += piece.width
        return place <= end

    @property
    def ends(self) -> tuple[str, str]:
        """What every such name begins with, and what it ends with."""
        return self.pieces[0].literal or "", self.pieces[-1].literal or ""


@dataclass(frozen=True)
class Path:
    """A glob for a path: one for each of its names; None stands for any number of them."""

    segments: tuple[Segment | None, ...]
    least: int
    """Names that a path has to have."""

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether the path of these names is one of those."""
        if len(parts) < self.least:
            return False
        segments = self.segments
        at = place = 0
        # Where the last `**` stands, and the first name that it does not stand for.
        star, resume = -1, 0
        while place < len(parts):
            segment = segments[at] if at < len(segments) else _ANY
            if segment is None:
                star, resume = at, place
                at += 1
            elif isinstance(segment, Segment) and segment.matches_name(parts[place]):
                at += 1
                place += 1
            elif star >= 0:
                resume += 1
                at, place = star + 1, resume
            else:
                return False
        return all(segment is None for segment in segments[at:])

    @property
    def ends(self) -> tuple[str, str]:
        """What the last name of every such path begins with, and what it ends with."""
        last = self.segments[-1]
        return ("", "") if last is None else last.ends


def read(text: str) -> Path | Segment:
    """Read a glob: for a name where there is no slash in it, else for a whole path.

    Without a `!` before it, or a slash behind it. Raises NoGlobError.
    """
    if "/" not in text:
        return _segment([*_tokens(text)])
    segments: list[Segment | None] = []
    for tokens in _split([*_tokens(text.removeprefix("/"))]):
        if len(tokens) > 1 and all(token is _STAR for token in tokens):
            if not segments or segments[-1] is not None:
                segments.append(None)
        else:
            segments.append(_segment(tokens))
    if segments[-1] is None:
        # What is in a folder, and not the folder itself.
        segments.append(_segment([_STAR]))
    return Path(tuple(segments), sum(segment is not None for segment in segments))


def _split(tokens: list[object]) -> Iterator[list[object]]:
    part: list[object] = []
    for token in tokens:
        if token is _SLASH:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _segment(tokens: list[object]) -> Segment:
    if not tokens:
        raise NoGlobError
    pieces: list[Piece] = []
    piece: list[object] = []
    was_star = False
    for token in tokens:
        if token is _STAR:
            if not was_star:
                pieces.append(_piece(piece))
                piece = []
        else:
            piece.append(token)
        was_star = token is _STAR
    pieces.append(_piece(piece))
    # Between the first and the last one, all are there.
    kept = [*pieces[:1], *(each for each in pieces[1:-1] if each.width), *pieces[1:][-1:]]
    return Segment(tuple(kept), sum(each.width for each in kept))


def _piece(tokens: list[object]) -> Piece:
    if all(isinstance(token, str) for token in tokens):
        return Piece(len(tokens), "".join(map(str, tokens)), None)
    source = "".join(
        re.escape(token) if isinstance(token, str) else "." if token is _ANY else f"{token}"
        for token in tokens
    )
    return Piece(len(tokens), None, re.compile(source, re.DOTALL))


class _Set:
    """A set of characters, as an expression for one."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __str__(self) -> str:
        return self._source


def _tokens(text: str) -> Iterator[object]:
    """Return what a glob is made of: characters, sets of them, stars, and slashes."""
    place = 0
    while place < len(text):
        char = text[place]
        place += 1
        if char == "\\":
            if place == len(text):
                raise NoGlobError
            char = text[place]
            place += 1
            yield _SLASH if char == "/" else char
        elif char == "[":
            found, place = _set(text, place)
            yield found
        else:
            yield {"*": _STAR, "?": _ANY, "/": _SLASH}.get(char, char)


def _set(text: str, place: int) -> tuple[_Set, int]:
    """Read a set of characters behind its bracket; give it, and where it ends."""
    is_negated = text[place : place + 1] in {"!", "^"}
    place += is_negated
    items: list[str] = []
    low = ""
    start = place
    while place == start or text[place : place + 1] != "]":
        char, is_escaped, place = _in_set(text, place)
        following = text[place : place + 1]
        if char == "-" and not is_escaped and low and following not in {"", "]"}:
            high, _, place = _in_set(text, place)
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
            low = ""
        elif char == "[" and not is_escaped and following == ":":
            name = _CLASS_NAME.match(text, place)
            if name is None:
                items.append(re.escape(char))
                low = char
            elif name["name"] in _CLASSES:
                items.append(_CLASSES[name["name"]])
                place, low = name.end(), ""
            else:
                raise NoGlobError
        else:
            items.append(re.escape(char))
            low = char
    if not items:
        if not is_negated:
            raise NoGlobError
        return _Set("."), place + 1
    return _Set(f"[{'^' if is_negated else ''}{''.join(items)}]"), place + 1


def _in_set(text: str, place: int) -> tuple[str, bool, int]:
    """Read a character of a set: which, whether behind a backslash, and the place behind it.

    Raises NoGlobError where the set does not end.
    """
    is_escaped = text[place : place + 1] == "\\"
    place += is_escaped
    if place >= len(text):
        raise NoGlobError
    return text[place], is_escaped, place + 1
