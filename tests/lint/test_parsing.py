"""Sources of which LibCST does not get through all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.files.notebook import read_notebook
from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.lint.linter import Linter
from placement_lint.rules.registry import all_rules
from tests.rules.helpers import notebook

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic), sight=Sight.WHOLE)
HEAD = "import jax\nimport jax.numpy as jnp\nx, d = jnp.ones(3), jax.devices()[0]\n"
PUT = "jax.device_put(x, d)\nprint(x)\n"


def found(*texts: str) -> list[tuple[str, int | None, int]]:
    source = read_notebook("n.ipynb", notebook(*texts))
    return [(f.code, f.cell, f.span.line) for f in lint_source(source, OPTIONS).findings]


BROKEN = {
    "a statement": ("y = 1\nif [ ! -d x ]; then\n", 2),
    "a bracket that stays open": ("y = f(1,\n      2\n", 1),
    "a string that stays open": ('y = """never\nends\n', 1),
    "a block without a body": ("for i in x:\n", 1),
    "a line that is indented": ("y = 1\n  z = 2\n", 2),
    "a bracket too many": ("y = (1))\n", 1),
    "the syntax of Python 2": ("print x\n", 1),
}


@pytest.mark.parametrize(("cell", "line"), BROKEN.values(), ids=BROKEN)
def test_the_rest_of_a_notebook_is_checked(cell: str, line: int) -> None:
    assert found(HEAD, cell, PUT) == [("JDP901", 2, line), ("JDP204", 3, 1)]
    assert found(cell, HEAD, PUT) == [("JDP901", 1, line), ("JDP204", 3, 1)]
    assert found(HEAD, PUT, cell) == [("JDP204", 2, 1), ("JDP901", 3, line)]


def test_every_broken_cell_is_named() -> None:
    cells = [cell for cell, _ in BROKEN.values()]
    told = found(HEAD, *cells, PUT)
    lines = [line for _, line in BROKEN.values()]
    assert told == [
        *(("JDP901", number, line) for number, line in enumerate(lines, 2)),
        ("JDP204", len(cells) + 2, 1),
    ]


def test_a_notebook_of_broken_cells_alone() -> None:
    assert found("import jax\n)\n", "(\n") == [("JDP901", 1, 2), ("JDP901", 2, 1)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x = 1\nif [ ! -d y ]; then\nz = 2\n", (2, 6)),
        ("x = 1\n)\nz = 2\n", (2, 1)),
        ("x = 1\ny = (\n\n", (2, 5)),
        ("x = 1\n  y = 2\n", (2, 3)),
        ("x = 1\nif x:\ny = 2\n", (3, 1)),
        ("x = 1\ndef f(:\n    pass\n", (2, 7)),
        ("", None),
    ],
)
def test_where_it_stops(text: str, place: tuple[int, int] | None) -> None:
    findings = lint_source(Source("s.py", text), OPTIONS).findings
    assert [(f.span.line, f.span.column) for f in findings] == ([place] if place else [])


def test_a_null_byte_in_a_cell() -> None:
    assert found(HEAD, "y = '\0'\n", PUT) == [("JDP901", 2, 1), ("JDP204", 3, 1)]


def test_comments_in_a_broken_cell_silence_nothing_and_are_not_judged() -> None:
    broken = "y = (  # noqa: JDP204\n"
    assert found(HEAD, broken, PUT) == [("JDP901", 2, 1), ("JDP204", 3, 1)]


def test_nothing_is_mended_beside_a_broken_cell() -> None:
    before = read_notebook("n.ipynb", notebook(HEAD, ")", PUT))
    result = fix_source(before, OPTIONS, unsafe=True)
    assert result.source == before
    assert [f.fix for f in result.result.findings] == [None, None]


def test_cells_that_go_on_in_one_another() -> None:
    # Neither is Python, and both together are.
    assert found(HEAD, "y = (1,\n", "2)\n", PUT) == [("JDP204", 4, 1)]


def test_a_notebook_in_a_run(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("import jax\n")
    (tmp_path / "n.ipynb").write_bytes(notebook(HEAD, "!ls\n)\n", PUT))
    outcome = Linter(lambda _: Settings()).check(
        [str(tmp_path / name) for name in ("data.py", "n.ipynb")]
    )
    assert [(f.code, f.cell) for f in outcome.findings] == [("JDP901", 2), ("JDP204", 3)]


# -- what LibCST does not know --------------------------------------------------------------------


@pytest.mark.parametrize("annotated", ["(x): int", "(x): jax.Array = x", "(d.a): int = 1"])
def test_annotations_in_parentheses(annotated: str) -> None:
    before = Source("s.py", f"{HEAD}{annotated}\n{PUT}")
    findings = lint_source(before, OPTIONS).findings
    assert [(f.code, f.span.line) for f in findings] == [("JDP204", 5)]
    fixed = fix_source(before, OPTIONS, unsafe=False)
    assert fixed.source.text == before.text.replace("\njax.dev", "\nx = jax.dev")
    assert fixed.result.findings == ()


def test_an_annotation_in_parentheses_is_an_assignment() -> None:
    text = (
        "import jax\nimport jax.numpy as jnp\n"
        "with jax.default_device(jax.devices('cpu')[0]):\n    (x): jax.Array = jnp.ones(3)\nx[0]\n"
    )
    findings = lint_source(Source("s.py", text), OPTIONS).findings
    assert [(f.code, f.span.line, f.span.column) for f in findings] == [("JDP201", 5, 1)]
    assert "    (x): jax.Array = " in fix_source(Source("s.py", text), OPTIONS, unsafe=True).text


def test_in_a_notebook_with_a_broken_cell() -> None:
    assert found(f"{HEAD}(x): int\n", "(", PUT) == [("JDP901", 2, 1), ("JDP204", 3, 1)]


def test_what_is_broken_stays_broken() -> None:
    findings = lint_source(Source("s.py", f"{HEAD}(x): int = (\n{PUT}"), OPTIONS).findings
    assert [f.code for f in findings] == ["JDP901"]
