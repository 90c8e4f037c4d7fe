"""What the project says of itself agrees with what it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from placement_lint.rules.registry import all_rules
from tests.docs.pages import blocks
from tests.docs.terminal import Terminal, shown
from tests.readme import README, with_rules, with_table

TOP = README.parent


def test_the_table_of_rules_is_what_the_rules_say() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_table(text), "run: python -m tests.readme"


def test_the_changelog_names_every_rule() -> None:
    text = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text == with_rules(text), "run: python -m tests.readme"


def test_the_wheel_carries_every_proof() -> None:
    files = WheelBuilder(str(TOP)).recurse_included_files()
    proofs = {
        file.distribution_path for file in files if file.distribution_path.endswith("/proof.py")
    }
    assert proofs == {f"placement_lint/proofs/{rule.code}/proof.py" for rule in all_rules()}


def test_the_wheel_carries_the_record_of_what_was_proved() -> None:
    files = {file.distribution_path for file in WheelBuilder(str(TOP)).recurse_included_files()}
    newest = max(path.name for path in (TOP / "fixtures" / "records").glob("*-verify.json"))
    assert f"placement_lint/proofs/records/{newest}" in files


def test_every_picture_of_the_readme_is_there_and_small() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        assert (TOP / picture).stat().st_size < 100_000
        # What it shows can be read beside it.
        assert (TOP / picture).with_suffix(".json").is_file()


def test_the_program_of_the_readme_is_in_the_repository() -> None:
    first = next(block for block in blocks(README) if block.title is not None)
    program = TOP / "fixtures" / "readme" / str(first.title)
    assert first.text == program.read_text(encoding="utf-8")


def test_every_console_block_of_the_readme_shows_what_happens(tmp_path: Path) -> None:
    found = shown(README, Terminal(tmp_path), ())
    assert found
    for block in blocks(README):
        if block.line in found:
            assert found[block.line] == block.text


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (TOP / link).exists()] == []


def test_every_command_of_the_readme_is_one() -> None:
    text = README.read_text(encoding="utf-8")
    found = re.findall(r"placement-lint (?:\S+ )*?(--[a-z-]+)|`(--[a-z-]+)`", text)
    options = {option for each in found for option in each if option}
    assert options >= {"--fix", "--diff"}
    usage = _help() + _help("check") + _help("rule") + _help("verify") + _help("trace")
    assert [option for option in sorted(options) if option not in usage] == []


def _help(*command: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.mark.parametrize("marker", ["example", "tests"])
def test_each_line_to_paste_is_there_once(marker: str) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.findall(rf"<!-- run: {marker} -->\n```bash\n(.+)\n```", text)
    assert len(found) == 1
    assert found[0].startswith("python3 -m venv ")


def test_the_versions_agree() -> None:
    pyproject = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', pyproject, re.MULTILINE)
    module = (Path(TOP) / "placement_lint" / "version.py").read_text(encoding="utf-8")
    written = re.search(r'^__version__ = "(.+)"$', module, re.MULTILINE)
    assert version is not None
    assert written is not None
    assert version[1] == written[1]
