"""What a fix would do to a file, as the lines that go and the lines that come."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.report.frame import crop, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit
    from placement_lint.report.colour import Colours

_MOST_LINES = 16
_MOST_COMPARED = 400


def change(source: Source, edits: Sequence[Edit], colours: Colours) -> list[str]:
    """Return the changed lines of one file, numbered, `-` before what goes and `+` before what
    comes.

    Of a notebook, those of one cell. Empty where the edits no longer fit the source, or span too
    much of it to be shown.
    """
    cell = edits[0].cell
    above = source.lines_before(cell)
    places = []
    for edit in edits:
        span = edit.span
        if not 1 <= span.line <= span.end_line <= len(source.line_starts) - above:
            return []
        start = source.offset(span.line, span.column, cell)
        places.append((start, source.offset(span.end_line, span.end_column, cell), edit.text))
    places.sort()
    first = source.position(places[0][0])[0]
    last = source.position(places[-1][1])[0]
    begin = source.line_starts[first - 1]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    new, at = "", begin
    for start, stop, text in places:
        if start < at:
            return []
        new += source.content[at:start] + text
        at = stop
    new += source.content[at:end]
    before, after = _split(source.content[begin:end]), _split(new)
    if len(before) + len(after) > _MOST_COMPARED:
        return []
    return _lines(before, after, first - above, colours)


def _lines(old: list[str], new: list[str], first: int, colours: Colours) -> list[str]:
    width = len(str(first + max(len(old), len(new))))
    widest = colours.width - width - 5
    shown = []
    # At most a few dozen lines, so that the cost of the matcher does not matter.
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for number, text in enumerate(old[a:b], first + a):
            line = colours.bad(f"- {_show(text, widest)}")
            shown.append(f"{colours.frame(f'{number:>{width}}')} {line}")
        for number, text in enumerate(new[c:d], first + c):
            line = colours.good(f"+ {_show(text, widest)}")
            shown.append(f"{colours.frame(f'{number:>{width}}')} {line}")
    if len(shown) > _MOST_LINES:
        left = len(shown) - _MOST_LINES
        shown = [*shown[:_MOST_LINES], f"{' ' * width} ... {left} more changed lines"]
    return [f"  {line}".rstrip() for line in shown]


def _split(text: str) -> list[str]:
    lines = with_line_feeds(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _show(text: str, widest: int) -> str:
    return crop(printable(text), widest)
