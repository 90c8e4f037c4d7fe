"""Fixes are applied to a fixpoint, each whole, or the text stays as it was."""

from __future__ import annotations

import codecs
import re
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from placement_lint.files.source import Cell, Source
from placement_lint.findings import Applicability, Edit, Finding, Fix, Severity, Span
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileResult
from placement_lint.lint.fixes import apply
from placement_lint.lint.fixes.apply import FixResult, fix_source, fix_sources
from placement_lint.lint.tasks import failure
from placement_lint.prefilter.conditions import AnyOf
from placement_lint.rules.registry import rule_by_code
from tests.lint.helpers import (
    Around,
    Crashing,
    Grouped,
    Importing,
    Overlapping,
    Pair,
    PutFlagged,
    Renames,
    Wide,
    options,
    source,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import libcst as cst

    from placement_lint.rules.base import Rule
    from placement_lint.rules.context import Context


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


def test_fixes_that_only_begin_with_the_same_edit_are_made_one_after_another() -> None:
    result = fixed("x = near()()\n", Around)
    assert result.text == "x = f(near())()\n"
    assert result.counts == {"JDP813": 1}
    assert codes(result) == []


def test_an_import_that_two_fixes_need_is_inserted_once() -> None:
    result = fixed("path(1)\npath(2)\n", Importing)
    assert result.text == "import os\nos.path(1)\nos.path(2)\n"
    assert result.counts == {"JDP814": 2}


def test_of_a_group_one_is_applied_and_the_others_are_asked_again() -> None:
    result = fixed("left = 1\nright = 2\n", Grouped)
    assert result.text == "gone = 1\nright = 2\n"
    assert result.counts == {"JDP815": 1}
    assert codes(result) == []


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


def test_only_the_rules_of_the_round_that_went_wrong_are_named() -> None:
    # `wide(old)` is unwrapped, then renamed; what comes of the chain breaks the file one round on.
    class Ends(Renames):
        code, name = "JDP808", "ends"
        replacements: ClassVar[dict[str, str]] = {"chain3": "("}

    text = "old\nchain1\nwide(1)\n"
    result = fixed(text, Renames, Wide, Ends)
    assert_taken_back(result, text, "the fixes of JDP808 were reverted", "invalid syntax")


def test_only_the_rules_of_a_loop_are_named() -> None:
    text = "x = wide(wide(1))\nchain1\nping\n"

    class Pings(Renames):
        code, name = "JDP808", "pings"
        replacements: ClassVar[dict[str, str]] = {"chain3": "chain2", "chain2": "chain3"}

    class Starts(Renames):
        code, name = "JDP809", "starts"
        replacements: ClassVar[dict[str, str]] = {"chain1": "chain2"}

    result = fixed(text, Starts, Wide, Pings)
    assert_taken_back(result, text, "the fixes of JDP808 were reverted", "lead back")


def test_fix_that_changes_nothing_is_taken_back() -> None:
    assert_taken_back(fixed("noop\n"), "noop\n", "JDP804", "lead back")


def test_fixes_without_end_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MAX_ROUNDS", 5)
    assert_taken_back(fixed("grow\n"), "grow\n", "JDP804", "5 rounds")


def test_as_many_rounds_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last round is the one that finds nothing to do.
    monkeypatch.setattr(apply, "MAX_ROUNDS", 3)
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


def test_names_from_other_files_are_known_while_fixing() -> None:
    text = "from names import put\n\n\ndef f(x, d):\n    put(x, d)\n    return x\n"
    exports = {"names.put": "jax.device_put"}.get
    result = fix_source(source(text), options(rule_by_code("JDP204")), exports, unsafe=False)
    assert result.text == text.replace("    put", "    x = put")


def test_rule_that_fails_keeps_no_fix_of_another_away() -> None:
    result = fixed("old\ndel x\n", Renames, Crashing)
    assert result.text == "new\ndel x\n"
    assert codes(result) == ["JDP903"]
    assert "JDP803" in result.result.findings[0].message


def test_rule_that_fails_after_a_fix_has_it_taken_back() -> None:
    class Fragile(Crashing):
        """Fails where `new` is."""

        needs = AnyOf(b"new", b"old")

        def visit_Name(self, node: cst.Name, _ctx: Context) -> None:  # noqa: N802
            if node.value == "new":
                raise LookupError

    assert_taken_back(fixed("old\n", Renames, Fragile), "old\n", "JDP804", "internal error")


def test_analysis_that_fails_keeps_every_fix_away() -> None:
    def lint(sources: Mapping[str, Source]) -> dict[str, FileResult]:
        found = {path: lint_source(each, options(Renames)) for path, each in sources.items()}
        return {
            path: replace(result, findings=(failure(path, KeyError()), *result.findings))
            for path, result in found.items()
        }

    result = fix_sources({"a.py": source("old\n")}, lint, unsafe={"a.py": True})["a.py"]
    assert result.text == "old\n"
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


def test_notebook_that_cannot_be_written_back_byte_by_byte_is_not_fixed() -> None:
    cells = '{"cells": [{"cell_type": "code", "source": ["old\\n"]}]}'
    # Read by its zero bytes, which says nothing of the mark before them.
    odd = codecs.BOM_UTF16_BE + cells.encode("utf-16-be")
    for document, after in ((cells.encode(), "new\n"), (odd, "old\n")):
        notebook = Source("a.ipynb", "old\n", cells=(Cell(1, 1, 1),), document=document)
        assert fix_source(notebook, options(Renames), unsafe=True).text == after


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


@pytest.mark.every
def test_deep_code_is_fixed() -> None:
    # Python 3.12 writes out no more than some 750, whatever the stack.
    terms = 600 if sys.version_info[:2] == (3, 12) else 2_000
    text = "x = " + " + ".join(["old"] * terms) + "\n"
    result = fixed(text)
    assert result.text == text.replace("old", "new")
    assert result.counts == {"JDP804": terms}


# -- several files --------------------------------------------------------------------------------

_WORD = re.compile(r"(?P<level>here|there|bold)(?P<to>\w*)")


def by_words(sources: Mapping[str, Source]) -> dict[str, FileResult]:
    """Lint texts in which each word says what is to be mended.

    `here` becomes `done`; `there_b` does so together with a `+` before the text of the file b;
    `bold_b` likewise, and is unsafe.
    """
    return {path: FileResult(tuple(_words_of(source, sources))) for path, source in sources.items()}


def _words_of(source: Source, sources: Mapping[str, Source]) -> Iterator[Finding]:
    for match in _WORD.finditer(source.text):
        other = match["to"].removeprefix("_")
        span = Span(*source.position(match.start()), *source.position(match.end()))
        edits = [Edit(source.path, span, "done")]
        if other in sources:
            edits.append(Edit(other, Span(1, 1, 1, 1), "+"))
        level = Applicability.UNSAFE if match["level"] == "bold" else Applicability.SAFE
        fix = Fix(level, "Mend it", tuple(edits))
        yield Finding("JDP801", "word", match.group(), source.path, span, Severity.ERROR, fix=fix)


def fix_words(texts: Mapping[str, str], *, unsafe: str = "") -> dict[str, FixResult]:
    sources = {path: Source(path, text) for path, text in texts.items()}
    return fix_sources(sources, by_words, unsafe={path: path in unsafe for path in sources})


def texts(results: Mapping[str, FixResult]) -> dict[str, str]:
    return {path: result.text for path, result in sorted(results.items())}


def test_a_fix_edits_two_files_and_links_them() -> None:
    results = fix_words({"a": "there_b\n", "b": "made\n", "c": "here\n", "d": "x\n"})
    assert texts(results) == {"a": "done\n", "b": "+made\n", "c": "done\n", "d": "x\n"}
    assert [sorted(results[path].linked) for path in "abcd"] == [
        ["a", "b"],
        ["a", "b"],
        ["c"],
        ["d"],
    ]
    assert [results[path].counts for path in "abc"] == [{"JDP801": 1}, {}, {"JDP801": 1}]


START = {"a": "there_c", "b": "there_c", "c": "made"}


def test_links_reach_from_file_to_file() -> None:
    results = fix_words({"a": "there_b", "b": "x", "c": "x there_b", "d": "x there_c"})
    assert {path: result.linked for path, result in results.items()} == dict.fromkeys(
        "abcd", frozenset("abcd")
    )


def test_a_fix_that_meets_another_in_one_of_its_files_waits_in_all_of_them() -> None:
    rounds: list[dict[str, str]] = []

    def lint(current: Mapping[str, Source]) -> dict[str, FileResult]:
        rounds.append({path: source.text for path, source in current.items()})
        return by_words(current)

    sources = {path: Source(path, text) for path, text in START.items()}
    results = fix_sources(sources, lint, unsafe={})
    assert rounds == [
        START,
        {"a": "done", "b": "there_c", "c": "+made"},
        {"a": "done", "b": "done", "c": "++made"},
    ]
    assert texts(results) == rounds[-1]


def test_an_unsafe_fix_is_applied_only_where_each_of_its_files_allows_it() -> None:
    files = {"a": "bold_b", "b": "made"}
    assert texts(fix_words(files, unsafe="a")) == files
    assert texts(fix_words(files, unsafe="b")) == files
    assert texts(fix_words(files, unsafe="ab")) == {"a": "done", "b": "+made"}


def test_an_unsafe_fix_is_not_applied_where_nothing_is_said_of_a_file() -> None:
    sources = {path: Source(path, text) for path, text in (("a", "bold_b"), ("b", "made"))}
    for unsafe in ({}, {"a": True}, {"b": True}):
        assert texts(fix_sources(sources, by_words, unsafe=unsafe)) == {"a": "bold_b", "b": "made"}


def test_a_fix_with_one_file_that_may_not_be_edited_is_not_applied_in_the_other() -> None:
    sources = {path: Source(path, text) for path, text in (("a", "there_b"), ("b", "made"))}

    def lint(current: Mapping[str, Source]) -> dict[str, FileResult]:
        results = by_words(current)
        return {**results, "b": replace(results["b"], exact=False)}

    results = fix_sources(sources, lint, unsafe={})
    assert texts(results) == {"a": "there_b", "b": "made"}


def test_what_goes_wrong_is_taken_back_in_all_linked_files_and_in_no_other() -> None:
    files = {"a": "there_b\nold\n", "b": "made\nhere\n", "c": "here\n"}

    def lint(current: Mapping[str, Source]) -> dict[str, FileResult]:
        results = by_words(current)
        if "+" not in current["b"].text:
            return results
        return {**results, "b": replace(results["b"], exact=False)}

    sources = {path: Source(path, text) for path, text in files.items()}
    results = fix_sources(sources, lint, unsafe={})
    assert texts(results) == {**files, "c": "done\n"}
    complaint, *rest = results["b"].result.findings
    assert complaint.code == "JDP903"
    assert "JDP801 were reverted, here and in a: the result cannot be" in complaint.message
    assert [finding.code for finding in rest] == ["JDP801"]
    assert [finding.code for finding in results["a"].result.findings] == ["JDP801"]
    assert results["c"].result.findings == ()
    assert [results[path].counts for path in "abc"] == [{}, {}, {"JDP801": 1}]
