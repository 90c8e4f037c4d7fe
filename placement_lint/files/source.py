"""One source file: its bytes, the text in them, and what is needed to write it back unchanged."""

from __future__ import annotations

import bisect
import codecs
import io
import re
import tokenize
from dataclasses import dataclass, field, replace
from functools import cached_property

# Python's own line ends only: str.splitlines also splits at form feeds and Unicode separators.
_LINE_END = re.compile(r"\r\n|\r|\n")


CELL_WORDS = ("%%", "<codecell>", "In[")
"""Without one of these a script has no cells."""


class UnreadableError(Exception):
    """A file whose text cannot be had; the message says why, without the path."""


@dataclass(frozen=True)
class Cell:
    """One code cell of a notebook: its number (from 1, of all cells) and its lines in the text."""

    number: int
    first_line: int
    line_count: int


@dataclass(frozen=True)
class Source:
    """The text of one file.

    `text` has no byte order mark, and its line ends are the file's own. For a notebook it is the
    code cells one after another, and `cells` says which lines belong to which.
    """

    path: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    cells: tuple[Cell, ...] = ()
    as_written: str | None = None
    """What to show in place of `text`, character by character: what it was before masking, in a
    notebook or a script in cells."""
    document: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes of the notebook that the cells were first read from."""
    rewritable: bool = True
    """Whether the encoding gives the bytes that were read back: some have two for one character."""

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> Source:
        """Decode Python source: by its byte order mark or coding cookie, else UTF-8.

        What only IPython understands is not masked: see `placement_lint.files.opening`.
        Raises UnreadableError where the bytes are not in that encoding or the encoding is unknown.
        """
        bom = data.startswith(codecs.BOM_UTF8)
        try:
            encoding = declared_encoding(data)
        except SyntaxError as error:
            raise UnreadableError(_cookie_problem(data, error)) from error
        except LookupError as error:
            # From 3.14 on it decodes the line as well, and some encodings are none of text.
            raise UnreadableError(_not_text(error)) from error
        encoding = "utf-8" if bom else encoding
        try:
            text = data[len(codecs.BOM_UTF8) if bom else 0 :].decode(encoding)
        except UnicodeDecodeError as error:
            line = _line_ends_in(data[: error.start], encoding) + 1
            raise UnreadableError(_not_valid(encoding, error.start, line)) from error
        except LookupError as error:
            raise UnreadableError(_not_text(error)) from error
        except ValueError as error:
            reason = f"cannot be decoded as {encoding}: {error}"
            raise UnreadableError(reason) from error
        source = cls(path, text, encoding, bom)
        if encoding != "utf-8" and not source._gives_back(data):
            source = replace(source, rewritable=False)
        return source

    def _gives_back(self, data: bytes) -> bool:
        try:
            return self.encode(self.text) == data
        except UnicodeError:
            return False

    def encode(self, text: str) -> bytes:
        """Return the bytes of a new text for this file: same encoding, same byte order mark.

        Raises UnicodeError where the encoding has no such character.
        """
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)

    @property
    def content(self) -> str:
        """What the author wrote, which fixes change: `text`, or the cells before masking."""
        return self.text if self.as_written is None else self.as_written

    @property
    def cell_texts(self) -> dict[int, str]:
        """What is written in each code cell of a notebook, by its number."""
        content = self.content
        return {cell.number: content[slice(*self.cell_offsets(cell))] for cell in self.cells}

    def cell_offsets(self, cell: Cell) -> tuple[int, int]:
        """Return where the text of a cell begins and ends."""
        starts = self.line_starts
        behind = cell.first_line - 1 + cell.line_count
        end = starts[behind] if behind < len(starts) else len(self.text)
        return starts[cell.first_line - 1], end

    def to_bytes(self) -> bytes:
        """Return the file with this text in it, in the way that it was written.

        Raises UnicodeError where the encoding has no such character.
        """
        # A notebook may have no code cells, and is one all the same.
        if not self.cells and self.document is None:
            return self.encode(self.content)
        from placement_lint.files.notebook_json import rewrite

        if self.document is None:
            raise ValueError("a notebook that was not read from bytes")
        return rewrite(self.document, self.cell_texts)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of each line's first character."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def newline(self) -> str:
        """The line end that an inserted line takes: the file's first one."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column, from 1, of an offset into the text."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset(self, line: int, column: int, cell: int | None = None) -> int:
        """Return the offset of a line and column; the inverse of `position`.

        In a cell of a notebook, the line is one of its own.
        """
        return self.line_starts[line + self.lines_before(cell) - 1] + column - 1

    def lines_before(self, cell: int | None) -> int:
        """Return how many lines of the text stand above those of a cell."""
        if cell is None:
            return 0
        return self._lines_before.get(cell, 0)

    @cached_property
    def _lines_before(self) -> dict[int, int]:
        return {part.number: part.first_line - 1 for part in self.cells}

    @cached_property
    def _first_lines(self) -> list[int]:
        return [cell.first_line for cell in self.cells]

    def line_text(self, line: int) -> str:
        """Return one line without its end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def shown_line(self, line: int) -> str:
        """Return one line without its end, as its author wrote it."""
        if self.as_written is None:
            return self.line_text(line)
        start = self.line_starts[line - 1]
        return self.as_written[start : start + len(self.line_text(line))]

    def cell_at(self, line: int) -> Cell | None:
        """Return the notebook cell that a line of the text belongs to."""
        if not self.cells:
            return None
        index = bisect.bisect_right(self._first_lines, line)
        return self.cells[max(index - 1, 0)]


def declared_encoding(data: bytes) -> str:
    """Return the encoding of Python source: by its byte order mark or coding cookie, else UTF-8.

    Raises SyntaxError where there is none of that name or the first lines are not in it, and from
    Python 3.14 on also LookupError, where it is none of text.
    """
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def _line_ends_in(data: bytes, encoding: str) -> int:
    """Return how many lines end in bytes that may not all be in an encoding."""
    try:
        return len(_LINE_END.findall(data.decode(encoding, "replace")))
    except UnicodeError:  # some encodings, such as `idna`, can do no more than fail
        return data.count(b"\n")


def _not_valid(encoding: str, byte: int, line: int) -> str:
    return (
        f"not valid {encoding} at byte {byte} (line {line}): "
        "declare the encoding in the first line or save the file as UTF-8"
    )


def _not_text(error: LookupError) -> str:
    return f"cannot be decoded: {error}"


def _cookie_problem(data: bytes, error: SyntaxError) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return _not_valid("utf-8", problem.start, line)
    return error.msg
