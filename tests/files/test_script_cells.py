from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.files.opening import decode, masked
from placement_lint.files.script_cells import begins_cell, cells_of, has_cells
from placement_lint.files.source import Cell, Source

SCRIPT = "import jax\n# %% load\nx = 1\n#%%\ny = 2\n"


def read(*lines: str, newline: str = "\n") -> Source:
    return decode("s.py", newline.join([*lines, ""]).encode())


def mask(*lines: str) -> list[str]:
    """Give a script's lines as Python, after checking that nothing in them has moved."""
    source = read(*lines)
    told = source.text.split("\n")[:-1]
    assert [len(line) for line in told] == [len(line) for line in lines]
    assert source.content == "\n".join([*lines, ""])
    assert source.to_bytes() == source.content.encode()
    ast.parse(source.text)
    return told


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# %%", True),
        ("#%%", True),
        ("# %% [markdown]", True),
        ("# %% loading {'tags': ['a']}", True),
        ("#%%%% deeper", True),
        ("# <codecell>", True),
        ("# In[3]:", True),
        ("# In[ ]:", True),
        ("    # %% inside of a block", False),
        ("x = 1  # %%", False),
        ("# 5 %% of it", False),
        ("## %%", False),
        ("# In[dex]", False),
        ("%%time", False),
    ],
)
def test_what_begins_a_cell(line: str, expected: bool) -> None:
    assert begins_cell(line) is expected
    assert has_cells(f"x = 1\n{line}\n") is expected


def test_the_cells() -> None:
    source = read(*SCRIPT.split("\n")[:-1])
    assert cells_of(source) == [Cell(1, 1, 1), Cell(2, 2, 2), Cell(3, 4, 3)]
    texts = [source.text[slice(*source.cell_offsets(cell))] for cell in cells_of(source)]
    assert texts == ["import jax\n", "# %% load\nx = 1\n", "#%%\ny = 2\n"]
    assert cells_of(read("x = 1")) == []
    assert cells_of(read("# %%", "x = 1")) == [Cell(1, 1, 3)]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("%matplotlib inline", "#matplotlib inline"),
        ("!pip install -U jax", "#pip install -U jax"),
        ("%time x = f(y)", "0;    x = f(y)"),
        ("files = !ls *.py", "files = _       "),
        ("jax.numpy?", "#ax.numpy?"),
        ("?jax", "#jax"),
    ],
)
def test_what_only_ipython_understands_is_masked(written: str, told: str) -> None:
    assert mask("# %%", "a = 0", written, "b = 1") == ["# %%", "a = 0", told, "b = 1"]
    # Also above the first cell.
    assert mask(written, "# %%") == [told, "# %%"]


def test_cell_magics() -> None:
    assert mask("# %%", "%%bash", "for f in *; do", "# %%", "%%time", "x = 1") == [
        "# %%", "#%bash", "#or f in *; do", "# %%", "#%time", "x = 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        ["# %%", "# %matplotlib inline", "# !pip install jax", "# %time x = f()", "x = 1"],
        ["# %% [markdown]", "# `%time x`", "# %%", "x = 10 \\", "% 3"],
        ["# %% [markdown]", '"""', "%time is a magic", "!ls is a command", '"""'],
        ["# %%", "x = (10", "% 3)", "s = f'{x!r}'", "y = x != 3"],
    ],
)
def test_python_stays_as_it_is(lines: list[str]) -> None:
    source = read(*lines)
    assert source.text == "\n".join([*lines, ""])
    assert source.as_written is None


@pytest.mark.parametrize("line", ["%matplotlib inline", "!ls", "x?"])
def test_a_file_without_cells_is_no_script_in_cells(line: str) -> None:
    source = read("x = 1", line)
    assert source.as_written is None
    assert line in source.text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_bytes_are_given_back(newline: str, encoding: str) -> None:
    lines = ["# -*- coding: latin-1 -*-"] if encoding == "latin-1" else []
    text = newline.join([*lines, "# %%", "!echo é", "x = 'é'", ""])
    data = text.encode(encoding)
    source = decode("s.py", data)
    assert source.as_written == text
    assert source.to_bytes() == data
    assert "é" not in source.line_text(len(lines) + 2)[:1]
    ast.parse(source.text)


PIECES = [
    "# %%\n",
    "x = 1\n",
    "!ls\n",
    "%cd\n",
    "'''\n",
    "(\n",
    ")\n",
    "if x:\n",
    "  !a \\\n",
    "?\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_nothing_moves_whatever_it_is(text: str) -> None:
    source = masked(Source("s.py", text))
    assert source.content == text
    assert [len(line) for line in source.text.split("\n")] == [
        len(line) for line in text.split("\n")
    ]
    assert masked(source) == source
    if source.as_written is not None:
        assert has_cells(text)
