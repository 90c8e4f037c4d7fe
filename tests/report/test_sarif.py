from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)
from placement_lint.lint.results import Outcome, SkipKind, Skipped, Suppressed
from placement_lint.report.report import Report
from placement_lint.report.sarif import SCHEMA, render
from placement_lint.report.site import VARIABLE
from tests.report.held_to import FOLDER, demand_json

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., Finding]
MakeOutcome = Callable[..., Outcome]


def run_of(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(render(report))
    assert (log["version"], log["$schema"]) == ("2.1.0", SCHEMA)
    (run,) = log["runs"]
    return dict(run)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(tmp_path)


def test_a_whole_result(make_finding: Make, make_outcome: MakeOutcome, root: str) -> None:
    finding = make_finding(
        path="sub dir/a.py",
        confidence=Confidence.LIKELY,
        severity=Severity.WARNING,
        related=(Related("made here", "data.py", Span(5, 12, 5, 20)),),
        fix=Fix(
            Applicability.UNSAFE,
            "commit it",
            (Edit("data.py", Span(5, 1, 5, 1), "é"), Edit("a.py", Span(2, 5, 2, 5), "x")),
        ),
    )
    run = run_of(Report(make_outcome(findings=(finding,)), root, exit_code=1))
    (result,) = run["results"]
    assert len(result.pop("partialFingerprints")["placementLint/v1"]) == 32
    base: dict[str, Any] = {"uriBaseId": "%SRCROOT%"}
    assert result == {
        "ruleId": "JDP204",
        "ruleIndex": 0,
        "level": "warning",
        "message": {"text": "nothing moves"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "sub%20dir/a.py", **base},
                    "region": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 8},
                }
            }
        ],
        "relatedLocations": [
            {
                "id": 1,
                "message": {"text": "made here"},
                "physicalLocation": {
                    "artifactLocation": {"uri": "data.py", **base},
                    "region": {"startLine": 5, "startColumn": 12, "endLine": 5, "endColumn": 20},
                },
            }
        ],
        "suppressions": [],
        "properties": {"confidence": "likely"},
        "fixes": [
            {
                "description": {"text": "commit it (unsafe)"},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": uri} | base,
                        "replacements": [
                            {
                                "deletedRegion": {
                                    "startLine": line,
                                    "startColumn": column,
                                    "endLine": line,
                                    "endColumn": column,
                                },
                                "insertedContent": {"text": text},
                            }
                        ],
                    }
                    for uri, line, column, text in (("a.py", 2, 5, "x"), ("data.py", 5, 1, "é"))
                ],
            }
        ],
    }
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"file://{root}/"}}
    assert run["columnKind"] == "unicodeCodePoints"


def test_it_is_what_the_standard_says(
    make_finding: Make, make_outcome: MakeOutcome, root: str
) -> None:
    found = make_finding(
        related=(Related("[here](1)", "b.py", Span(1, 1, 1, 1)),),
        fix=Fix(Applicability.SAFE, "m", (Edit("a.py", Span(1, 1, 1, 1), ""),)),
    )
    outcome = make_outcome(
        findings=(found, make_finding(code="JDP903", path="../outside.py", cell=None)),
        suppressed=(Suppressed(make_finding(path="b.py"), "warms up"),),
        skipped=(
            Skipped("l.py", "a link to nothing"),
            Skipped("e.py", "excluded", SkipKind.EXCLUDED),
        ),
    )
    failed = (Skipped("", "a setting is wrong"), Skipped("no", "No such file or directory"))
    demand_json(
        render(Report(outcome, root, exit_code=2, omitted=3, failed=failed)),
        "sarif-schema-2.1.0.json",
    )
    demand_json(render(Report(make_outcome(), root)), "sarif-schema-2.1.0.json")


def test_the_schema_is_the_one_that_is_named() -> None:
    text = (FOLDER / "sarif-schema-2.1.0.json").read_text(encoding="utf-8")
    assert json.loads(text)["id"] == SCHEMA


def test_what_comments_silence(make_finding: Make, make_outcome: MakeOutcome, root: str) -> None:
    silent = [Suppressed(make_finding(path="c.py"), ""), Suppressed(make_finding(path="a.py"), "y")]
    outcome = make_outcome(findings=(make_finding(path="b.py"),), suppressed=tuple(silent))
    results = run_of(Report(outcome, root))["results"]
    assert [result["suppressions"] for result in results] == [
        [{"kind": "inSource", "justification": "y"}],
        [],
        [{"kind": "inSource"}],
    ]


