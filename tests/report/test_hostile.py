"""Whatever a path or a message holds, each format can be read back, and says what it was."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings

from placement_lint.config.options import FORMATS
from placement_lint.findings import Finding
from placement_lint.lint.results import Outcome, Skipped
from placement_lint.report.escape import as_unicode, escape, escape_characters
from placement_lint.report.formats import render
from placement_lint.report.places import message_with_place
from placement_lint.report.report import Report
from tests.report.held_to import demand_json, demand_xml
from tests.report.hostile import NASTY, outcomes

ROOT = str(Path.cwd())
FAILED = (Skipped("no\nsuch", "No such file"), Skipped("", "a setting is wrong"))


def written(form: str, outcome: Outcome) -> str:
    return render(form, Report(outcome, ROOT, exit_code=1, failed=FAILED))


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("form", FORMATS)
@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_no_format_can_be_taken_over(form: str, outcome: Outcome) -> None:
    text = written(form, outcome)
    text.encode("utf-8")
    # Nothing that a terminal or a log obeys, and no line end but ours.
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text
    )
    lines = text.split("\n")
    if form == "github":
        # What begins a command is taken by that alone, and its paths have to be what they are.
        lines = [line.partition("::")[2].partition("::")[2] for line in lines]
    for line in lines:
        assert not line.lstrip().startswith("::")
        assert not re.search(r"##\w*\[", line)
    if form not in {"flake8", "full", "github"}:
        assert text.isascii()


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_flake8(outcome: Outcome) -> None:
    lines = written("flake8", outcome).split("\n")[:-1]
    assert len(lines) == len(outcome.findings)
    for line, finding in zip(lines, outcome.findings, strict=True):
        cell = "" if finding.cell is None else f"cell {finding.cell}:"
        place = f"{cell}{finding.span.line}:{finding.span.column}"
        beside = f":{place}: {finding.code} {escape(finding.message)}"
        assert line in (f"{escape(finding.path)}{beside}", f"./{escape(finding.path)}{beside}")
        assert line[0].isalnum() or line[0] in "._/\\"


def demand_found(value: dict[str, Any], finding: Finding) -> None:
    assert value["path"] == as_unicode(finding.path)
    assert value["message"] == escape(finding.message)
    assert (value["line"], value["column"]) == (finding.span.line, finding.span.column)
    assert value["cell"] == finding.cell
    edits = () if finding.fix is None else finding.fix.edits
    told_edits = [] if value["fix"] is None else value["fix"]["edits"]
    assert [edit["text"] for edit in told_edits] == [as_unicode(edit.text) for edit in edits]


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_json(outcome: Outcome) -> None:
    report = json.loads(written("json", outcome))
    for value, finding in zip(report["findings"], outcome.findings, strict=True):
        demand_found(value, finding)
    lines = written("jsonl", outcome).split("\n")[:-1]
    assert [json.loads(line) for line in lines] == report["findings"]


COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_github(outcome: Outcome) -> None:
    lines = written("github", outcome).split("\n")[:-1]
    assert len(lines) == len(outcome.findings)
    for line, finding in zip(lines, outcome.findings, strict=True):
        command = COMMAND.fullmatch(line)
        assert command is not None
        properties = dict(each.split("=", 1) for each in command[2].split(","))
        assert as_runner(properties["title"]) == f"{finding.code} ({finding.name})"
        pieces = re.split("([\r\n])", finding.path)
        expected = "".join(each if each in "\r\n" else escape_characters(each) for each in pieces)
        assert as_runner(properties["file"]) == expected
        assert as_runner(command[3]).endswith(f"{finding.code} {escape(finding.message)}")
        if finding.cell is None:
            assert int(properties["line"]) == finding.span.line
            assert int(properties["endLine"]) == finding.span.end_line
            assert ("col" in properties) == (finding.span.line == finding.span.end_line)


def as_runner(text: str) -> str:
    """Read a property or a message as the runner of GitHub's actions does."""
    for mark, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(mark, char)
    return text


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_gitlab(outcome: Outcome) -> None:
    issues = demand_json(written("gitlab", outcome), "gitlab-code-quality.json")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue, finding in zip(issues, outcome.findings, strict=True):
        assert issue["location"]["path"] == as_unicode(finding.path)
        assert issue["description"] == f"{finding.code}: {message_with_place(finding)}"


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_junit(outcome: Outcome) -> None:
    text = written("junit", outcome)
    suites = ET.fromstring(text)  # noqa: S314
    cases = [
        (suite.attrib["name"], result.tag, result.attrib["message"], result.text)
        for suite in suites
        for case in suite
        for result in case
        if result.tag in {"failure", "error"}
    ]
    assert len(cases) == len(outcome.findings)
    for (path, tag, message, body), finding in zip(cases, outcome.findings, strict=True):
        assert path == in_xml(finding.path)
        assert tag == ("error" if finding.code in {"JDP901", "JDP903"} else "failure")
        assert message == in_xml(finding.message)
        assert body is not None
        assert body.endswith(f"{finding.code} {in_xml(finding.message)}")
    assert int(suites.attrib["failures"]) + int(suites.attrib["errors"]) == len(cases)
    demand_xml(text, "junit-10.xsd")


def in_xml(text: str) -> str:
    return escape(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_rdjson(outcome: Outcome) -> None:
    diagnostics = demand_json(written("rdjson", outcome), "rdjson.json")["diagnostics"]
    for value, finding in zip(diagnostics, outcome.findings, strict=True):
        assert value["location"]["path"] == as_unicode(finding.path)
        assert value["message"].startswith(message_with_place(finding))
        assert value["code"] == {"value": finding.code}


@settings(deadline=None, max_examples=50)
@given(outcome=outcomes)
def test_sarif(outcome: Outcome) -> None:
    (run,) = demand_json(written("sarif", outcome), "sarif-schema-2.1.0.json")["runs"]
    expected = sorted(
        [*outcome.findings, *(each.finding for each in outcome.suppressed)],
        key=lambda finding: finding.sort_key,
    )
    prints = [result["partialFingerprints"]["placementLint/v1"] for result in run["results"]]
    assert len({*prints}) == len(prints) == len(expected)
    for result, finding in zip(run["results"], expected, strict=True):
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        # The bytes of the name, whatever they are.
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert unquote_to_bytes(artifact["uri"]) == as_bytes(finding.path)
        plain = re.sub(r"\\\[([^\[\]]*)\\\]\(", r"[\1](", result["message"]["text"])
        assert "\\" in message_with_place(finding) or plain == message_with_place(finding)
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == finding.code


def as_bytes(path: str) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("path", NASTY)
def test_each_nasty_path_in_each_format(path: str) -> None:
    from placement_lint.findings import Severity, Span

    finding = Finding("JDP204", "n", path, path, Span(1, 1, 1, 2), Severity.ERROR)
    outcome = Outcome((finding,), (), 1, 1, 0, 0.0, (), lambda _: None)
    for form in FORMATS:
        text = written(form, outcome)
        assert "JDP204" in text
        if form in {"flake8", "github", "jsonl"}:
            assert text.count("\n") == 1
