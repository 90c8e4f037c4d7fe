"""Places in a text, as the protocol counts them and as findings do.

The protocol counts lines from 0, and columns in units of the encoding that was agreed on: UTF-16
where nothing was. Findings count both from 1, and columns in code points. Both know the line ends
of Python: a form feed or U+2028 ends no line.
"""

from __future__ import annotations

import bisect
import re
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol.types import Position, PositionEncodingKind, Range

if TYPE_CHECKING:
    from placement_lint.findings import Span

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = "\ufeff"


class Places:
    """The lines of one text, and how columns in them are counted."""

    def __init__(self, text: str, encoding: str = PositionEncodingKind.Utf16) -> None:
        """Take the text as the editor has it."""
        self.text = text
        self._encoding = encoding

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._starts)

    @cached_property
    def _marks(self) -> int:
        """How many columns of the first line no finding counts: a byte order mark is no text."""
        return 1 if self.text.startswith(_MARK) else 0

    def _line(self, number: int) -> str:
        """Return a line, from 0, without its end."""
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def _units(self, text: str) -> int:
        if self._encoding == PositionEncodingKind.Utf32 or text.isascii():
            return len(text)
        if self._encoding == PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)

    def _points(self, line: str, units: int) -> int:
        """Return how many code points some units are; a place in the middle of one is before it."""
        if self._encoding == PositionEncodingKind.Utf32 or line.isascii():
            return min(units, len(line))
        count = 0
        for character in line:
            units -= self._units(character)
            if units < 0:
                break
            count += 1
        return count

    # -- from the editor ------------------------------------------------------------------------

    def offset(self, position: Position) -> int:
        """Return the offset of a place; what is behind the end of a line, or the text, is there."""
        if position.line >= len(self._starts):
            return len(self.text)
        points = self._points(self._line(position.line), position.character)
        return self._starts[position.line] + points

    def line_and_column(self, position: Position) -> tuple[int, int]:
        """Return a place as findings count it."""
        offset = self.offset(position)
        line = min(position.line, len(self._starts) - 1)
        marks = self._marks if line == 0 else 0
        return line + 1, max(offset - self._starts[line] - marks, 0) + 1

    # -- to the editor --------------------------------------------------------------------------

    def position(self, line: int, column: int) -> Position:
        """Return the protocol's place of a line and column of findings."""
        if line > len(self._starts):
            last = len(self._starts) - 1
            return Position(last, self._units(self._line(last)))
        text = self._line(line - 1)
        marks = self._marks if line == 1 else 0
        return Position(line - 1, self._units(text[: column - 1 + marks]))

    def range(self, span: Span) -> Range:
        """Return the protocol's stretch of a span."""
        return Range(
            self.position(span.line, span.column), self.position(span.end_line, span.end_column)
        )

    def stretch(self, start: int, end: int) -> Range:
        """Return the protocol's stretch between two offsets."""
        return Range(self._position_at(start), self._position_at(end))

    def _position_at(self, offset: int) -> Position:
        line = bisect.bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self.text[self._starts[line] : offset]))
