"""The JSON format: stable, versioned, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from placement_lint import __version__
from placement_lint.report.escape import escape

if TYPE_CHECKING:
    from placement_lint.findings import Edit, Finding, Fix, Related, Span
    from placement_lint.lint.outcome import Outcome

VERSION = 1
"""Goes up when a field changes its meaning or goes; fields may be added without."""

RULE_URL = "https://pypi.org/project/placement-lint/#"
"""With a rule's name behind it: its place in the table of rules."""


def render(outcome: Outcome) -> str:
    """Give a whole run."""
    report = {
        "version": VERSION,
        "tool": {"name": "placement-lint", "version": __version__},
        "findings": [_finding(finding) for finding in outcome.findings],
        "skipped": [
            {"path": escape(skipped.path), "reason": skipped.reason} for skipped in outcome.skipped
        ],
        "summary": {
            "files": outcome.files,
            "parsed": outcome.parsed,
            "cached": outcome.cached,
            "seconds": round(outcome.seconds, 3),
        },
    }
    return json.dumps(report, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": escape(finding.message),
        "path": escape(finding.path),
        **_span(finding.span),
        "cell": finding.cell,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "related": [_related(related) for related in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "url": RULE_URL + finding.name,
    }


def _related(related: Related) -> dict[str, Any]:
    return {
        "message": escape(related.message),
        "path": escape(related.path),
        "line": related.span.line,
        "column": related.span.column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": escape(fix.message),
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    place: dict[str, Any] = {"path": escape(edit.path), **_span(edit.span)}
    if edit.cell is not None:
        place["cell"] = edit.cell
    return {**place, "text": edit.text}


def _span(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
