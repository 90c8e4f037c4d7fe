"""Codes and names that rules had before."""

from __future__ import annotations

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.rules import redirects
from placement_lint.rules.redirects import REDIRECTS
from placement_lint.rules.registry import all_rules
from placement_lint.rules.selection import UnknownSelectorError, matching_codes


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"JDP199": "JDP101", "state-assigned": "JDP101"}
    monkeypatch.setattr(redirects, "REDIRECTS", old)


def test_every_redirect_leads_from_nothing_to_a_rule() -> None:
    codes = {rule.code for rule in all_rules()}
    names = {rule.name for rule in all_rules()}
    assert set(REDIRECTS.values()) <= codes
    assert not set(REDIRECTS) & (codes | names)


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize("selector", ["JDP199", "jdp199", "state-assigned", "State-Assigned"])
def test_an_old_code_or_name_selects_the_rule_of_today(selector: str) -> None:
    assert matching_codes(selector) == {"JDP101"}


@pytest.mark.parametrize("selector", ["JDP199", "state-assigned"])
def test_without_a_redirect_it_is_unknown(selector: str) -> None:
    with pytest.raises(UnknownSelectorError):
        matching_codes(selector)


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize(
    "comment",
    ["# noqa: JDP199", "# placement-lint: ignore[jdp199]",
     "# placement-lint: ignore[state-assigned]"]
)  # fmt: skip
def test_an_old_code_or_name_silences_the_rule_of_today(comment: str) -> None:
    options = FileOptions(all_rules(), sight=Sight.WHOLE)
    text = f"import jax\njax.default_device = None  {comment}\n"
    assert lint_source(Source("a.py", text), options).findings == ()
