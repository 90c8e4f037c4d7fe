"""What GitHub, GitLab, Jenkins and reviewdog are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Edit, Finding, Fix, Related, Severity, Span
from placement_lint.lint.results import Outcome, SkipKind, Skipped
from placement_lint.report import github, gitlab, junit, rdjson
from placement_lint.report.report import Report
from placement_lint.report.site import VARIABLE
from tests.report.held_to import demand_json, demand_xml

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., Finding]
MakeOutcome = Callable[..., Outcome]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return str(tmp_path)


class TestGitHub:
    def test_levels_and_places(
        self, make_finding: Make, make_outcome: MakeOutcome, root: str
    ) -> None:
        findings = (
            make_finding(),
            make_finding(severity=Severity.WARNING, span=Span(2, 5, 4, 2)),
            make_finding(severity=Severity.INFO, path="../x.py"),
            make_finding(path="/elsewhere/x.py"),
        )
        lines = github.render(Report(make_outcome(findings=findings), root)).splitlines()
        title = "title=JDP204 (device-put-discarded)"
        assert lines == [
            f"::error file=below/a.py,line=2,endLine=2,{title},col=5,endColumn=8"
            "::a.py:2:5: JDP204 nothing moves",
            # Columns of a stretch over several lines are refused.
            f"::warning file=below/a.py,line=2,endLine=4,{title}::a.py:2:5: JDP204 nothing moves",
            f"::notice file=x.py,line=2,endLine=2,{title},col=5,endColumn=8"
            "::../x.py:2:5: JDP204 nothing moves",
            f"::error file=/elsewhere/x.py,line=2,endLine=2,{title},col=5,endColumn=8"
            "::/elsewhere/x.py:2:5: JDP204 nothing moves",
        ]

    def test_nothing_gets_out_of_a_command(
        self, make_finding: Make, make_outcome: MakeOutcome, root: str
    ) -> None:
        finding = make_finding(path="a,b::c\n::stop%.py", message="100%\n::error::x")
        (line,) = github.render(Report(make_outcome(findings=(finding,)), root)).splitlines()
        assert line.startswith("::error file=below/a%2Cb%3A%3Ac%0A%3A%3Astop%25.py,line=2,")
        assert line.endswith("::a,b::c\\n::stop%25.py:2:5: JDP204 100%25\\n::error::x")


class TestGitLab:
    def test_an_issue(self, make_finding: Make, make_outcome: MakeOutcome, root: str) -> None:
        findings = (
            make_finding(),
            make_finding(severity=Severity.WARNING),
            make_finding(severity=Severity.INFO, path="../x.py"),
        )
        text = gitlab.render(Report(make_outcome(findings=findings), root))
        issues = demand_json(text, "gitlab-code-quality.json")
        marks = [issue.pop("fingerprint") for issue in issues]
        assert len({*marks}) == 3
        assert issues[0] == {
            "check_name": "JDP204",
            "description": "JDP204: nothing moves",
            "severity": "major",
            "location": {
                "path": "below/a.py",
                "positions": {"begin": {"line": 2, "column": 5}, "end": {"line": 2, "column": 8}},
            },
        }
        assert [issue["severity"] for issue in issues] == ["major", "minor", "info"]
        assert issues[2]["location"]["path"] == "x.py"

    def test_fingerprints_stay_where_lines_move(
        self, make_finding: Make, make_outcome: MakeOutcome, root: str
    ) -> None:
        def marks(text: str, line: int, folder: str) -> list[str]:
            finding = make_finding(path="a.py", span=Span(line, 1, line, 2))
            outcome = make_outcome(findings=(finding,), sources=lambda path: Source(path, text))
            issues = json.loads(gitlab.render(Report(outcome, folder)))
            return [issue["fingerprint"] for issue in issues]

        assert marks("f(x)\n", 1, root) == marks("\n\nf(x)  # noqa: JDP204\n", 3, root)
        assert marks("f(x)\n", 1, root) != marks("f(y)\n", 1, root)
        assert marks("f(x)\n", 1, root) != marks("f(x)\n", 1, f"{root}/below")

    def test_a_clean_run_is_an_empty_list(self, make_outcome: MakeOutcome, root: str) -> None:
        assert (
            demand_json(gitlab.render(Report(make_outcome(), root)), "gitlab-code-quality.json")
            == []
        )


class TestJUnit:
    def test_suites_and_cases(self, make_finding: Make, make_outcome: MakeOutcome) -> None:
        missing = Skipped("no.py", "No such file or directory")
        outcome = make_outcome(
            findings=(
                make_finding(message='a < b & "c"'),
                make_finding(path="b.py", code="JDP901", name="invalid-syntax"),
                make_finding(path="b.py", severity=Severity.WARNING, span=Span(7, 1, 7, 2)),
            ),
            skipped=(
                missing,
                Skipped("e.py", "excluded", SkipKind.EXCLUDED),
                Skipped("l.py", "a link to nothing"),
            ),
        )
        text = junit.render(outcome, [missing])
        demand_xml(text, "junit-10.xsd")
        assert '<testsuites name="placement-lint" tests="5" failures="2" errors="2">' in text
        assert 'message="a &lt; b &amp; &quot;c&quot;"' in text
        assert "e.py" not in text

    def test_a_reader_reads_it(self, make_finding: Make, make_outcome: MakeOutcome) -> None:
        junitparser = pytest.importorskip("junitparser", reason="comes with the extra `dev`")
        outcome = make_outcome(
            findings=(make_finding(path="ü.py"), make_finding(path="b.py", code="JDP901")),
            skipped=(Skipped("l.py", "a link to nothing"),),
        )
        read = junitparser.JUnitXml.fromstring(junit.render(outcome).encode())
        assert (read.tests, read.failures, read.errors) == (3, 1, 1)
        suites = {suite.name: suite for suite in read}
        assert list(suites) == ["b.py", "l.py", "ü.py"]
        (case,) = suites["ü.py"]
        assert (case.classname, case.name) == ("ü.py", "JDP204 device-put-discarded at 2:5")
        (result,) = case.result
        assert isinstance(result, junitparser.Failure)
        assert (result.message, result.type) == ("nothing moves", "error")
        (passed,) = next(iter(suites["l.py"])).result
        assert isinstance(passed, junitparser.Skipped)
        # What is counted is what there is.
        counted = (read.tests, read.failures, read.errors, read.skipped)
        read.update_statistics()
        assert counted == (read.tests, read.failures, read.errors, read.skipped)

    def test_a_clean_run_has_a_case_that_passes(self, make_outcome: MakeOutcome) -> None:
        text = junit.render(make_outcome())
        demand_xml(text, "junit-10.xsd")
        assert '<testcase name="no findings"/>' in text
        assert 'tests="1" failures="0" errors="0"' in text


class TestReviewdog:
    def diagnostics(self, *findings: Finding, text: str, make: MakeOutcome) -> list[dict[str, Any]]:
        outcome = make(findings=findings, sources=lambda path: Source(path, text))
        found: list[dict[str, Any]] = demand_json(rdjson.render(outcome), "rdjson.json")[
            "diagnostics"
        ]
        return found

    def test_columns_are_bytes(self, make_finding: Make, make_outcome: MakeOutcome) -> None:
        # The example of reviewdog's own documentation: `b` is at column 6.
        finding = make_finding(span=Span(1, 3, 1, 4))
        (found,) = self.diagnostics(finding, text="a\U00010400b\n", make=make_outcome)
        assert found["location"]["range"] == {
            "start": {"line": 1, "column": 6},
            "end": {"line": 1, "column": 7},
        }

    def test_edits_are_one_suggestion(self, make_finding: Make, make_outcome: MakeOutcome) -> None:
        text = "import jax\njax.f(ü, x)\n"
        edits = (
            Edit("a.py", Span(2, 10, 2, 11), "y"),
            Edit("a.py", Span(2, 1, 2, 1), "z = "),
        )
        finding = make_finding(fix=Fix(Applicability.UNSAFE, "Name it", edits))
        (found,) = self.diagnostics(finding, text=text, make=make_outcome)
        assert found["suggestions"] == [
            {
                "range": {"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 12}},
                "text": "z = jax.f(ü, y",
            }
        ]
        assert found["message"].endswith("\nhelp: Name it (unsafe: see that it is what is meant)")

    def test_no_suggestion_that_cannot_be_taken(
        self, make_finding: Make, make_outcome: MakeOutcome
    ) -> None:
        edit = Edit("a.py", Span(1, 1, 1, 2), "y")
        for fix in (
            Fix(Applicability.DISPLAY, "m", (edit,)),
            Fix(Applicability.SAFE, "m", (edit, Edit("b.py", Span(1, 1, 1, 2), "y"))),
            Fix(Applicability.SAFE, "m", (edit, Edit("a.py", Span(1, 1, 1, 2), "z"))),
            Fix(Applicability.SAFE, "m", (Edit("a.py", Span(9, 1, 9, 2), "y"),)),
            Fix(Applicability.SAFE, "m", (Edit("a.py", Span(1, 1, 1, 2), "y", cell=1),)),
        ):
            (found,) = self.diagnostics(make_finding(fix=fix), text="x\n", make=make_outcome)
            assert "suggestions" not in found
        gone = make_outcome(findings=(make_finding(fix=Fix(Applicability.SAFE, "m", (edit,))),))
        assert "suggestions" not in rdjson.render(gone)

    def test_related_places_and_pages(
        self, make_finding: Make, make_outcome: MakeOutcome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        finding = make_finding(
            severity=Severity.INFO, related=(Related("made here", "data.py", Span(5, 12, 5, 20)),)
        )
        (found,) = self.diagnostics(finding, text="", make=make_outcome)
        assert found["message"] == "nothing moves\nnote: data.py:5:12: made here"
        assert (found["severity"], found["code"]) == ("INFO", {"value": "JDP204"})
        monkeypatch.setenv(VARIABLE, "https://docs.example/")
        (found,) = self.diagnostics(finding, text="", make=make_outcome)
        assert found["code"]["url"] == "https://docs.example/rules/JDP204/"
