"""What the page about versions promises, as far as it can be seen today."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from placement_lint.rules.redirects import REDIRECTS
from placement_lint.rules.registry import all_rules
from tests import warm
from tests.docs.pages import TOP

if TYPE_CHECKING:
    from pathlib import Path

CODES = {rule.code for rule in all_rules()}
FIELDS = {
    "code", "name", "message", "path", "line", "column", "end_line", "end_column", "cell",
    "severity", "confidence", "related", "fix", "url",
}  # fmt: skip
"""Of a finding, in version 1 of the JSON output: there may be more."""


def lost(changelog: str, codes: set[str]) -> set[str]:
    """Return the codes that some version had, and that mean nothing now."""
    named = re.findall(r"^- Rules: ([^.]*)\.$", changelog, re.MULTILINE)
    return set(re.findall(r"JDP\d{3}", " ".join(named))) - codes - REDIRECTS.keys()


def test_no_code_of_any_version_is_lost() -> None:
    text = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    assert lost(text, set()) >= CODES
    assert lost(text, CODES) == set()


def test_a_lost_code_is_seen() -> None:
    changelog = "## 0.2.0\n\n- Rules: JDP101.\n\n## 0.1.0\n\n- Rules: JDP101,\n  JDP199.\n"
    assert lost(changelog, {"JDP101"}) == {"JDP199"}


def test_version_1_of_the_json_output_has_its_fields(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\njax.default_device = None\n", encoding="utf-8")
    run = subprocess.run(
        warm.command("placement_lint", "--no-cache", "--output-format", "json", "a.py"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(run.stdout)
    assert report["version"] == 1
    assert {"version", "tool", "findings", "skipped", "summary"} <= report.keys()
    assert report["findings"][0].keys() >= FIELDS


@pytest.mark.parametrize(
    ("arguments", "code"), [(["clean.py"], 0), (["a.py"], 1), (["nowhere.py"], 2)]
)
def test_exit_codes_are_three(arguments: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\njax.default_device = None\n", encoding="utf-8")
    (tmp_path / "clean.py").write_text("import jax\n", encoding="utf-8")
    line = warm.command("placement_lint", "--no-cache", *arguments)
    run = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == code
