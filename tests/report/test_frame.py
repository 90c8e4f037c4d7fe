from __future__ import annotations

from placement_lint.files.source import Source
from placement_lint.findings import Span
from placement_lint.report.colour import Colours
from placement_lint.report.frame import frame


def frame_of(text: str, span: Span) -> list[str]:
    return frame(Source("a.py", text), span, Colours())


def test_tabs_and_wide_characters_keep_the_marks_in_place() -> None:
    assert frame_of("\t日本 = é̈(x)\n", Span(1, 7, 1, 9)) == [
        "  |",
        "1 |     日本 = é̈(x)",
        "  |            ^",
        "  |",
    ]


def test_several_lines() -> None:
    assert frame_of("f(\n  1,\n\n)\n", Span(1, 1, 4, 2)) == [
        "  |",
        "1 | f(",
        "  | ^^",
        "2 |   1,",
        "  |   ^^",
        "3 |",
        "  | ^",
        "4 | )",
        "  | ^",
        "  |",
    ]


def test_many_lines_are_cut() -> None:
    lines = frame_of("".join(f"x{n}\n" for n in range(50)), Span(1, 1, 40, 3))
    starts = [line[:2].strip() for line in lines]
    assert [start for start in starts if start] == ["1", "2", "3", "4", "..", "40"]


def test_an_end_at_the_start_of_a_line_does_not_show_it() -> None:
    assert len(frame_of("a\nb\n", Span(1, 1, 2, 1))) == 4


def test_long_lines_are_cut_around_the_span() -> None:
    lines = frame_of("a" * 500 + "HERE" + "b" * 500 + "\n", Span(1, 501, 1, 505))
    assert lines[1].startswith("1 | ..." + "a" * 30 + "HERE" + "b")
    assert len(lines[1]) < 200
    assert lines[2].index("^") == lines[1].index("HERE")
    assert lines[2].count("^") == 4


def test_places_outside_the_source() -> None:
    assert frame_of("a\n", Span(7, 1, 7, 2)) == []
    assert frame_of("a", Span(1, 9, 1, 12)) == ["  |", "1 | a", "  |  ^", "  |"]
    assert frame_of("", Span(1, 1, 1, 1)) == ["  |", "1 |", "  | ^", "  |"]
