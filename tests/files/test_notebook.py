from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from placement_lint.files.notebook import NotPythonError, is_notebook, read_notebook
from placement_lint.files.source import Cell, Source, UnreadableError


def code(*lines: str, **more: Any) -> dict[str, Any]:
    source = [line + "\n" for line in lines[:-1]] + list(lines[-1:])
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **more}


def notebook(*cells: object, **metadata: object) -> bytes:
    value = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(value).encode()


def read(*cells: object, **metadata: object) -> Source:
    return read_notebook("n.ipynb", notebook(*cells, **metadata))


def mask(*lines: str) -> list[str]:
    """Give one cell's lines as Python, after checking that nothing in them has moved."""
    source = read(code(*lines))
    assert source.as_written == "\n".join(lines) + "\n"
    masked = source.text.split("\n")[:-1]
    assert [len(line) for line in masked] == [len(line) for line in lines]
    ast.parse(source.text)
    return masked


def test_code_cells_become_one_text() -> None:
    markdown = {"cell_type": "markdown", "source": "# title", "metadata": {}}
    source = read(markdown, code("import jax", "x = 1"), code(), {**code(), "source": "y = 2\n"})
    assert source.text == "import jax\nx = 1\ny = 2\n"
    assert source.cells == (Cell(2, 1, 2), Cell(4, 3, 1))
    assert [source.cell_at(line) for line in (1, 2, 3)] == [Cell(2, 1, 2)] * 2 + [Cell(4, 3, 1)]


def test_line_ends_inside_cells_are_kept() -> None:
    source = read({**code(), "source": "a = 1\r\nb = 2\rc = 3"}, code("d = 4"))
    assert source.text == "a = 1\r\nb = 2\rc = 3\nd = 4\n"
    assert source.cells == (Cell(1, 1, 3), Cell(2, 4, 1))


def test_a_line_end_of_a_cell_stays_apart_from_that_of_the_next() -> None:
    data = json.dumps(
        {"cells": [{"cell_type": "code", "source": text} for text in ("x = 1\r", "\ny = 2")]}
    ).encode()
    source = read_notebook("a.ipynb", data)
    assert [cell.line_count for cell in source.cells] == [1, 2]
    assert source.cell_texts == {1: "x = 1\r\n", 2: "\ny = 2\n"}
    assert source.to_bytes() == data


def test_no_code_at_all() -> None:
    assert read() == Source("n.ipynb", "", as_written="")


@pytest.mark.parametrize(
    ("written", "masked"),
    [
        ("%matplotlib inline", "#matplotlib inline"),
        ("!pip install jax", "#pip install jax"),
        ("!!ls", "#!ls"),
        ("?jax", "#jax"),
        ("jax.numpy?", "#ax.numpy?"),
        ("x[0]??", "#[0]??"),
        (",f a b", "#f a b"),
        ("files = !ls *.py", "files = _       "),
        ("a, b = %sql SELECT 1", "a, b = _            "),
        ("%time x = f(y)", "0;    x = f(y)"),
        ("%timeit x[0]", "0;      x[0]"),
        ("%timeit -n 10 -r3 -o x[0]", "0;                   x[0]"),
        ("%timeit", "#timeit"),
        ("%time for i in x: f(i)", "#time for i in x: f(i)"),
        ("%%not_first", "#%not_first"),
    ],
)
def test_magics_are_masked(written: str, masked: str) -> None:
    assert mask("a = 0", written, "b = 1") == ["a = 0", masked, "b = 1"]


def test_indented_magics_leave_a_statement() -> None:
    lines = mask("if x:", "    !ls", "else:", "\t%time y = f()", "\t%cd ..")
    assert lines == ["if x:", "    0  ", "else:", "\t0;    y = f()", "\t0     "]


@pytest.mark.parametrize(
    "lines",
    [
        ["x = (10", "% 3)"],
        ["x = 10 \\", "% 3"],
        ["s = '''", "!not a command", "x?", "'''"],
        ['s = f"""{a}', '%d """'],
        ["s = 'a\\", "!b'"],
        ["x = {  # (", "  'a': 1}", "y = 3  # what?"],
        ["x != y", "a %= b", "f(a=1) % 2", "x = a % b"],
        ["s = '(' + \"[\" # {", "y = 1"],
        ["s = '\\'('", "y = 1"],
    ],
)
def test_python_is_left_alone(lines: list[str]) -> None:
    assert mask(*lines) == lines


