"""Jupyter notebooks: the code cells as one Python source, each line where its cell has it.

What only IPython understands (`%magic`, `!command`, `help?`) is masked by Python of the same
length, so that every other line and column stays where it is.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

from placement_lint.files.source import Cell, Source, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")

# Cell magics that run the rest of the cell as Python in the notebook's own namespace.
_PYTHON_CELL_MAGICS = frozenset(
    {"capture", "debug", "ipytest", "memit", "mprun", "prun", "time", "timeit"}
)
# `%time statement` and `%timeit -n 10 statement` run Python too: only the magic itself is masked.
_TIMED = re.compile(r"%(?:time|timeit)(?:[ ]+-(?:[nrp][ ]*\d+|[tcqo]))*[ ]+(?=[^\s-])")
_ESCAPE = re.compile(r"[ \t]*(?:%|!|\?|,|;|/)")
_HELP = re.compile(r"[ \t]*[%!]{0,2}[\w.*\[\]]+\?{1,2}[ \t]*\Z")
_ASSIGNED = re.compile(r"[ \t]*[^\W\d][^=!<>%]*=[ \t]*(?=(?:!|%(?!=))\S)")
_EMPTY = re.compile(r"\s*(?:#|\Z)")
_SURROGATE = re.compile("[\ud800-\udfff]")

_STRING_START = re.compile(r"\"\"\"|'''|\"|'")


class NotPythonError(Exception):
    """A notebook whose cells are in another language; the message says which."""


def is_notebook(path: str) -> bool:
    """Tell whether a path names a notebook."""
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
    """Give a notebook with other texts in some of its cells, masked anew."""
    return _assembled(source.path, {**source.cell_texts, **texts}.items(), source.document)


def commented_out(text: str) -> str:
    """Give the text of a cell as comments of the same length, that no parser stops at."""
    return "".join(map(_comment, _split(text.replace("\0", " "))))


def mask(text: str) -> str:
    """Mask what only IPython understands in the text of one cell."""
    return "".join(_mask_cell(_split(text)))


def _assembled(path: str, texts: Iterable[tuple[int, str]], document: bytes | None) -> Source:
    """Make one source of the texts of code cells."""
    written: list[str] = []
    masked: list[str] = []
    cells: list[Cell] = []
    line = 1
    for number, text in texts:
        ended = text if text.endswith(("\n", "\r")) else text + "\n"
        lines = _split(ended)
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
        raise UnreadableError("not a notebook: JSON, but no object")
    if isinstance(notebook.get("worksheets"), list):
        raise UnreadableError("a notebook of format 3 or older: open it and save it to renew it")
    if not isinstance(notebook.get("cells"), list):
        raise UnreadableError("not a notebook: it has no list of cells")
    return notebook


def _language(notebook: dict[str, Any]) -> str:
    """Give the language of the kernel; Python where the notebook does not say."""
    metadata = notebook.get("metadata")
    if not isinstance(metadata, dict):
        return "python"
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(section)
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            return str(entry[key]).lower()
    return "python"


def _code(cell: object, number: int) -> str:
    """Give the text of a code cell, and nothing for another."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        message = f"not a notebook: cell {number} is none"
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


def _split(text: str) -> list[str]:
    return [line for line in _LINE.findall(text) if line]


def _mask_cell(lines: list[str]) -> list[str]:
    """Mask what only IPython understands in one cell.

    Comments may stand above a cell magic: the first lines of a form in Colab, as `#@title Install`.
    """
    first = next((index for index, line in enumerate(lines) if not _EMPTY.match(line)), len(lines))
    if first < len(lines) and lines[first].startswith("%%"):
        words = lines[first][2:].split(maxsplit=1)
        if not words or words[0] not in _PYTHON_CELL_MAGICS:
            return lines[:first] + [_comment(line) for line in lines[first:]]
        return [*lines[:first], _comment(lines[first]), *_mask_lines(lines[first + 1 :])]
    return _mask_lines(lines)


def _mask_lines(lines: list[str]) -> list[str]:
    masked = []
    state = _State()
    continued_escape = False
    for line in lines:
        body = line.rstrip("\r\n")
        if continued_escape:
            masked.append(_comment(line))
        else:
            replacement = None if state.inside else _masked_line(line)
            masked.append(line if replacement is None else replacement)
            state.feed(masked[-1])
            continued_escape = replacement is not None
        continued_escape = continued_escape and body.endswith("\\")
    return masked


def _masked_line(line: str) -> str | None:
    """Give a line at the start of a statement as Python. None: it is Python already."""
    body = line.rstrip("\r\n")
    indent = body[: len(body) - len(body.lstrip(" \t"))]
    timed = _TIMED.match(body, len(indent))
    if timed and _is_simple(body[timed.end() :]):
        width = timed.end() - len(indent)
        return f"{indent}{'0;'.ljust(width)}{line[timed.end() :]}"
    if _ESCAPE.match(body) or _HELP.match(body):
        return _filler(line, len(indent))
    assigned = _ASSIGNED.match(body)
    if assigned and not _is_simple(body.strip()):
        # A name that nothing binds: IPython's own value is anybody's guess.
        return f"{assigned.group()}{'_'.ljust(len(body) - assigned.end())}{line[len(body) :]}"
    return None


def _filler(line: str, indent: int) -> str:
    body = line.rstrip("\r\n")
    if not indent:
        return _comment(line)
    # An indented one may be all there is in its block.
    return f"{line[:indent]}{'0'.ljust(len(body) - indent)}{line[len(body) :]}"


def _comment(line: str) -> str:
    body = line.rstrip("\r\n")
    return f"#{line[1:]}" if body else line


def _is_simple(code: str) -> bool:
    """Tell whether a text is whole Python statements that may follow a semicolon."""
    try:
        ast.parse(f"0; {code}")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _State:
    """Whether the next line goes on with a string, a bracket or a line before it."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False

    @property
    def inside(self) -> bool:
        return bool(self.quote) or self.depth > 0 or self.continued

    def feed(self, line: str) -> None:
        at = 0
        body = line.rstrip("\r\n")
        self.continued = False
        while at < len(body):
            if self.quote:
                at = self._string(body, at)
                continue
            char = body[at]
            opening = _STRING_START.match(body, at)
            if opening:
                self.quote = opening.group()
                at = opening.end()
            elif char == "#":
                return
            elif char == "\\" and at == len(body) - 1:
                self.continued = True
                at += 1
            else:
                self.depth = max(self.depth + (char in "([{") - (char in ")]}"), 0)
                at += 1
        if len(self.quote) == 1 and not self.continued:
            # A string of one line that is never closed is a mistake of that line alone.
            self.quote = ""

    def _string(self, body: str, at: int) -> int:
        """Read on in a string; give the place behind it, or the end of the line."""
        while at < len(body):
            if body[at] == "\\":
                if at == len(body) - 1:
                    self.continued = True
                at += 2
            elif body.startswith(self.quote, at):
                at += len(self.quote)
                self.quote = ""
                return at
            else:
                at += 1
        return at
