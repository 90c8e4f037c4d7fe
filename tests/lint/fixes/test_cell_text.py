"""Edits in cells are judged by the statements around them, as by all of the cell."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.magics import mask
from placement_lint.files.python_tree import parsed
from placement_lint.files.source import Cell, Source
from placement_lint.findings import Edit, Span
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.fixes import cell_text
from placement_lint.lint.fixes.cell_text import CellText
from placement_lint.lint.fixes.notebook_cells import Cells
from placement_lint.rules.registry import all_rules
from placement_lint.syntax.edits import applied

if TYPE_CHECKING:
    import ast

TEXTS = {
    "flat": "import a\nx = 1\n\n# of y\ny = (\n    2\n)\nz = '''\nq\n  '''; w = 3\n",
    "blocks": (
        "if a:\n    b = 1\n    # of c\n    c = 2\n\n    # the end\nelif d: e = 1\nelse:\n"
        "    for f in g:\n        h()\n        i = [\n            j,\n        ]\n    else:\n"
        "        k\n# not there\nl = m\n"
    ),
    "decorated": (
        "@a\n@(\n    b\n)\nclass C:\n    '''Text\nof it'''\n    @d\n    async def e(self):\n"
        "        await f\n        return g\n    @(\n        h\n    )\n    def i(self): return j\n"
    ),
    "tried": (
        "try:\n\ta = 1\n\tb = 2\nexcept C:\n\tpass\nexcept D as e:\n\tif f:\n\t\tg()\n"
        "\t\th()\nfinally:\n\ti = 1 + \\\n\t\t2\n\tj = 1\n"
    ),
    "matched": (
        "match a:\n  case 1:\n    b = 1\n    c = 2\n  case _ if d:\n    pass\nwith e as f, \\\n"
        "     g:\n    if h: \\\n      i = 1\n    k = f'{i}'\n"
    ),
    "returns": "if a:\r\n  b = 1\r\n  c = 2\r\nd = 3\r\n",
    "quoted": "z = 1\na = '''\n%time b\nd?\n'''\nc = 1\n",
    "no end": "def f():\n    return 1\nx = f()\n\nif x:\n    y\n    z",
}
PUT_IN = [
    "", "x", "\n", "    y = 1\n", "y = 1\n", "\ty = 1\n", "if x:\n", "else:\n    pass\n", "(", ")",
    "'''", "\\\n", "# a", "    ", "        y\n    else:\n        y\n", "; y", "@d\n", "try:\n",
    "with x:\n    ", "except E:\n    pass\n", "case 2:\n", ":", "\\", "    if y:\n        z\n",
    "z\n      z",
]  # fmt: skip


def in_a_cell(text: str) -> tuple[Source, Cell]:
    """Give a cell in the middle of a script."""
    head = "# %%\nx = 1\n"
    source = Source("s.py", head + text + ("# %%\nend = 1\n" if text.endswith("\n") else ""))
    return source, Cell(2, 3, len(Source("s.py", text).line_starts) - text.endswith("\n"))


def is_python(text: str) -> bool:
    return parsed(text) is not None


def edit_of(source: Source, start: int, end: int, text: str) -> Edit:
    return Edit("s.py", Span(*source.position(start), *source.position(end)), text)


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", TEXTS)
def test_it_is_judged_as_by_all_of_it(name: str) -> None:
    source, cell = in_a_cell(TEXTS[name])
    text = CellText(source, cell)
    assert text.is_python
    assert source.text[text.begin : text.end] == TEXTS[name]
    lines = [*source.line_starts[2 : 2 + cell.line_count], text.end]
    rest = random.Random(name)  # noqa: S311
    places = sorted({*lines, *rest.sample(range(text.begin, text.end), 5)})
    kept = 0
    for start, end in itertools.combinations_with_replacement(places, 2):
        if end > start + 60:
            continue
        for put in PUT_IN:
            edits = [edit_of(source, start, end, put)]
            after = applied(source, edits, text.begin, text.end)
            assert text.is_python_after(edits) == is_python(after), after
            kept += is_python(after)
    assert kept > 50
    for _ in range(200):
        ends = sorted(rest.sample(places, 4))
        edits = [
            edit_of(source, start, end, rest.choice(PUT_IN)) for start, end in (ends[:2], ends[2:])
        ]
        after = applied(source, edits, text.begin, text.end)
        assert text.is_python_after(edits) == is_python(after), after


def test_a_backslash_before_the_line_end_joins_the_next_statement() -> None:
    source, cell = in_a_cell(TEXTS["returns"])
    text = CellText(source, cell)
    behind = source.text.index("b = 1") + len("b = 1")
    edits = [edit_of(source, behind, behind, "\\")]
    assert not is_python(applied(source, edits, text.begin, text.end))
    assert not text.is_python_after(edits)


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_plain_is_not_masked(name: str) -> None:
    source, cell = in_a_cell(TEXTS[name])
    text = CellText(source, cell)
    plain = 0
    for start in range(text.begin, text.end + 1):
        for put in ("%time x\n", "y?", "\n!ls\n", " = ", "%", "x = !ls", "y", "?\r\n", "\n", "'''"):
            edits = [edit_of(source, start, start, put)]
            after = applied(source, edits, text.begin, text.end)
            is_plain = text.is_plain_after(edits)
            plain += is_plain
            assert not is_plain or mask(after) == after
    assert bool(plain) == (name not in {"returns", "quoted"})


def test_a_line_that_goes_on_is_no_beginning_of_a_block() -> None:
    source, cell = in_a_cell("if a: \\\n    b = 1\nc\n")
    start = source.text.index("b = 1")
    text = CellText(source, cell)
    assert text.is_python_after([edit_of(source, start, start, "d = ")])
    assert not text.is_python_after([edit_of(source, start, start, "d\n    ")])


def test_what_would_be_too_deep_is_no_python() -> None:
    deep = "".join(f"{' ' * depth}if x:\n" for depth in range(98))
    source, cell = in_a_cell(f"{deep}{' ' * 98}y\n{' ' * 98}z\n")
    text = CellText(source, cell)
    assert text.is_python
    indent = " " * 98
    start = source.line_starts[101]
    one = [edit_of(source, start, start, f"{indent}if x:\n{indent} y\n")]
    two = [edit_of(source, start, start, f"{indent}if x:\n{indent} if x:\n{indent}  y\n")]
    assert [text.is_python_after(edits) for edits in (one, two)] == [True, False]


class Counting:
    """Counts what Python's parser is given."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> ast.Module | None:
        self.characters += len(text)
        return parsed(text)


