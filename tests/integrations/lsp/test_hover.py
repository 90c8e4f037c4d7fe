"""What is shown for a place is short."""

from __future__ import annotations

import itertools
import tempfile
from typing import TYPE_CHECKING

from lsprotocol import types

from placement_lint.findings import Applicability, Finding, Fix, Severity, Span
from placement_lint.integrations.lsp.hover import MOST_LINES, first_sentence, hover
from placement_lint.integrations.lsp.positions import Places
from placement_lint.integrations.lsp.rule_pages import RulePages
from placement_lint.lint.lookup import NameInfo
from placement_lint.rules.pages import all_pages

if TYPE_CHECKING:
    import pytest


def test_a_hover_has_ten_lines_at_most() -> None:
    span = Span(1, 0, 1, 1)
    fix = Fix(Applicability.UNSAFE, "Take it\naway", ())
    for number, name in itertools.product(range(1, 9), (None, NameInfo("x", span, "an\narray"))):
        for each in (fix, None):
            found = Finding(
                "JDP201", "a-name", "One\n\ntwo", "x.py", span, Severity.ERROR, fix=each
            )
            said = hover(name, [found] * number, Places("x", "utf-16"), 0, lambda _: "file:///x")
            assert said is not None
            assert isinstance(said.contents, types.MarkupContent)
            lines = said.contents.value.splitlines()
            assert len(lines) <= MOST_LINES
            shown = sum(line.startswith("**JDP201**") for line in lines)
            assert shown >= min(number, 2)
            beside = [line for line in lines if "more finding" in line]
            assert [line.split()[2] for line in beside] == [str(number - shown)] * (shown < number)


def test_every_rule_has_a_reason_of_one_sentence() -> None:
    for page in all_pages():
        reason = first_sentence(page.section("Why is this bad?"))
        assert reason.endswith((".", ":")), (page.code, reason)
        assert reason.count("`") % 2 == 0, (page.code, reason)
        assert len(reason) < 400, (page.code, reason)


def test_a_page_that_cannot_be_written_has_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    pages = RulePages()
    assert pages.link("JDP201") is None
    pages.delete()