def test_what_a_rule_says(
    make_finding: Make,
    make_outcome: MakeOutcome,
    root: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = make_outcome(findings=(make_finding(), make_finding(code="JDP405", path="b.py")))
    driver = run_of(Report(outcome, root))["tool"]["driver"]
    first, second = driver["rules"]
    assert first["id"] == "JDP204"
    assert first["name"] == "DevicePutDiscarded"
    assert first["shortDescription"] == {"text": "A jax.device_put whose result is discarded."}
    assert first["fullDescription"]["text"].startswith("Finds jax.device_put(x, device)")
    assert first["help"]["markdown"].startswith("# device-put-discarded (JDP204)\n\n")
    assert "## Why is this bad?" in first["help"]["markdown"]
    assert "`" not in first["help"]["text"]
    assert first["defaultConfiguration"] == {"level": "error", "enabled": True}
    assert second["defaultConfiguration"]["enabled"] is False
    # There is no page yet that a link could lead to.
    assert "helpUri" not in first
    monkeypatch.setenv(VARIABLE, "https://docs.example/")
    driver = run_of(Report(outcome, root))["tool"]["driver"]
    assert driver["rules"][0]["helpUri"] == "https://docs.example/rules/JDP204/"


def test_a_rule_that_is_no_longer_there(
    make_finding: Make, make_outcome: MakeOutcome, root: str
) -> None:
    outcome = make_outcome(findings=(make_finding(code="JDP299"),))
    assert run_of(Report(outcome, root))["tool"]["driver"]["rules"] == [{"id": "JDP299"}]


def test_the_run_itself(make_finding: Make, make_outcome: MakeOutcome, root: str) -> None:
    missing = Skipped("no.py", "No such file or directory")
    outcome = make_outcome(
        findings=(make_finding(code="JDP903", message="oops"),),
        skipped=(
            Skipped("e.py", "excluded", SkipKind.EXCLUDED),
            Skipped("l.py", "a link to nothing"),
            missing,
        ),
    )
    report = Report(outcome, root, exit_code=2, omitted=2, failed=(missing, Skipped("", "wrong")))
    (invocation,) = run_of(report)["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    executed = invocation["toolExecutionNotifications"]
    assert [(each["level"], each["message"]["text"]) for each in executed] == [
        ("note", "excluded"),
        ("warning", "a link to nothing"),
        ("error", "oops"),
        ("warning", "2 more findings are left out (--max-findings)"),
    ]
    configured = invocation["toolConfigurationNotifications"]
    assert [each["message"]["text"] for each in configured] == [
        "No such file or directory",
        "wrong",
    ]
    place = configured[0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "no.py", "uriBaseId": "%SRCROOT%"}
    assert "locations" not in configured[1]
    (clean,) = run_of(Report(make_outcome(), root))["invocations"]
    assert (clean["executionSuccessful"], clean["exitCode"]) == (True, 0)


def test_a_file_outside_of_the_root_has_a_uri_of_its_own(
    make_finding: Make, make_outcome: MakeOutcome, root: str, tmp_path: Path
) -> None:
    outcome = make_outcome(findings=(make_finding(path="../x y.py"),))
    (result,) = run_of(Report(outcome, root))["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": f"file://{tmp_path.parent}/x%20y.py"}


def test_no_fix_that_nobody_may_apply(
    make_finding: Make, make_outcome: MakeOutcome, root: str
) -> None:
    edit = Edit("a.py", Span(1, 1, 1, 1), "x")
    in_cell = Edit("a.py", Span(1, 1, 1, 1), "x", cell=2)
    for fix in (
        Fix(Applicability.DISPLAY, "m", (edit,)),
        Fix(Applicability.SAFE, "m", (edit, in_cell)),
        Fix(Applicability.SAFE, "m", ()),
    ):
        outcome = make_outcome(findings=(make_finding(fix=fix),))
        assert "fixes" not in run_of(Report(outcome, root))["results"][0]


def test_microsofts_reader_reads_it(
    make_finding: Make, make_outcome: MakeOutcome, root: str, tmp_path: Path
) -> None:
    loader = pytest.importorskip("sarif.loader", reason="sarif-tools comes with the extra `dev`")
    findings = (
        make_finding(path="a b.py"),
        make_finding(path="n.ipynb", code="JDP201", severity=Severity.WARNING, cell=3),
    )
    silent = (Suppressed(make_finding(path="c.py"), "why"),)
    file = tmp_path / "found.sarif"
    outcome = make_outcome(findings=findings, suppressed=silent)
    file.write_text(render(Report(outcome, root, exit_code=1)), encoding="utf-8")
    read = loader.load_sarif_file(str(file))
    assert read.get_distinct_tool_names() == ["placement-lint"]
    records = {record["Location"]: record for record in read.get_records()}
    assert set(records) >= {"a%20b.py", "n.ipynb"}
    assert (records["a%20b.py"]["Severity"], records["a%20b.py"]["Line"]) == ("error", 2)
    assert records["n.ipynb"]["Severity"] == "warning"
    assert records["a%20b.py"]["Code"] == "JDP204"
