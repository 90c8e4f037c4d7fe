"""JUnit's XML, as Jenkins and others read it: a suite a file, a failed case a finding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.findings import INTERNAL_ERROR, INVALID_SYNTAX, IO_ERROR
from placement_lint.lint.results import SkipKind
from placement_lint.report.escape import escape
from placement_lint.report.text import place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome, Skipped

_NOT_ANALYSED = frozenset({IO_ERROR, INVALID_SYNTAX, INTERNAL_ERROR})
"""Findings of files that nothing is known about: errors, where all others are failures."""
_MARKS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_SPECIAL = re.compile('[&<>"]|[^ -~]')


def render(outcome: Outcome, failed: Collection[Skipped] = ()) -> str:
    """Return a whole run. A clean one has one case, which passes: some readers want one.

    `failed`: those of the skipped ones that ought not to have been.
    """
    findings: dict[str, list[Finding]] = {}
    skipped: dict[str, list[Skipped]] = {}
    for finding in outcome.findings:
        findings.setdefault(finding.path, []).append(finding)
    for skip in outcome.skipped:
        if skip.kind is not SkipKind.EXCLUDED:
            skipped.setdefault(skip.path, []).append(skip)
    suites = [
        _suite(path, findings.get(path, ()), skipped.get(path, ()), failed)
        for path in sorted({*findings, *skipped})
    ]
    if not suites:
        suites = [_Suite("placement-lint", ['    <testcase name="no findings"/>'])]
    counts = _counts(
        sum(len(suite.cases) for suite in suites),
        sum(suite.failures for suite in suites),
        sum(suite.errors for suite in suites),
    )
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="placement-lint" {counts}>',
    ]
    for suite in suites:
        counts = _counts(len(suite.cases), suite.failures, suite.errors)
        lines.append(f'  <testsuite name="{suite.name}" {counts} skipped="{suite.skipped}">')
        lines += suite.cases
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


class _Suite:
    """The cases of one file."""

    def __init__(self, name: str, cases: list[str]) -> None:
        self.name = name
        self.cases = cases
        self.failures = self.errors = self.skipped = 0


def _suite(
    path: str,
    findings: Iterable[Finding],
    skipped: Iterable[Skipped],
    failed: Collection[Skipped],
) -> _Suite:
    suite = _Suite(_text(path), [])
    for finding in findings:
        is_error = finding.code in _NOT_ANALYSED
        suite.errors += is_error
        suite.failures += not is_error
        suite.cases.append(_case(finding, suite.name, "error" if is_error else "failure"))
    for skip in skipped:
        is_error = skip in failed
        suite.errors += is_error
        suite.skipped += not is_error
        suite.cases.append(
            f'    <testcase name="lint" classname="{suite.name}">\n'
            f'      <{"error" if is_error else "skipped"} message="{_text(skip.reason)}"/>\n'
            "    </testcase>"
        )
    return suite


def _case(finding: Finding, path: str, result: str) -> str:
    # Readers take two cases of one name for one.
    where = place(finding.path, finding.span, finding.cell)
    spot = place("", finding.span, finding.cell).removeprefix(":")
    message = _text(finding.message)
    return (
        f'    <testcase name="{finding.code} {finding.name} at {spot}" classname="{path}">\n'
        f'      <{result} type="{finding.severity.value}" message="{message}">'
        f"{_text(where)}: {finding.code} {message}</{result}>\n"
        "    </testcase>"
    )


def _counts(tests: int, failures: int, errors: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="{errors}"'


def _text(text: str) -> str:
    return _SPECIAL.sub(_reference, escape(text))


def _reference(match: re.Match[str]) -> str:
    """Write a character in ASCII, whatever the encoding of what this is written to."""
    char = match.group()
    if char in {"\ufffe", "\uffff"}:
        return f"\\u{ord(char):04x}"  # XML has no way to say these
    return _MARKS.get(char) or f"&#{ord(char)};"
