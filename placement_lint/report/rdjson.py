"""reviewdog's diagnostic format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf.

Columns count the bytes of UTF-8. reviewdog turns each suggestion into a change that can be taken
with a click, so the edits of one fix are put into one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from placement_lint.findings import Applicability, Severity
from placement_lint.report.escape import as_unicode, escape
from placement_lint.report.places import message_with_place, region
from placement_lint.report.site import rule_url
from placement_lint.report.text import place

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding, Fix, Span
    from placement_lint.lint.results import Outcome

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}
_HOW = {Applicability.SAFE: "", Applicability.UNSAFE: " (unsafe: see that it is what is meant)"}


def render(outcome: Outcome) -> str:
    result = {
        "source": {"name": "placement-lint"},
        "diagnostics": [_diagnostic(finding, outcome.sources) for finding in outcome.findings],
    }
    return json.dumps(result, indent=2) + "\n"


def _diagnostic(finding: Finding, sources: Callable[[str], Source | None]) -> dict[str, Any]:
    source = sources(finding.path)
    url = rule_url(finding.code)
    suggestion = None if finding.fix is None else _suggestion(finding.fix, finding, source)
    diagnostic: dict[str, Any] = {
        "message": message_with_place(finding),
        "location": _location(finding.path, finding.span, finding.cell, source),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, **({} if url is None else {"url": url})},
    }
    # Not every reviewdog has a field for related places, and one without fails on it.
    for related in finding.related:
        note = f"{place(related.path, related.span, related.cell)}: {escape(related.message)}"
        diagnostic["message"] += f"\nnote: {note}"
    if suggestion is not None and finding.fix is not None:
        help_text = f"{escape(finding.fix.message)}{_HOW[finding.fix.applicability]}"
        diagnostic["message"] += f"\nhelp: {help_text}"
        diagnostic["suggestions"] = [suggestion]
    elif finding.advice:
        diagnostic["message"] += f"\nhelp: {escape(finding.advice)}"
    return diagnostic


def _location(path: str, span: Span, cell: int | None, source: Source | None) -> dict[str, Any]:
    if cell is None:
        return {"path": as_unicode(path), "range": _range(span, source)}
    where = region(span, cell, source)
    lines = {"start": {"line": where.line}, "end": {"line": where.end_line}}
    return {"path": as_unicode(path), "range": lines}


def _range(span: Span, source: Source | None) -> dict[str, Any]:
    return {
        "start": {"line": span.line, "column": _bytes_before(source, span.line, span.column)},
        "end": {
            "line": span.end_line,
            "column": _bytes_before(source, span.end_line, span.end_column),
        },
    }


def _bytes_before(source: Source | None, line: int, column: int) -> int:
    """Turn a column of characters into one of bytes."""
    if source is None or line > len(source.line_starts):
        return column
    before = source.line_text(line)[: column - 1]
    # A column behind the end of the line is behind it in bytes as well.
    return column + len(before.encode("utf-8", "surrogatepass")) - len(before)


def _suggestion(fix: Fix, finding: Finding, source: Source | None) -> dict[str, Any] | None:
    """Return a fix as one change of the file; None where it is not one, or none to be applied."""
    if fix.applicability is Applicability.DISPLAY or not fix.edits or source is None:
        return None
    if any(edit.path != finding.path or edit.cell is not None for edit in fix.edits):
        return None
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    first, last = edits[0].span, max((edit.span.end_line, edit.span.end_column) for edit in edits)
    if last[0] > len(source.line_starts):
        return None  # the file has become shorter since
    text, at = "", source.offset(first.line, first.column)
    for edit in edits:
        start = source.offset(edit.span.line, edit.span.column)
        if start < at:
            return None
        text += source.text[at:start] + edit.text
        at = source.offset(edit.span.end_line, edit.span.end_column)
    whole = type(first)(first.line, first.column, *last)
    return {"range": _range(whole, source), "text": as_unicode(text)}
