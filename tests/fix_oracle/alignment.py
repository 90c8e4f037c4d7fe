"""Which character of a fixed text is which of the original, by the edits that were made."""

from __future__ import annotations

import bisect
import difflib
import io
import re
import tokenize
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.differential.instrument import Place

    Replacement = tuple[int, int, str]
    """The range of offsets that is replaced, and by what."""

NEW = -1
_WORD = re.compile(r"\w")
_OPENING = frozenset("([{,")
_BLANK = frozenset("()[]{}, \t\r\n\\")
_CLOSING = frozenset(")]}")
_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


class Lines:
    """Turns places, as `ast` counts, into offsets of a text, and back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True) or [""]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Give an offset; the column counts bytes."""
        if line > len(self._lines):
            return len(self.text)
        before = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(before.decode())

    def start(self, line: int) -> int:
        """Give the offset of the beginning of a line."""
        return self._starts[line - 1]

    def position(self, offset: int) -> tuple[int, int]:
        """Give a line and a column in bytes."""
        line = min(bisect.bisect_right(self._starts, offset), len(self._lines))
        before = self._lines[line - 1][: offset - self._starts[line - 1]]
        return line, len(before.encode())

    def range(self, place: Place) -> tuple[int, int]:
        """Give the offsets of a place."""
        return self.offset(*place[:2]), self.offset(*place[2:])

    def place(self, start: int, end: int) -> Place:
        """Give the place of a range of offsets."""
        return (*self.position(start), *self.position(end))


class Alignment:
    """A text, and where in the original each of its characters was."""

    def __init__(self, original: str) -> None:
        """Begin with the original itself."""
        self.original = Lines(original)
        self.lines = self.original
        self._origins = list(range(len(original)))

    @property
    def text(self) -> str:
        """The text as it is by now."""
        return self.lines.text

    def edited(self, replacements: Iterable[Replacement]) -> Alignment:
        """Give what comes of replacing ranges that do not overlap."""
        text, origins = self.text, list(self._origins)
        for start, end, new in sorted(replacements, reverse=True):
            origins[start:end] = [
                NEW if old == NEW else self._origins[start + old]
                for old in _aligned(text[start:end], new)
            ]
            text = text[:start] + new + text[end:]
        made = Alignment(self.original.text)
        made.lines, made._origins = Lines(text), origins
        pairs = list(_pairs(made.lines))
        # What closes a bracket is the old one where what opens it is.
        closed = {self._closing.get(origins[opening], NEW) for opening, _ in pairs}
        for opening, closing in pairs:
            if origins[opening] != NEW:
                origins[closing] = self._closing.get(origins[opening], NEW)
            elif origins[closing] in closed:
                origins[closing] = NEW
        return made

    @cached_property
    def _closing(self) -> dict[int, int]:
        """What closes each bracket of the original, by the offset of what opens it."""
        return dict(_pairs(self.original))

    @cached_property
    def _kept(self) -> dict[int, int]:
        return {old: new for new, old in enumerate(self._origins) if old != NEW}

    def kept(self, place: Place) -> Place | None:
        """Give the range of the original whose characters are in a range; None where none is."""
        old = [
            origin
            for origin in self.origins(place)
            if origin != NEW and not self.original.text[origin].isspace()
        ]
        return self.original.place(min(old), max(old) + 1) if old else None

    def length(self, place: Place) -> int:
        """Give how many characters a range of the text has."""
        start, end = self.lines.range(place)
        return end - start

    def is_cut(self, place: Place) -> bool:
        """Tell whether a word or operator in a range of the original is gone."""
        start, end = self.original.range(place)
        text = self.original.text
        return any(
            offset not in self._kept and text[offset] not in _BLANK for offset in range(start, end)
        )

    def is_added_to(self, place: Place) -> bool:
        """Tell whether a word or operator in a range of the text is new."""
        start, end = self.lines.range(place)
        return any(
            self._origins[offset] == NEW and self.text[offset] not in _BLANK
            for offset in range(start, end)
        )

    def origins(self, place: Place) -> Sequence[int]:
        """Give, for each character of a range of the text, where it was, or NEW."""
        start, end = self.lines.range(place)
        return self._origins[start:end]


def _pairs(lines: Lines) -> Iterator[tuple[int, int]]:
    """Give the offsets of what opens and what closes each bracket of a text."""
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(lines.text).readline):
        if token.type != tokenize.OP or token.string not in set("()[]{}"):
            continue
        line, column = token.start
        at = lines.start(line) + column
        if token.string in "([{":
            opened.append(at)
        elif opened:
            yield opened.pop(), at


def _aligned(old: str, new: str) -> list[int]:
    """Give, for each character of a replacement, which one of the replaced text it repeats."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    starts = [0]
    for token in before:
        starts.append(starts[-1] + len(token))
    found = [[NEW] * len(token) for token in after]
    ends = 0
    for one, other in zip(reversed(before), reversed(after), strict=False):
        if one != other or one not in _CLOSING:
            break
        ends += 1
        found[-ends] = [starts[len(before) - ends]]
    first, second = before[: len(before) - ends], after[: len(after) - ends]
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    reached = (0, 0)
    for block in matcher.get_matching_blocks():
        olds, news = range(block.a, block.a + block.size), range(block.b, block.b + block.size)
        # A line break is all that a layout puts between two tokens.
        begun = all(
            token.isspace()
            for token in (*before[reached[0] : olds.start], *after[reached[1] : news.start])
        )
        # Brackets and commas alone are the same by chance.
        if not begun and not any(_WORD.match(before[number]) for number in olds):
            continue
        reached = (olds.stop, news.stop)
        for one, other in zip(olds, news, strict=True):
            # What opens belongs to what is before it.
            begun = begun or not (before[one] in _OPENING or before[one].isspace())
            if begun:
                found[other] = [*range(starts[one], starts[one + 1])]
    _slide(after, found)
    return [origin for token in found for origin in token]


def _slide(tokens: list[str], found: list[list[int]]) -> None:
    """Let the first of several closing brackets be the old one: what is new came around it."""
    fresh: int | None = None
    for number, token in enumerate(tokens):
        if found[number][0] == NEW:
            fresh = number if fresh is None else fresh
            continue
        if fresh is not None and token in _CLOSING and tokens[fresh] == token:
            found[fresh], found[number] = found[number], found[fresh]
        fresh = None
