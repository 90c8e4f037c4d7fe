"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/.

GitLab compares the reports of two branches by the fingerprints, which therefore hold no number of
a line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from placement_lint.findings import Severity
from placement_lint.fingerprint import fingerprints
from placement_lint.report.escape import as_unicode
from placement_lint.report.paths import shown
from placement_lint.report.places import message_with_place, region

if TYPE_CHECKING:
    from placement_lint.findings import Finding
    from placement_lint.report.report import Report

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    outcome = report.outcome
    marks = fingerprints(
        outcome.findings, outcome.sources, named=lambda path: shown(path, report.root)
    )
    issues = [
        _issue(finding, mark, report) for finding, mark in zip(outcome.findings, marks, strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str, report: Report) -> dict[str, Any]:
    source = None if finding.cell is None else report.outcome.sources(finding.path)
    where = region(finding.span, finding.cell, source)
    path = as_unicode(shown(finding.path, report.root))
    location: dict[str, Any] = {"path": path}
    if where.column is None:
        location["lines"] = {"begin": where.line, "end": where.end_line}
    else:
        location["positions"] = {
            "begin": {"line": where.line, "column": where.column},
            "end": {"line": where.end_line, "column": where.end_column},
        }
    return {
        "check_name": finding.code,
        "description": f"{finding.code}: {message_with_place(finding)}",
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": location,
    }
