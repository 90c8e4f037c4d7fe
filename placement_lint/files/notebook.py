"""Jupyter notebooks: the code cells as one Python source, each line where its cell has it.

What only IPython understands (`%magic`, `!command`, `help?`) is masked by Python of the same
length, so that every other line and column stays where it is.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from placement_lint.files.magics import lines_of, mask
from placement_lint.files.source import Cell, Source, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_SURROGATE = re.compile("[\ud800-\udfff]")


class NotPythonError(Exception):
    """A notebook whose cells are in another language; the message says which."""


def is_notebook(path: str) -> bool:
    """Return whether a path names a notebook."""
    return path.endswith(".ipynb")


def read_notebook(path: str, data: bytes) -> Source:
    """Read the code of a notebook.

    Raises UnreadableError where the bytes are not a notebook, and NotPythonError where its kernel
    speaks another language.
    """
    notebook = _notebook(data)
    language = _language(notebook)
    if language not in {"python", "ipython"}:
        message = f"a notebook in {language}"
        raise NotPythonError(message)
    codes = ((number, _code(cell, number)) for number, cell in enumerate(notebook["cells"], 1))
    return _assembled(path, ((number, text) for number, text in codes if text), data)


def with_cell_texts(source: Source, texts: Mapping[int, str]) -> Source:
    """Return a notebook with other texts in some of its cells, masked again."""
    return _assembled(source.path, {**source.cell_texts, **texts}.items(), source.document)


def _assembled(path: str, texts: Iterable[tuple[int, str]], document: bytes | None) -> Source:
    """Make one source of the texts of code cells."""
    written: list[str] = []
    masked: list[str] = []
    cells: list[Cell] = []
    line = 1
    for number, text in texts:
        ended = text if text.endswith(("\n", "\r")) else text + "\n"
        if ended.startswith("\n") and written and written[-1].endswith("\r"):
            # They are two line ends, not one of both.
            written[-1] += "\n"
            masked[-1] += "\n"
        lines = lines_of(ended)
        cells.append(Cell(number, line, len(lines)))
        written.append(ended)
        masked.append(mask(ended))
        line += len(lines)
    return Source(
        path,
        "".join(masked),
        cells=tuple(cells),
        as_written="".join(written),
        document=document,
    )


def _notebook(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(data)
    except UnicodeDecodeError as error:
        message = f"not a notebook: not valid {error.encoding} at byte {error.start}"
        raise UnreadableError(message) from error
    except json.JSONDecodeError as error:
        message = f"not a notebook: not valid JSON at line {error.lineno}: {error.msg}"
        raise UnreadableError(message) from error
    except ValueError as error:
        message = f"not a notebook: not valid JSON: {error}"
        raise UnreadableError(message) from error
    except RecursionError as error:
        raise UnreadableError("not a notebook: its JSON is nested too deeply") from error
    if not isinstance(notebook, dict):
        raise UnreadableError("not a notebook: not a JSON object")
    if isinstance(notebook.get("worksheets"), list):
        raise UnreadableError("a notebook of format 3 or older: open it and save it to renew it")
    if not isinstance(notebook.get("cells"), list):
        raise UnreadableError("not a notebook: it has no list of cells")
    return notebook


def _language(notebook: dict[str, Any]) -> str:
    """Return the language of the kernel; Python where the notebook does not say."""
    metadata = notebook.get("metadata")
    if not isinstance(metadata, dict):
        return "python"
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(section)
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            return str(entry[key]).lower()
    return "python"


def _code(cell: object, number: int) -> str:
    """Return the text of a code cell, and nothing for another."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        message = f"not a notebook: cell {number} is not a JSON object"
        raise UnreadableError(message)
    metadata = cell.get("metadata")
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = vscode.get("languageId", "python") if isinstance(vscode, dict) else "python"
    if cell["cell_type"] != "code" or language != "python":
        return ""
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(piece, str) for piece in source):
        source = "".join(source)
    if not isinstance(source, str):
        message = f"not a notebook: cell {number} has no source"
        raise UnreadableError(message)
    if _SURROGATE.search(source):
        message = f"cell {number} has half a character (a lone surrogate) in it"
        raise UnreadableError(message)
    return source
