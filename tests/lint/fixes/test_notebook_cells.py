"""Fixes in notebooks, with the real rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from placement_lint.files.notebook import read_notebook
from placement_lint.files.opening import masked
from placement_lint.files.source import Source
from placement_lint.findings import Edit, Span
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, FileResult, Sight
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.lint.fixes.notebook_cells import in_cells, keep_cells
from placement_lint.rules.registry import all_rules

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic), sight=Sight.WHOLE)


def notebook(*texts: str) -> bytes:
    """Give a notebook as Jupyter writes it, with a cell of text between those of code."""
    cells: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        cells.append({"cell_type": "markdown", "id": f"m{number}", "metadata": {}, "source": ["é"]})
        cells.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "id": f"c{number}",
                "metadata": {"tags": ["jax.default_device = None"]},
                "outputs": [{"name": "stdout", "output_type": "stream", "text": [text]}],
                "source": text.splitlines(keepends=True),
            }
        )
    value = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def fixed(*texts: str, unsafe: bool = False) -> tuple[list[str], FileResult]:
    """Fix a notebook; check that nothing but the code of its cells has changed."""
    before = notebook(*texts)
    result = fix_source(read_notebook("n.ipynb", before), OPTIONS, unsafe=unsafe)
    after = result.source.to_bytes()
    told = json.loads(after)
    codes = ["".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code"]
    for cell, text in zip(told["cells"][1::2], texts, strict=True):
        cell["source"] = text.splitlines(keepends=True)
    assert (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode() == before
    again = fix_source(read_notebook("n.ipynb", after), OPTIONS, unsafe=unsafe)
    assert again.source.to_bytes() == after
    assert lint_source(read_notebook("n.ipynb", after), OPTIONS).findings == result.result.findings
    return codes, result.result


def left(result: FileResult) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.cell) for finding in result.findings]


def test_one_cell() -> None:
    cells, result = fixed(
        "%load_ext autoreload\nimport jax",
        "!nvidia-smi\njax.default_device = jax.devices('cpu')[0]\ntokens = read()\n"
        "jax.default_device = None",
    )
    assert cells[1] == (
        "!nvidia-smi\nwith jax.default_device(jax.devices('cpu')[0]):\n    tokens = read()"
    )
    assert left(result) == []


def test_magics_in_a_block_move_with_it() -> None:
    cells, _ = fixed(
        "import jax\njax.default_device = pick()\n%cd data\ntokens = read()\n!ls\n"
        "files = !ls\n%time load()\njax.default_device = None\nprint?"
    )
    assert cells == [
        "import jax\nwith jax.default_device(pick()):\n    %cd data\n    tokens = read()\n    !ls\n"
        "    files = !ls\n    %time load()\nprint?"
    ]


def test_a_block_does_not_reach_over_the_end_of_a_cell() -> None:
    cells, result = fixed(
        "import jax", "jax.default_device = pick()", "tokens = read()", "jax.default_device = None"
    )
    assert cells == [
        "import jax",
        'jax.config.update("jax_default_device", pick())',
        "tokens = read()",
        'jax.config.update("jax_default_device", None)',
    ]
    assert left(result) == []


def test_a_creation_in_another_cell_is_committed() -> None:
    cells, result = fixed(
        "import jax\nimport jax.numpy as jnp\ncpu = jax.devices('cpu')[0]",
        "with jax.default_device(cpu):\n    table = jnp.zeros((512, 512))",
        "row = table[3]",
    )
    assert cells[1:] == [
        "with jax.default_device(cpu):\n    table = jax.device_put(jnp.zeros((512, 512)), cpu)",
        "row = jax.device_put(jax.device_get(table[3]))",
    ]
    assert left(result) == []


@pytest.mark.parametrize("magic", ["%timeit", "%time", "%timeit -n 10"])
def test_what_a_magic_runs_is_not_rewritten(magic: str) -> None:
    text = f"import jax\nbatch = 1\n{magic} jax.default_device(jax.devices('cpu')[0])"
    cells, result = fixed(text)
    assert cells == [text]
    assert left(result) == [("JDP102", 2)]


def test_an_import_goes_into_the_cell_of_the_imports() -> None:
    cells, result = fixed(
        "%matplotlib inline\nimport abc\nfrom safetensors.flax import load_file",
        'tokens = load_file("train.safetensors")["tokens"]',
        unsafe=True,
    )
    assert cells == [
        "%matplotlib inline\nimport abc\nimport jax\nfrom safetensors.flax import load_file",
        'with jax.default_device(jax.devices("cpu")[0]):\n'
        '    tokens = jax.device_put(load_file("train.safetensors")["tokens"], '
        'jax.devices("cpu")[0])',
    ]
    assert left(result) == []
    cells, _ = fixed(
        "import optax", "from safetensors.flax import load_file as f", LOADED, unsafe=True
    )
    assert cells[:2] == ["import jax\nimport optax", "from safetensors.flax import load_file as f"]


LOADED = 'tokens = f("train.safetensors")["tokens"]'


def test_the_last_line_of_a_cell() -> None:
    cells, _ = fixed(
        "import jax\njax.default_device = d\nrun()\njax.default_device = None", "x = 1"
    )
    assert cells == ["import jax\nwith jax.default_device(d):\n    run()", "x = 1"]


def test_a_cell_that_waits() -> None:
    cells, _ = fixed("import jax\njax.default_device = await pick()")
    assert cells == ['import jax\njax.config.update("jax_default_device", await pick())']


def test_edits_are_told_by_cell() -> None:
    cells, result = fixed("import jax\nx = 1", "\njax.device_put(x, d)\njax.device_put(y + 1, d);")
    assert cells[1] == "\nx = jax.device_put(x, d)\njax.device_put(y + 1, d);"
    source = read_notebook("n.ipynb", notebook("import jax\nx = 1", "\njax.device_put(x, d);"))
    (finding,) = lint_source(source, OPTIONS).findings
    assert finding.fix is not None
    assert finding.fix.edits == (Edit("n.ipynb", Span(2, 1, 2, 1), "x = ", cell=4),)
    assert left(result) == [("JDP204", 4)]


@pytest.mark.parametrize(
    "edit",
    [
        Edit("n.ipynb", Span(1, 1, 3, 2), ""),
        Edit("n.ipynb", Span(2, 2, 2, 3), ""),
        Edit("n.ipynb", Span(2, 4, 2, 4), "x"),
        Edit("n.ipynb", Span(3, 1, 3, 2), "x ="),
        Edit("n.ipynb", Span(1, 1, 1, 2), "!a"),
        Edit("n.ipynb", Span(4, 1, 4, 1), "    "),
    ],
    ids=["two-cells", "in-a-magic", "behind-a-magic", "not-python", "makes-a-magic", "indented"],
)
def test_edits_that_are_refused(edit: Edit) -> None:
    source = read_notebook("n.ipynb", notebook("a = 1\n!ls", "b = 1\nc = 1"))
    assert in_cells(source, [edit]) is None
    assert in_cells(source, [Edit("n.ipynb", Span(4, 1, 4, 2), "d")]) is not None


def test_an_import_behind_the_last_line_of_its_cell() -> None:
    first = "from safetensors.flax import load_file\nimport abc"
    second = 'tokens = load_file("train.safetensors")["tokens"]'
    (head, tail), _ = fixed(first, second, unsafe=True)
    assert head == first + "\nimport jax"
    assert tail.startswith("with jax.default_device(")


SCRIPT = Source("s.py", "import os\n# %%\nif x:\n    pass\n# %%\n%time y = 1\nz = 2\n")


@pytest.mark.parametrize(
    ("span", "text", "kept"),
    [
        (Span(1, 1, 1, 1), "import abc\n", True),  # above the first cell
        (Span(5, 1, 5, 1), "    y = 2\n", True),  # at the end of the first one
        (Span(5, 1, 5, 5), "# no", False),  # what begins a cell
        (Span(4, 1, 6, 1), "", False),  # over the end of one
        (Span(3, 1, 4, 1), "", False),  # what is left is no Python
        (Span(6, 7, 6, 8), "w", False),
        (Span(7, 1, 7, 2), "w", True),
    ],
)
def test_what_may_be_edited_in_a_script_in_cells(span: Span, text: str, *, kept: bool) -> None:
    source = masked(SCRIPT)
    assert keep_cells(source, [Edit("s.py", span, text)]) is kept
