from __future__ import annotations

from placement_lint.files.source import Source
from placement_lint.findings import Edit, Span
from placement_lint.report.change import change
from placement_lint.report.colour import Colours


def change_of(text: str, *edits: tuple[Span, str]) -> list[str]:
    source = Source("a.py", text)
    return change(source, [Edit("a.py", span, new) for span, new in edits], Colours())


def test_lines_are_numbered_as_before_and_as_after() -> None:
    lines = change_of(
        "a\nb\nc\nd\n",
        (Span(1, 1, 1, 1), "# new\n"),
        (Span(3, 1, 3, 2), "C"),
    )
    assert lines == ["  1 + # new", "  3 - c", "  4 + C"]


def test_what_is_deleted_to_the_end() -> None:
    assert change_of("a\nb", (Span(2, 1, 2, 2), "")) == ["  2 - b"]
    assert change_of("a\r\nb\r\n", (Span(2, 1, 3, 1), "")) == ["  2 - b"]


def test_edits_that_do_not_fit() -> None:
    assert change_of("a\n", (Span(9, 1, 9, 2), "x")) == []
    assert change_of("abc\n", (Span(1, 1, 1, 3), "x"), (Span(1, 2, 1, 4), "y")) == []


def test_long_changes_are_cut() -> None:
    text = "".join(f"x{n}\n" for n in range(100))
    lines = change_of(text, (Span(1, 1, 51, 1), ""))
    assert len(lines) == 17
    assert lines[-1].endswith("... 34 more changed lines")
    assert change_of(text * 9, (Span(1, 1, 851, 1), "")) == []