def statements(count: int) -> str:
    return "def f(x):\n" + "".join(f"    y{n} = g(x, {n})\n" for n in range(count))


@pytest.mark.parametrize("kind", ["script", "notebook"])
def test_fixes_of_one_cell_are_judged_in_the_time_of_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def characters(count: int) -> int:
        counting = Counting()
        monkeypatch.setattr(cell_text, "parsed", counting)
        text = "# %%\n" + statements(count)
        source = Source("s.py", text)
        if kind == "notebook":
            lines = text.count("\n")
            source = Source("n.ipynb", text, cells=(Cell(1, 1, lines),), as_written=text)
        cells = Cells(source)
        for line in range(3, count + 3):
            edit = Edit(source.path, Span(line, 5, line, 6), "z")
            assert cells.keep([edit]) if kind == "script" else cells.split([edit])
        return counting.characters

    few, many = characters(200), characters(400)
    assert many < 2.3 * few
    assert few < 10 * len(statements(200))


def test_the_fixes_of_a_run_have_one_cell_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    options = FileOptions(tuple(all_rules()), sight=Sight.WHOLE)

    def characters(count: int) -> tuple[int, int]:
        counting = Counting()
        monkeypatch.setattr(cell_text, "parsed", counting)
        text = "# %%\nimport jax\n\n\ndef f(x, d):\n" + "    jax.device_put(x, d)\n" * count
        found = lint_source(Source("s.py", text + "    return x\n"), options).findings
        return sum(finding.fix is not None for finding in found), counting.characters

    (fixes, few), (more, many) = characters(30), characters(60)
    assert (fixes, more) == (30, 60)
    assert many < 2.3 * few
