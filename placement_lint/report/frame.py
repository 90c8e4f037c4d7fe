"""A piece of source with a span underlined."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from placement_lint.report.escape import escape, marks_of_commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Span
    from placement_lint.report.colour import Colours

_TAB = 4
_LEAST = 40
"""Columns of source that are shown however narrow the terminal is."""
_LEAD = 30
_MOST_LINES = 6


def frame(
    source: Source,
    span: Span,
    colours: Colours,
    *,
    mark: str = "^",
    cell: int | None = None,
    gutter: int | None = None,
) -> list[str]:
    """Return the lines of a span, numbered, each with its part of the span underlined.

    `cell`: the span counts from the start of this cell of a notebook. `gutter`: how many columns
    the line numbers take. Empty where the source has no such line (any more).
    """
    first = first_line(source, cell)
    numbers = [
        number
        for number in _shown(span)
        if number is None or 1 <= first + number - 1 <= len(source.line_starts)
    ]
    if not any(numbers):
        return []
    width = gutter or gutter_width(span)
    blank = " " * width + " " + colours.frame("|")
    widest = max(colours.width - width - 3, _LEAST)
    lines = [blank]
    for number in numbers:
        if number is None:
            lines.append(colours.frame("..."))
            continue
        text = source.shown_line(first + number - 1)
        start = span.column - 1 if number == span.line else len(text) - len(text.lstrip())
        end = span.end_column - 1 if number == span.end_line else len(text)
        shown, marked_from, marked = _underlined(text, start, end, widest)
        lines.append(f"{colours.frame(f'{number:>{width}} |')} {shown}".rstrip())
        lines.append(f"{blank} {' ' * marked_from}{colours.bad(mark * marked)}")
    lines.append(blank)
    return lines


def gutter_width(*spans: Span) -> int:
    """Return the columns that the line numbers of some spans take."""
    return max(len(str(max(span.line, span.end_line))) for span in spans)


def first_line(source: Source, cell: int | None) -> int:
    """Return the line of the text where a notebook's cell, or the text itself, begins."""
    if cell is None:
        return 1
    return next((part.first_line for part in source.cells if part.number == cell), 1)


def printable(text: str) -> str:
    """Return a line of source as it is shown: no tabs, nothing that a terminal would obey."""
    return "".join(_cells(text))


def crop(text: str, widest: int) -> str:
    """Cut a line that is too long to be read."""
    widest = max(widest, _LEAST)
    return text if len(text) <= widest else text[: widest - 3] + "..."


def _shown(span: Span) -> Sequence[int | None]:
    last = max(span.end_line, span.line)
    if last > span.line and span.end_column == 1:
        last -= 1
    numbers: list[int | None] = list(range(span.line, last + 1))
    if len(numbers) > _MOST_LINES:
        return [*numbers[: _MOST_LINES - 2], None, numbers[-1]]
    return numbers


def _underlined(text: str, start: int, end: int, widest: int) -> tuple[str, int, int]:
    """Return a line as it is shown, and where its underlining begins and how long it is."""
    start = min(max(start, 0), len(text))
    end = min(max(end, start), len(text))
    cut = max(start - min(_LEAD, widest // 3), 0) if len(text) > widest else 0
    cells = _cells(text)
    before, inside, after = map("".join, (cells[cut:start], cells[start:end], cells[end:]))
    if cut:
        before = "..." + before
    if len(text) > widest:
        inside = crop(inside, widest - len(before))
        left = widest - len(before) - len(inside)
        after = after if len(after) <= left else after[: left - 3] + "..." if left > 3 else ""
    return before + inside + after, _width(before), max(_width(inside), 1)


def _cells(text: str) -> list[str]:
    marks = marks_of_commands(text)
    cells = [" " * _TAB if char == "\t" else escape(char) for char in text]
    for place in marks:
        cells[place] = f"\\x{ord(text[place]):02x}"
    return cells


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
