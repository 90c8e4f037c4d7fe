"""What a finding without a fix says: what to do. `tests/test_fixtures.py` checks it of cases."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from placement_lint.report.full import render
from placement_lint.rules.base import Rule
from placement_lint.rules.registry import all_rules
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from placement_lint.findings import Finding

every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@every_rule
def test_every_rule_says_what_to_do(rule: type[Rule]) -> None:
    assert rule.advice
    assert rule.advice[0].isupper()
    assert not rule.advice.endswith(".")
    assert "\n" not in rule.advice


@pytest.mark.parametrize("group", sorted({program.group for program in all_programs()}))
@pytest.mark.parametrize("one_in", [18, pytest.param(1, marks=pytest.mark.every)])
def test_every_finding_in_a_program_has_a_line_of_help(
    group: str, one_in: int, tmp_path: Path
) -> None:
    """Linted as a whole, and each file alone.

    One program in eighteen; all of them with `pytest -m every tests/rules/test_advice.py`.
    """
    settings = Settings(select=("ALL",))
    found: list[Finding] = []
    for program in [each for each in all_programs() if each.group == group][::one_in]:
        folder = tmp_path / program.name
        paths = [folder / path for path in program.texts()]
        for path, text in zip(paths, program.texts().values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found += Linter(lambda _: settings, folders=True).check([str(folder)]).findings
        for path in paths:
            found += Linter(lambda _: settings).check([str(path)]).findings
    silent = [each for each in found if "\nhelp: " not in render([each], lambda _: None)]
    assert silent == []
    assert found or group == "clean"
