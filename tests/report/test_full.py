from __future__ import annotations

from collections.abc import Callable

from placement_lint.files.source import Cell, Source
from placement_lint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Span,
)
from placement_lint.report.colour import Colours
from placement_lint.report.full import render

Make = Callable[..., Finding]

TRAIN = """\
import jax
import data

tokens = data.load()
for i in range(10):
    item = tokens[i]
"""
DATA = """\
import jax

def load():
    with jax.default_device(jax.devices("cpu")[0]):
        tokens = make()
    return tokens
"""


def test_a_finding_in_two_files(make_finding: Make) -> None:
    sources = {"train.py": Source("train.py", TRAIN), "data.py": Source("data.py", DATA)}
    finding = make_finding(
        code="JDP201",
        message="each lookup copies the whole array",
        path="train.py",
        span=Span(6, 12, 6, 21),
        confidence=Confidence.LIKELY,
        related=(Related("made here, uncommitted", "data.py", Span(5, 18, 5, 24)),),
        fix=Fix(
            Applicability.SAFE,
            "commit the array where it is made",
            (
                Edit("data.py", Span(5, 18, 5, 18), "jax.device_put("),
                Edit("data.py", Span(5, 24, 5, 24), ', jax.devices("cpu")[0])'),
            ),
        ),
    )
    assert render([finding], sources.get) == (
        "error[JDP201]: each lookup copies the whole array (likely)\n"
        " --> train.py:6:12\n"
        "  |\n"
        "6 |     item = tokens[i]\n"
        "  |            ^^^^^^^^^\n"
        "  |\n"
        "note: made here, uncommitted\n"
        " --> data.py:5:18\n"
        "  |\n"
        "5 |         tokens = make()\n"
        "  |                  ------\n"
        "  |\n"
        "help: commit the array where it is made (--fix)\n"
        "  5 -         tokens = make()\n"
        '  5 +         tokens = jax.device_put(make(), jax.devices("cpu")[0])\n'
        "\n"
    )


def test_without_a_source_and_with_an_unsafe_fix(make_finding: Make) -> None:
    edit = Edit("a.py", Span(2, 5, 2, 8), "x")
    finding = make_finding(fix=Fix(Applicability.UNSAFE, "do it", (edit,)))
    assert render([finding], lambda _: None) == (
        "error[JDP204]: nothing moves\n --> a.py:2:5\nhelp: do it (--fix --unsafe-fixes)\n\n"
    )


def test_a_fix_in_two_files_names_them(make_finding: Make) -> None:
    sources = {"a.py": Source("a.py", "a\n"), "b.py": Source("b.py", "b\n")}
    edits = (Edit("a.py", Span(1, 1, 1, 2), "x"), Edit("b.py", Span(1, 1, 1, 2), "y"))
    finding = make_finding(
        span=Span(1, 1, 1, 2), fix=Fix(Applicability.DISPLAY, "change both", edits)
    )
    assert render([finding], sources.get).endswith(
        "help: change both (by hand)\n  a.py\n  1 - a\n  1 + x\n  b.py\n  1 - b\n  1 + y\n\n"
    )


def test_a_notebook_shows_the_line_as_written(make_finding: Make) -> None:
    source = Source(
        "n.ipynb",
        "import jax\n0;      x[0]\n",
        cells=(Cell(1, 1, 1), Cell(3, 2, 1)),
        as_written="import jax\n%timeit x[0]\n",
    )
    edit = Edit("n.ipynb", Span(1, 9, 1, 13), "y", cell=3)
    other = Edit("n.ipynb", Span(1, 1, 1, 1), "import os\n", cell=1)
    finding = make_finding(
        path="n.ipynb",
        cell=3,
        span=Span(1, 9, 1, 13),
        related=(Related("made here", "n.ipynb", Span(1, 1, 1, 7), cell=1),),
        fix=Fix(Applicability.SAFE, "mend it", (other, edit)),
    )
    assert render([finding], lambda _: source) == (
        "error[JDP204]: nothing moves\n"
        " --> n.ipynb:cell 3:1:9\n"
        "  |\n"
        "1 | %timeit x[0]\n"
        "  |         ^^^^\n"
        "  |\n"
        "note: made here\n"
        " --> n.ipynb:cell 1:1:1\n"
        "  |\n"
        "1 | import jax\n"
        "  | ------\n"
        "  |\n"
        "help: mend it (--fix)\n"
        "  n.ipynb:cell 1\n"
        "  1 + import os\n"
        "  n.ipynb:cell 3\n"
        "  1 - %timeit x[0]\n"
        "  1 + %timeit y\n"
        "\n"
    )


def test_colour_only_when_asked(make_finding: Make) -> None:
    source = Source("a.py", "x\ny = foo\n")
    finding = make_finding()
    plain = render([finding], lambda _: source)
    painted = render([finding], lambda _: source, Colours(enabled=True))
    assert "\x1b" not in plain
    assert "\x1b[1;31merror[JDP204]\x1b[0m" in painted


def test_hostile_text_is_escaped(make_finding: Make) -> None:
    source = Source("a\x1b.py", "x\ny = \x1b[2J\n")
    finding = make_finding(path="a\x1b.py", message="m\x07")
    assert render([finding], lambda _: source) == (
        "error[JDP204]: m\\x07\n --> a\\x1b.py:2:5\n  |\n2 | y = \\x1b[2J\n  |     ^^^^^^\n  |\n\n"
    )
