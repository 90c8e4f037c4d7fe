"""Where a finding is in the file itself: for services that know lines of files, not cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from placement_lint.report.escape import escape

if TYPE_CHECKING:
    from placement_lint.files.source import Source
    from placement_lint.findings import Finding, Span


class Region(NamedTuple):
    """A stretch of a file; of a notebook only the line, in the JSON, is known."""

    line: int
    column: int | None
    end_line: int
    end_column: int | None


def region(span: Span, cell: int | None, source: Source | None) -> Region:
    """Return the stretch of the file that a span, in a cell if it is one of a notebook's, stands
    for.

    A notebook has each line of a cell in a line of its own, as a rule. Where that is not so,
    it is the first line of the file.
    """
    if cell is None:
        return Region(span.line, span.column, span.end_line, span.end_column)
    lines = _lines_in_file(source).get(cell, [])
    if not 1 <= span.line <= len(lines):
        return Region(1, None, 1, None)
    last = lines[min(max(span.end_line, span.line), len(lines)) - 1]
    return Region(lines[span.line - 1], None, last, None)


def message_with_place(finding: Finding) -> str:
    """Return the message, with the place in the notebook where there is one."""
    message = escape(finding.message)
    if finding.cell is None:
        return message
    return f"cell {finding.cell}, line {finding.span.line}: {message}"


def _lines_in_file(source: Source | None) -> dict[int, list[int]]:
    if source is None or source.document is None:
        return {}
    from placement_lint.files.notebook_json import NotRewritableError, lines_in_file

    try:
        return lines_in_file(source.document)
    except NotRewritableError:
        return {}  # the cells are known, and not where they stand
