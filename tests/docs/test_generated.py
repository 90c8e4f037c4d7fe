"""What is written at build time agrees with what the package says of itself."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.cli.schema import schema
from placement_lint.config.options import OPTIONS
from placement_lint.lint.suppressions.comments import NEVER_SILENT
from placement_lint.rules.pages import all_pages
from placement_lint.rules.proof_records import proof_path, proved_on
from tests import warm
from website import commands, links, measured, rules, settings

if TYPE_CHECKING:
    from placement_lint.rules.pages import Page

RULES = all_pages()
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """Return what `placement-lint rule` prints of each rule."""
    line = warm.command("placement_lint", "rule", "--all", "--output-format", "markdown")
    run = subprocess.run(line, capture_output=True, text=True, check=True, encoding="utf-8")
    heads = [f"# {rule.name} ({rule.code})\n" for rule in RULES]
    places = [run.stdout.index(head) for head in heads]
    assert places == sorted(places)
    ends = [*places[1:], len(run.stdout)]
    return {
        rule.code: run.stdout[start:end]
        for rule, start, end in zip(RULES, places, ends, strict=True)
    }


@every_rule
def test_the_page_says_what_the_command_says(rule: Page, printed: dict[str, str]) -> None:
    page = rules.page(rule)
    title, facts, *rest = re.split(r"\n{2,}", printed[rule.code].strip("\n"))
    assert page.startswith(f"{title}\n\n")
    severity, fix, *selected = facts.split(", ", 1)[0], rule.fix, "off unless selected" in facts
    row = page.split("\n")[4]
    assert row.startswith(f"| {severity} | ")
    assert ("--fix" in row) == ("--fix" in facts)
    assert ("--unsafe-fixes" in row) == ("--unsafe-fixes" in facts)
    assert (" none " in row) == ("no fix" in facts) == (fix is None)
    assert ("only when selected" in row) == selected[0]
    for paragraph in rest:
        assert paragraph in page


@every_rule
def test_the_page_shows_the_proof_and_where_it_held(rule: Page) -> None:
    page = rules.page(rule)
    assert Path(proof_path(rule.code)).read_text(encoding="utf-8").strip("\n") in page
    proved = proved_on(rule.code)
    assert ("## Reproduced on" in page) == bool(proved)
    heads = re.findall(r"^\| JAX \| (.+) \|$", page, re.MULTILINE)
    for each, head in zip(proved, heads, strict=True):
        assert set(head.split(" | ")) == {*each.proved, *each.failed, *each.skipped}
        cells = re.search(rf"^\| {re.escape(each.on)} \| (.+) \|$", page, re.MULTILINE)
        assert cells is not None
        assert cells[1].split(" | ").count("reproduced") == len(each.proved)


@every_rule
def test_the_page_says_how_to_suppress_and_what_to_set(rule: Page) -> None:
    page = rules.page(rule)
    silenced = page.partition("## How to suppress it\n")[2].partition("\n## ")[0]
    assert (f"# noqa: {rule.code}" in silenced) == (rule.code not in NEVER_SILENT)
    listed = page.partition("## Settings that matter\n")[2].partition("\n## ")[0]
    names = re.findall(r"^- \[`([a-z-]+)`\]\(\.\./settings\.md#\1\): ", listed, re.MULTILINE)
    assert {*names} <= {option.name for option in OPTIONS}
    assert ("extend-select" in names) == rule.pedantic
    assert ("unfixable" in names) == (rule.fix in {"safe", "unsafe"})
    assert page.split("\n")[4].endswith("| 0.1.0 |")


def test_the_index_has_every_rule_in_its_family() -> None:
    index = rules.index(RULES)
    assert re.findall(r"^\| \[(JDP\d+)\]\(\1\.md\)", index, re.MULTILINE) == [
        rule.code for rule in RULES
    ]
    family = ""
    for line in index.split("\n"):
        if line.startswith("## "):
            family = line[3:7]
        elif line.startswith("| ["):
            assert line.startswith(f"| [{family}")


def test_every_setting_has_its_section() -> None:
    page = settings.settings()
    assert re.findall(r"^### (.+)$", page, re.MULTILINE) == list(schema()["properties"])
    for option in (option for option in OPTIONS if option.in_files):
        section = page.partition(f"### {option.name}\n")[2].partition("\n### ")[0]
        assert option.help[1:] in section
        assert (f"`--{option.name}" in section) == option.on_command_line
        if option.default is not None:
            assert f"Default: `{json.dumps(option.default)}`" in section


def test_every_command_has_its_section_with_every_option() -> None:
    page = commands.command_line()
    for command in commands.COMMANDS:
        section = page.partition(f"## {command}\n")[2].partition("\n## ")[0]
        assert f"placement-lint {command}" in section or command == "check"
        assert "--help" in section
    check = page.partition("## check\n")[2].partition("\n## ")[0]
    for option in OPTIONS:
        said = f"--{option.name}" in check or f"--[no-]{option.name}" in check
        assert said == option.on_command_line


def test_the_data_path_is_that_of_the_record() -> None:
    table = measured.data_path_table()
    record = json.loads(measured.data_path().read_text(encoding="utf-8"))
    assert measured.data_path().with_suffix(".png").is_file()
    rows = [line for line in table.split("\n") if line.startswith("| ")]
    assert len(rows) == 5
    assert all(row.count("|") == 2 + len(record["datapath"]["sizes"]) for row in rows)
    assert f"JAX {record['environment']['jax']} " in table


@pytest.mark.parametrize(
    ("seconds", "said"), [(2.8737, "2.87 s"), (0.0163, "16.3 ms"), (0.000039, "39 µs")]
)
def test_times_are_said_short(seconds: float, said: str) -> None:
    assert measured._seconds(seconds) == said


def test_the_comparison_is_shown_when_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "RESULTS.md"
    monkeypatch.setattr(measured, "RESULTS", results)
    assert measured.comparison() is None
    picture = tmp_path / "results.svg"
    picture.write_text("<svg/>", encoding="utf-8")
    results.write_text(
        "![Bars.](results.svg)\nOf [packages](packages.txt), by [uv](https://a.b/c).\n",
        encoding="utf-8",
    )
    assert measured.comparison() == (
        "![Bars.](results.svg)\nOf packages, by [uv](https://a.b/c).\n",
        [picture],
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("See JDP101.", "See [JDP101](rules/JDP101.md)."),
        ("JDP101, JDP999", "[JDP101](rules/JDP101.md), JDP999"),
        ("`JDP101`", "`JDP101`"),
        ("[JDP101](elsewhere)", "[JDP101](elsewhere)"),
        ("# JDP101", "# JDP101"),
        ("<!-- flagged: JDP101 -->", "<!-- flagged: JDP101 -->"),
        ("```python\nx  # noqa: JDP101\n```\n", "```python\nx  # noqa: JDP101\n```\n"),
        ("````text\n```\nJDP101\n```\n````\n", "````text\n```\nJDP101\n```\n````\n"),
        ("XJDP101 JDP1010", "XJDP101 JDP1010"),
    ],
)
def test_codes_become_links(before: str, after: str) -> None:
    assert links.with_links(before, "page.md", {"JDP101"}) == after


def test_a_rules_page_has_no_link_to_itself() -> None:
    text = links.with_links("JDP101, JDP102", "rules/JDP101.md", {"JDP101", "JDP102"})
    assert text == "JDP101, [JDP102](JDP102.md)"
