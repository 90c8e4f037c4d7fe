"""Findings as Markdown, for the summary of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from placement_lint.findings import Finding, Severity
from placement_lint.lint.results import Outcome, Skipped
from placement_lint.report import markdown
from placement_lint.report.report import Report

if TYPE_CHECKING:
    import pytest

Make = Callable[..., Finding]
MakeOutcome = Callable[..., Outcome]


def test_a_table(make_finding: Make, make_outcome: MakeOutcome, tmp_path: object) -> None:
    finding = make_finding(message="`x | y` is **not** on <b>\n", severity=Severity.ERROR, cell=2)
    text = markdown.render(Report(make_outcome(findings=(finding,)), str(tmp_path)))
    head, row = text.rstrip("\n").rsplit("\n", 1)
    assert head.startswith("### placement-lint\n\nFound 1 finding in 1 of ")
    assert head.endswith("\n| severity | rule | place | finding |\n|---|---|---|---|")
    assert row.startswith(f"| error | {finding.code} | <code>")
    assert " cell 2&#58;" in row
    assert "<code>x &#124; y</code> is &#42;&#42;not&#42;&#42; on &#60;b&#62;&#92;n |" in row


def test_nothing_found(make_outcome: MakeOutcome) -> None:
    text = markdown.render(Report(make_outcome(findings=()), "."))
    assert text.startswith("### placement-lint\n\nNo findings in ")
    assert "|" not in text


def test_what_is_left_out_and_what_was_not_done(
    make_finding: Make, make_outcome: MakeOutcome
) -> None:
    outcome = make_outcome(findings=(make_finding(),) * 502)
    failed = (Skipped("no*such", "No such file"), Skipped("", "a setting is wrong"))
    text = markdown.render(Report(outcome, ".", omitted=3, failed=failed))
    assert text.count("\n| warning |") + text.count("\n| error |") == 500
    assert "\n5 more findings are not shown.\n" in text
    assert text.endswith("\n- no&#42;such&#58; No such file\n- a setting is wrong\n")


def test_rules_are_links_where_there_is_a_site(
    make_finding: Make, make_outcome: MakeOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACEMENT_LINT_DOCS", "https://example.org/docs")
    finding = make_finding()
    text = markdown.render(Report(make_outcome(findings=(finding,)), "."))
    assert f"[{finding.code}](https://example.org/docs/rules/{finding.code}/)" in text
