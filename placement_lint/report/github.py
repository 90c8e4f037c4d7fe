"""Workflow commands of GitHub Actions, which show each finding beside the code of a pull request.

The format: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands. Files
are named from the top of the repository.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.report.escape import escape, escape_characters
from placement_lint.report.paths import shown
from placement_lint.report.places import region
from placement_lint.report.text import place

if TYPE_CHECKING:
    from placement_lint.findings import Finding
    from placement_lint.report.report import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LINE_END = re.compile("([\r\n])")


def render(report: Report) -> str:
    return "".join(_command(finding, report) + "\n" for finding in report.outcome.findings)


def _command(finding: Finding, report: Report) -> str:
    outcome = report.outcome
    source = None if finding.cell is None else outcome.sources(finding.path)
    where = region(finding.span, finding.cell, source)
    properties = {
        "file": shown(finding.path, report.root),
        "line": str(where.line),
        "endLine": str(where.end_line),
        "title": f"{finding.code} ({finding.name})",
    }
    if where.column is not None and where.line == where.end_line:
        # Of a stretch over several lines GitHub takes no columns.
        properties["col"] = str(where.column)
        properties["endColumn"] = str(where.end_column)
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    # The log shows the message alone: it says the place once more.
    message = f"{place(finding.path, finding.span, finding.cell)}: {finding.code} {finding.message}"
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return escape(text).replace("%", "%25")


def _property(text: str) -> str:
    """Write a path so that GitHub reads it as it is; it knows no way to write control characters
    but line ends.
    """
    pieces = _LINE_END.split(text.replace("%", "%25"))
    ends = {"\r": "%0D", "\n": "%0A"}
    whole = "".join(ends.get(piece) or escape_characters(piece) for piece in pieces)
    return whole.replace(":", "%3A").replace(",", "%2C")
