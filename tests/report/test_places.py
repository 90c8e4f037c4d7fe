from __future__ import annotations

import json

import pytest

from placement_lint.files.notebook import read_notebook
from placement_lint.files.notebook_json import lines_in_file
from placement_lint.files.source import Source
from placement_lint.findings import Span
from placement_lint.report.places import Region, region

SPAN = Span(2, 3, 3, 4)


def notebook(source: object, **dump: int) -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# t\n", "u"], "metadata": {}},
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []},
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=dump.get("indent")).encode()


def test_a_span_of_a_file_is_what_it_is() -> None:
    assert region(SPAN, None, None) == Region(2, 3, 3, 4)


def test_each_line_of_a_cell_has_one_in_the_file() -> None:
    data = notebook(["import jax\n", "x = 1\n", "y = 'a\\nb'"], indent=1)
    lines = data.decode().split("\n")
    expected = [
        lines.index(next(t for t in lines if word in t)) + 1 for word in ("jax", "x =", "y =")
    ]
    assert lines_in_file(data)[2] == expected
    assert len(lines_in_file(data)[1]) == 2
    source = read_notebook("n.ipynb", data)
    assert region(SPAN, 2, source) == Region(expected[1], None, expected[2], None)
    assert region(Span(9, 1, 9, 2), 2, source) == Region(1, None, 1, None)
    assert region(SPAN, 7, source) == Region(1, None, 1, None)


@pytest.mark.parametrize("source", ["a\nb\nc", ["a\nb\n", "c"], ["a", "\nb", "\nc"]])
def test_other_ways_to_write_a_cell(source: object) -> None:
    data = notebook(source)
    assert lines_in_file(data)[2] == [1, 1, 1]
    assert region(SPAN, 2, read_notebook("n.ipynb", data)) == Region(1, None, 1, None)


def test_without_a_document() -> None:
    assert region(SPAN, 2, None) == Region(1, None, 1, None)
    assert region(SPAN, 2, Source("n.ipynb", "x\n")) == Region(1, None, 1, None)
