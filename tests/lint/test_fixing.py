"""Fixes are applied to a fixpoint, each whole, or the text stays as it was."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from placement_lint.files.source import Cell, Source
from placement_lint.lint import fixing
from placement_lint.lint.fixing import FixResult, fix_source
from tests.lint.helpers import (
    Crashing,
    Overlapping,
    Pair,
    PutFlagged,
    Renames,
    Wide,
    options,
    source,
)

if TYPE_CHECKING:
    from placement_lint.rules.base import Rule


def fixed(text: str, *rules: type[Rule], unsafe: bool = False) -> FixResult:
    return fix_source(source(text), options(*(rules or (Renames,))), unsafe=unsafe)


def codes(result: FixResult) -> list[str]:
    return [finding.code for finding in result.result.findings]


def assert_taken_back(result: FixResult, text: str, *words: str) -> None:
    assert result.text == text
    assert result.counts == {}
    complaint, *rest = result.result.findings
    assert complaint.code == "JDP903"
    for word in words:
        assert word in complaint.message
    assert rest == list(result.original.findings)


def test_every_finding_is_fixed_and_counted() -> None:
    result = fixed("old = 1\nx = old + old  # kept\n")
    assert result.text == "new = 1\nx = new + new  # kept\n"
    assert result.counts == {"JDP804": 3}
    assert codes(result) == []
    assert len(result.original.findings) == 3


def test_nothing_to_fix() -> None:
    result = fixed("x = 1\n")
    assert (result.text, result.counts) == ("x = 1\n", {})
    assert result.result == result.original


def test_fix_that_a_fix_makes_possible() -> None:
    result = fixed("chain1\n")
    assert result.text == "chain3\n"
    assert result.counts == {"JDP804": 2}


def test_nested_fixes_take_another_round() -> None:
    result = fixed("x = wide(wide(wide(old)))\n", Renames, Wide)
    assert result.text == "x = new\n"
    assert result.counts == {"JDP804": 1, "JDP805": 3}
    assert codes(result) == []


def test_levels() -> None:
    text = "old; risky; shown\n"
    safe = fixed(text)
    assert safe.text == "new; risky; shown\n"
    assert codes(safe) == ["JDP804", "JDP804"]
    unsafe = fixed(text, unsafe=True)
    assert unsafe.text == "new; bold; shown\n"
    assert [finding.message for finding in unsafe.result.findings] == ["shown is out"]


def test_edits_that_two_findings_share_are_made_once_and_fix_both() -> None:
    result = fixed("first + last\n", Pair)
    assert result.text == "FIRST + LAST\n"
    assert result.counts == {"JDP806": 2}


def test_suppressed_findings_are_not_fixed() -> None:
    result = fixed("old  # noqa\nold\n")
    assert result.text == "old  # noqa\nnew\n"
    assert result.counts == {"JDP804": 1}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_are_kept(newline: str) -> None:
    text = f"old{newline}x = '''{newline}'''{newline}old"
    assert fixed(text).text == text.replace("old", "new")


def test_mixed_line_ends_are_kept() -> None:
    assert fixed("old\r\nold\nold\r\n").text == "new\r\nnew\nnew\r\n"


def test_fixes_that_undo_one_another_are_taken_back() -> None:
    assert_taken_back(fixed("old\nping\n"), "old\nping\n", "JDP804", "lead back")


def test_fix_that_changes_nothing_is_taken_back() -> None:
    assert_taken_back(fixed("noop\n"), "noop\n", "JDP804", "lead back")


def test_fixes_without_end_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "MAX_ROUNDS", 5)
    assert_taken_back(fixed("grow\n"), "grow\n", "JDP804", "5 rounds")


def test_as_many_rounds_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last round is the one that finds nothing to do.
    monkeypatch.setattr(fixing, "MAX_ROUNDS", 3)
    assert fixed("chain1\n").text == "chain3\n"


def test_result_that_does_not_parse_is_taken_back() -> None:
    text = "x = wide(1)\nbroken\n"
    result = fixed(text, Renames, Wide)
    assert_taken_back(result, text, "JDP804, JDP805", "invalid syntax")


def test_result_that_only_the_compiler_refuses_is_taken_back() -> None:
    # LibCST parses a return outside of a function.
    class Returns(Renames):
        code, name = "JDP808", "returns"
        replacements: ClassVar[dict[str, str]] = {"old": "return 1"}

    assert_taken_back(fixed("old\n", Returns), "old\n", "JDP808", "does not compile")


def test_what_did_not_compile_before_need_not_compile_after() -> None:
    result = fixed("return old\n")
    assert result.text == "return new\n"


def test_warnings_of_the_compiler_are_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fixed("old is 1\n'\\d'\n").text == "new is 1\n'\\d'\n"


def test_future_imports_of_ours_do_not_count() -> None:
    # This module has `annotations` from __future__; the compiled text has not.
    assert fixed("x: (yield) = old\n").text == "x: (yield) = old\n".replace("old", "new")


def test_edits_of_one_fix_that_overlap_are_taken_back() -> None:
    assert_taken_back(fixed("muddled\n", Overlapping), "muddled\n", "JDP807", "overlap")


def test_rule_that_fails_keeps_every_fix_away() -> None:
    result = fixed("old\ndel x\n", Renames, Crashing)
    assert result.text == "old\ndel x\n"
    assert codes(result) == ["JDP903", "JDP804"]


@pytest.mark.parametrize("text", ["old\rx = 1\r", "a\n\fold\n"])
def test_text_that_libcst_does_not_give_back_is_not_fixed(text: str) -> None:
    result = fixed(text)
    assert result.text == text
    assert codes(result) == ["JDP804"]
    assert not result.result.exact


def test_notebook_without_its_bytes_is_not_fixed() -> None:
    notebook = Source("a.ipynb", "old\n", cells=(Cell(1, 1, 1),))
    result = fix_source(notebook, options(Renames), unsafe=True)
    assert result.text == "old\n"
    assert codes(result) == ["JDP804"]


def test_invalid_syntax_is_not_fixed() -> None:
    result = fixed("old = (\n")
    assert result.text == "old = (\n"
    assert codes(result) == ["JDP901"]


def test_text_that_the_encoding_cannot_hold_is_taken_back() -> None:
    latin = replace(source("accented\n"), encoding="latin-1")
    assert fix_source(latin, options(Renames), unsafe=False).text == "é\n"
    greek = replace(source("greek\n"), encoding="latin-1")
    assert_taken_back(fix_source(greek, options(Renames), unsafe=False), "greek\n", "latin-1")


def test_rules_without_fixes() -> None:
    text = "import jax\njax.device_put(1)\n"
    result = fixed(text, PutFlagged)
    assert (result.text, codes(result)) == (text, ["JDP801"])


def test_deep_code_is_fixed() -> None:
    text = "x = " + " + ".join(["old"] * 2_000) + "\n"
    result = fixed(text)
    assert result.text == text.replace("old", "new")
    assert result.counts == {"JDP804": 2_000}