def test_a_command_over_several_lines() -> None:
    lines = mask("!pip install \\", "   jax \\", "   flax", "import jax")
    assert lines == ["#pip install \\", "#  jax \\", "#  flax", "import jax"]


def test_a_bracket_in_a_mistake_does_not_swallow_the_rest() -> None:
    source = read(code("x = 'open", "%cd", "y = 1"))
    assert source.text == "x = 'open\n#cd\ny = 1\n"


@pytest.mark.parametrize("magic", ["%%bash", "%%html", "%%writefile x.py", "%%python", "%%"])
def test_cells_in_another_language(magic: str) -> None:
    lines = mask("", magic, "for f in *; do", "", "  echo $f; done")
    assert lines[2:] == ["#or f in *; do", "", "# echo $f; done"]


@pytest.mark.parametrize(
    "above", [["#@title Install"], ["#@title", "", "#@markdown Takes a minute.", "# and more"]]
)
def test_cell_magics_below_comments(above: list[str]) -> None:
    # Colab shows the lines above as a form.
    assert mask(*above, "%%bash", "if [ ! -d x ]; then", "fi") == [
        *above, "#%bash", "#f [ ! -d x ]; then", "#i",
    ]  # fmt: skip
    assert mask(*above, "%%time", "x = f()") == [*above, "#%time", "x = f()"]
    assert mask(*above, "x = f()", "%%bash") == [*above, "x = f()", "#%bash"]


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 3", "%%capture out", "%%prun"])
def test_cell_magics_over_python(magic: str) -> None:
    assert mask(magic, "x = f()", "!ls") == ["#" + magic[1:], "x = f()", "#ls"]


def test_a_cell_marked_as_another_language() -> None:
    source = read(code("SELECT 1", metadata={"vscode": {"languageId": "sql"}}), code("x = 1"))
    assert (source.text, source.cells) == ("x = 1\n", (Cell(2, 1, 1),))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": {"language": "python", "name": "python3"}},
        {"kernelspec": {"name": "x"}, "language_info": {"name": "Python"}},
        {"language_info": {"name": "ipython"}},
        {"kernelspec": 3, "language_info": []},
    ],
)
def test_python_kernels(metadata: dict[str, object]) -> None:
    assert read(code("x = 1"), **metadata).text == "x = 1\n"


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"language": "julia"}},
        {"language_info": {"name": "julia"}, "kernelspec": {"language": "python"}},
    ],
)
def test_other_kernels(metadata: dict[str, object]) -> None:
    with pytest.raises(NotPythonError, match="a notebook in julia"):
        read(code("x = 1"), **metadata)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON at line 1: Expecting value"),
        (b'{"cells": [\n}', "not valid JSON at line 2"),
        (b'{"cells": "\xff"}', "not valid utf-8 at byte 11"),
        (b"[" * 100_000, "its JSON is nested too deeply"),
        (b"[]", "not a JSON object"),
        (b"{}", "it has no list of cells"),
        (b'{"worksheets": []}', "format 3 or older"),
        (notebook(3), "cell 1 is not a JSON object"),
        (notebook({"cell_type": "code"}), "cell 1 has no source"),
        (notebook({"cell_type": "code", "source": [1]}), "cell 1 has no source"),
        (notebook(code("x = '\ud800'")), "half a character"),
    ],
)
def test_what_is_no_notebook(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        read_notebook("n.ipynb", data)


def test_metadata_that_is_none() -> None:
    data = json.dumps({"cells": [{**code("x = 1"), "metadata": None}], "metadata": None})
    assert read_notebook("n.ipynb", b"\xef\xbb\xbf" + data.encode()).text == "x = 1\n"


def test_a_notebook_without_code_cells_is_written_as_it_is() -> None:
    data = b'{"cells": [{"cell_type": "markdown", "source": "x"}]}'
    assert read_notebook("n.ipynb", data).to_bytes() == data


def test_is_notebook() -> None:
    assert is_notebook("a/b.ipynb")
    assert not is_notebook("a.py")


def test_shown_lines_are_the_author_s() -> None:
    source = read(code("%time x = 1", "y = 2"))
    assert [source.shown_line(line) for line in (1, 2)] == ["%time x = 1", "y = 2"]
    assert source.line_text(1) == "0;    x = 1"
