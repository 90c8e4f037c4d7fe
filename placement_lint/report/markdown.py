"""Markdown, for the summary of a job on GitHub Actions or a comment on a pull request.

Text from the outside is in character references, which Markdown takes for nothing but characters:
https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.report.escape import escape, shortened
from placement_lint.report.paths import shown
from placement_lint.report.site import rule_url
from placement_lint.report.summary import summary

if TYPE_CHECKING:
    from placement_lint.findings import Finding
    from placement_lint.report.report import Report

_MOST_ROWS = 500
"""GitHub shows no summary of more than a megabyte."""
_SPECIAL = re.compile(r"[^A-Za-z0-9 ,;()/=+.-]|(?<=www)\.")
_CODE = re.compile("&#96;(.+?)&#96;")


def render(report: Report) -> str:
    outcome = report.outcome
    lines = ["### placement-lint", "", summary(outcome)]
    if outcome.findings:
        lines += ["", "| severity | rule | place | finding |", "|---|---|---|---|"]
        lines += [_row(finding, report.root) for finding in outcome.findings[:_MOST_ROWS]]
    omitted = report.omitted + max(len(outcome.findings) - _MOST_ROWS, 0)
    if omitted:
        lines += [
            "",
            f"{omitted} more {'finding is' if omitted == 1 else 'findings are'} not shown.",
        ]
    if report.failed:
        lines += ["", "Not done:", ""]
        lines += [
            f"- {_text(': '.join(filter(None, (each.path, each.reason))))}"
            for each in report.failed
        ]
    return "\n".join(lines) + "\n"


def _row(finding: Finding, root: str) -> str:
    url = rule_url(finding.code)
    rule = finding.code if url is None else f"[{finding.code}]({url})"
    cell = "" if finding.cell is None else f" cell {finding.cell}"
    place = f"{shown(finding.path, root)}{cell}:{finding.span.line}:{finding.span.column}"
    message = _CODE.sub(r"<code>\1</code>", _text(finding.message))
    return f"| {finding.severity.value} | {rule} | <code>{_text(place)}</code> | {message} |"


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", escape(shortened(text)))
