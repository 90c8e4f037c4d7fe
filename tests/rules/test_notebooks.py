"""What is shown and what is measured in the cells of notebooks and scripts."""

from collections.abc import Callable

import pytest

from placement_lint.files.notebook import read_notebook
from placement_lint.files.opening import decode
from placement_lint.files.source import Cell, Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.rules.commitment.device_put_discarded import DevicePutDiscarded
from tests.rules import helpers

OPTIONS = FileOptions((DevicePutDiscarded,), sight=Sight.WHOLE)
FIRST = "import jax\nimport jax.numpy as jnp\nx, y = jnp.ones(16), 1\nd = jax.devices()[0]\n"
PUT = "jax.device_put(x, d)"
AFTER = "z = 1\n"

SHOWN = {
    "alone": PUT,
    "with a line end": f"{PUT}\n",
    "with blank lines and a comment": f"{PUT}\n\n# done\n\n",
    "with a comment on its line": f"{PUT}  # on the device;\n",
    "after others": f"y = 2\nprint(y)\n{PUT}",
    "after another on its line": f"y = 2; {PUT}",
    "over several lines": "jax.device_put(\n    x,\n    d,\n)\n",
    "after a function": f"def f():\n    return x\n\n{PUT}\n",
    "after a magic": f"%matplotlib inline\n{PUT}\n",
    "timed as a cell": f"%%time\n{PUT}\n",
}
MEASURED = {
    "a line": f"%timeit {PUT}\nprint(x)\n",
    "a line with options": f"%timeit -n 10 {PUT}\nprint(x)\n",
    "a timed line": f"%time {PUT}\nprint(x)\n",
    "a cell": f"%%timeit\n{PUT}\nprint(x)\n",
    "a cell with set-up": f"%%timeit y = 3\n{PUT};\nprint(x)\n",
    "a profiled cell": f"%%prun -l 3\n{PUT}\ny = 2\n",
}
DROPPED = {
    "a semicolon": f"{PUT};",
    "a semicolon and a comment": f"{PUT}; # nothing to see\n",
    "something below": f"{PUT}\ny = 2\n",
    "another expression below": f"{PUT}\ny\n",
    "another on its line": f"{PUT}; y = 2\n",
    "in a branch": f"if y:\n    {PUT}\n",
    "in a branch on one line": f"if y: {PUT}\n",
    "in a loop": f"for _ in range(2):\n    {PUT}\n",
    "a magic below": f"{PUT}\n%matplotlib inline\n",
    "a function below": f"{PUT}\ndef f():\n    return x\n",
}


def notebook(*texts: str) -> Source:
    return read_notebook("n.ipynb", helpers.notebook(*texts))


def script(*texts: str) -> Source:
    ended = (text if text.endswith("\n") else text + "\n" for text in texts)
    return decode("script.py", "".join(f"# %%\n{text}" for text in ended).encode())


def found(source: Source) -> int:
    result = lint_source(source, OPTIONS)
    assert {finding.code for finding in result.findings} <= {"JDP204"}, result.findings
    return len(result.findings)


@pytest.mark.parametrize("cell", [*SHOWN.values(), *MEASURED.values()], ids=[*SHOWN, *MEASURED])
@pytest.mark.parametrize("written", [notebook, script])
@pytest.mark.parametrize("others", [(), (AFTER,), (PUT, AFTER)], ids=["last", "first", "between"])
def test_what_is_shown_or_measured_is_not_discarded(
    written: Callable[..., Source], cell: str, others: tuple[str, ...]
) -> None:
    assert found(written(FIRST, cell, *others)) == 0


@pytest.mark.parametrize("cell", DROPPED.values(), ids=DROPPED)
@pytest.mark.parametrize("written", [notebook, script])
@pytest.mark.parametrize("others", [(), (AFTER,)], ids=["last", "first"])
def test_what_is_not_shown_is_discarded(
    written: Callable[..., Source], cell: str, others: tuple[str, ...]
) -> None:
    assert found(written(FIRST, cell, *others)) == 1


def test_the_fix_leaves_alone_what_is_shown() -> None:
    before = notebook(FIRST, PUT, f"{PUT}\n{PUT};\n{PUT}")
    result = fix_source(before, OPTIONS, unsafe=True)
    assert result.source.cell_texts == {
        1: FIRST, 2: f"{PUT}\n", 3: f"x = {PUT}\nx = {PUT};\n{PUT}\n",
    }  # fmt: skip


def test_a_plain_script_shows_nothing() -> None:
    assert found(Source("script.py", f"{FIRST}{PUT}\n")) == 1


@pytest.mark.parametrize("made", [notebook, script])
def test_a_large_cell_is_read_once_and_not_for_each_statement(
    made: Callable[..., Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    offsets = Source.cell_offsets

    def noted(source: Source, cell: Cell) -> tuple[int, int]:
        start, end = offsets(source, cell)
        read.append(end - start)
        return start, end

    monkeypatch.setattr(Source, "cell_offsets", noted)
    # What has no name has no fix: each of those is tried in its whole cell.
    unnamed = "jax.device_put(x + 1, d)\n"
    source = made(FIRST, unnamed * 50 + AFTER, f"%%timeit\n{PUT}\n{AFTER}")
    read.clear()
    findings = lint_source(source, OPTIONS).findings
    assert len(findings) == 50
    assert 0 < sum(read) <= 3 * len(source.content)
