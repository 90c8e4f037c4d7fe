"""What a finding is known by stays, whatever is written above it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.files.source import Cell, Source
from placement_lint.findings import Finding, Severity, Span
from placement_lint.fingerprint import Texts, fingerprints

TEXT = """\
import jax

class A:
    def f(self, x, d):
        jax.device_put(x, d)
        jax.device_put(x, d)

    async def g(self, x, d):
        jax.device_put(x, d)

jax.device_put(x, d)
"""
LINES = [number for number, line in enumerate(TEXT.split("\n"), 1) if "device_put" in line]


def found(line: int, **changes: object) -> Finding:
    values = {
        "code": "JDP204",
        "name": "device-put-discarded",
        "message": "nothing moves",
        "path": "a.py",
        "span": Span(line, 5, line, 8),
        "severity": Severity.ERROR,
        **changes,
    }
    return Finding(**values)  # type: ignore[arg-type]


def of(text: str, findings: list[Finding]) -> list[str]:
    return fingerprints(findings, lambda path: Source(path, text))


def of_lines(text: str) -> list[str]:
    """Give the fingerprints of the lines that put something on a device."""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "device_put" in line]
    return of(text, [found(line) for line in lines])


def test_no_two_are_alike() -> None:
    marks = of_lines(TEXT)
    assert len({*marks}) == len(marks) == 4
    assert all(len(mark) == 32 and int(mark, 16) >= 0 for mark in marks)


@pytest.mark.parametrize(
    "changed",
    [
        "# new\n\n" + TEXT,
        TEXT.replace("import jax", "def h():\n    pass\n\nimport jax"),
        TEXT.replace("    ", "\t"),
        TEXT.replace("    ", "  "),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("(x, d)\n", "(x,   d)  # noqa: JDP204 later\n").replace("x,   d", "x, d"),
        TEXT.replace("(x, d)\n", "(x, d)  # placement-lint: ignore[JDP204] later\n"),
        TEXT.replace("        jax", "        if x:\n            jax"),
    ],
)
def test_it_stays_where_the_line_does(changed: str) -> None:
    assert changed != TEXT
    assert of_lines(changed) == of_lines(TEXT)


def test_it_goes_by_rule_path_line_and_surroundings() -> None:
    whole = of(TEXT, [found(5)])
    assert of(TEXT, [found(5, code="JDP999")]) != whole
    assert of(TEXT, [found(5, path="b.py")]) != whole
    assert of(TEXT.replace("(x, d)\n", "(x, e)\n"), [found(5)]) != whole
    assert of(TEXT.replace("def f", "def other"), [found(5)]) != whole
    assert of(TEXT.replace("class A", "class B"), [found(5)]) != whole
    assert of(TEXT, [found(5, message="another", severity=Severity.INFO)]) == whole


def test_paths_are_named_alike_everywhere() -> None:
    assert of(TEXT, [found(5, path="a\\b.py")]) == of(TEXT, [found(5, path="a/b.py")])
    under = fingerprints([found(5)], lambda path: Source(path, TEXT), named=lambda p: f"x/{p}")
    assert under == of(TEXT, [found(5, path="x/a.py")])


def test_what_is_around_goes_by_indentation() -> None:
    texts = Texts("a.py", Source("a.py", TEXT))
    around = [texts.context(found(line))[1:] for line in LINES]
    assert around == [("A", "f"), ("A", "f"), ("A", "g"), ()]
    assert texts.context(found(4))[1:] == ("A",)
    assert texts.context(found(1)) == ("import jax",)


def test_lines_of_a_cell() -> None:
    text = "a = 1\njax.device_put(x, d)\n"
    notebook = Source("n.ipynb", "b = 2\n" + text, cells=(Cell(1, 1, 1), Cell(4, 2, 2)))
    inside = found(2, path="n.ipynb", cell=4)
    (mark,) = fingerprints([inside], lambda _: notebook)
    # Cells are moved about and put in; their numbers say nothing.
    (moved,) = fingerprints(
        [found(2, path="n.ipynb", cell=1)],
        lambda _: Source("n.ipynb", text, cells=(Cell(1, 1, 2),)),
    )
    assert mark == moved


@pytest.mark.parametrize("line", [1, 99, 0])
def test_without_a_text_it_goes_by_the_message(line: int) -> None:
    source = None if line == 1 else Source("a.py", "x\n")
    marks = fingerprints([found(line), found(line, message="m")], lambda _: source)
    assert len({*marks}) == 2
    assert marks == fingerprints([found(7), found(7, message="m")], lambda _: None)


@given(
    texts=st.lists(st.sampled_from(["x = 1", "    x = 1", "def f():", "class A:", "\tx", ""])),
    data=st.data(),
)
def test_the_order_of_findings_does_not_matter(texts: list[str], data: st.DataObject) -> None:
    text = "\n".join(texts)
    findings = [found(line, path=path) for line in range(1, len(texts) + 1) for path in "ab"]
    marks = dict(zip(findings, of(text, findings), strict=True))
    assert len({*marks.values()}) == len(findings)
    shuffled = data.draw(st.permutations(findings))
    assert dict(zip(shuffled, of(text, shuffled), strict=True)) == marks


@given(path=st.text(st.characters(), min_size=1), line=st.text(st.characters()))
def test_it_takes_anything(path: str, line: str) -> None:
    (mark,) = fingerprints([found(1, path=path)], lambda name: Source(name, line))
    assert len(mark) == 32
