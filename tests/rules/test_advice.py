"""What a finding without a fix says: what to do."""

import pytest

from placement_lint.findings import Finding
from placement_lint.rules.base import Rule
from placement_lint.rules.registry import all_rules
from tests.test_fixtures import FOLDERS, lint

every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@every_rule
def test_every_rule_says_what_to_do(rule: type[Rule]) -> None:
    assert rule.advice
    assert rule.advice[0].isupper()
    assert not rule.advice.endswith(".")
    assert "\n" not in rule.advice


def says_what_to_do(finding: Finding) -> bool:
    return (finding.fix is None) == bool(finding.advice)


@pytest.mark.parametrize("folder", [name for name in FOLDERS if name.endswith("hazards")])
def test_every_finding_has_a_fix_or_says_what_to_do(folder: str) -> None:
    for case in FOLDERS[folder]:
        for text in (case.before.text, *(t.text for t in (case.becomes,) if t is not None)):
            silent = [found for found in lint(text, case.code) if not says_what_to_do(found)]
            assert silent == [], case.id
