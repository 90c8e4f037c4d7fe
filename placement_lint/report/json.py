"""The JSON format: stable, versioned, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from placement_lint.report.escape import as_unicode, escape
from placement_lint.report.site import rule_url
from placement_lint.version import __version__

if TYPE_CHECKING:
    from placement_lint.findings import Edit, Finding, Fix, Related, Span
    from placement_lint.lint.results import Outcome

VERSION = 1
"""Goes up when a field changes its meaning or goes; fields may be added without."""


def render(outcome: Outcome, omitted: int = 0) -> str:
    """Return a whole run; `omitted` is how many more findings there are than are to be written."""
    report = {
        "version": VERSION,
        "tool": {"name": "placement-lint", "version": __version__},
        "findings": [finding_to_dict(finding) for finding in outcome.findings],
        "skipped": [
            {"path": as_unicode(skipped.path), "reason": escape(skipped.reason)}
            for skipped in outcome.skipped
        ],
        "summary": {
            "files": outcome.files,
            "parsed": outcome.parsed,
            "cached": outcome.cached,
            "seconds": round(outcome.seconds, 3),
            "omitted": omitted,
        },
    }
    return json.dumps(report, indent=2) + "\n"


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """Return all of a finding that is for other programs.

    A path is what it is, but for bytes that are no text; messages are made safe to show.
    """
    return {
        "code": finding.code,
        "name": finding.name,
        "message": escape(finding.message),
        "path": as_unicode(finding.path),
        **_span(finding.span),
        "cell": finding.cell,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "related": [_related(related) for related in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "help": escape(finding.advice) or None,
        "url": rule_url(finding.code),
    }


def _related(related: Related) -> dict[str, Any]:
    place: dict[str, Any] = {
        "message": escape(related.message),
        "path": as_unicode(related.path),
        "line": related.span.line,
        "column": related.span.column,
    }
    if related.cell is not None:
        place["cell"] = related.cell
    if related.is_step:
        place["step"] = True
    return place


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": escape(fix.message),
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    place: dict[str, Any] = {"path": as_unicode(edit.path), **_span(edit.span)}
    if edit.cell is not None:
        place["cell"] = edit.cell
    return {**place, "text": as_unicode(edit.text)}


def _span(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
