"""Fixes in notebooks: given by cell, and offered only where every cell goes on standing alone."""

from __future__ import annotations

import bisect
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.files.magics import mask
from placement_lint.files.python_tree import parsed
from placement_lint.files.script_cells import begins_cell, cells_of
from placement_lint.findings import Edit, Span
from placement_lint.lint.fixes.cell_text import CellText
from placement_lint.syntax.edits import applied, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.files.source import Cell, Source


def in_cells(source: Source, edits: Sequence[Edit]) -> list[Edit] | None:
    """Assign the edits of a notebook's text to its cells; None if they must not be made.

    That is where one of them goes over the end of a cell or touches what only IPython understands,
    or where a cell would no longer be Python by itself: a block cannot go on in the next cell.
    """
    return Cells(source).split(edits)


def keep_cells(source: Source, edits: Sequence[Edit]) -> bool:
    """Return whether edits may be made in a script in cells.

    None of them goes over the beginning of a cell or touches what only IPython understands, and
    each cell is Python by itself if it was before: it is run by itself.
    """
    return Cells(source).keep(edits)


class Cells:
    """The cells of one source, of which each is parsed once, whatever number of fixes it gets."""

    def __init__(self, source: Source) -> None:
        """Look for no cells yet."""
        self._source = source
        self._texts: dict[int, CellText] = {}

    @cached_property
    def _cells(self) -> list[Cell]:
        return [*self._source.cells] or cells_of(self._source)

    @cached_property
    def _first_lines(self) -> list[int]:
        return [cell.first_line for cell in self._cells]

    @cached_property
    def _written(self) -> Source:
        """What its author wrote, in the place of what stands for it."""
        return replace(self._source, text=self._source.content)

    def _text(self, cell: Cell) -> CellText:
        if cell.number not in self._texts:
            self._texts[cell.number] = CellText(self._source, cell)
        return self._texts[cell.number]

    def _at(self, line: int) -> Cell | None:
        index = bisect.bisect_right(self._first_lines, line)
        return self._cells[index - 1] if index else None

    def split(self, edits: Sequence[Edit]) -> list[Edit] | None:
        """Do what `in_cells` does."""
        source = self._source
        by_cell: dict[Cell, list[Edit]] = {}
        placed: list[Edit] = []
        for edit in edits:
            cell = self._at(edit.span.line)
            if cell is None or offsets(source, edit)[1] > source.cell_offsets(cell)[1]:
                return None
            moved = _moved(edit, cell)
            if touches_stand_in(source, moved):
                return None
            by_cell.setdefault(cell, []).append(moved)
            placed.append(moved)
        if not all(self._is_valid_alone(cell, own, len(by_cell)) for cell, own in by_cell.items()):
            return None
        return placed

    def keep(self, edits: Sequence[Edit]) -> bool:
        """Do what `keep_cells` does."""
        by_cell: dict[Cell, list[Edit]] = {}
        for edit in edits:
            cell = self._cell_of(edit)
            if cell is None:
                continue
            behind = self._source.cell_offsets(cell)[1]
            if offsets(self._source, edit)[1] > behind or touches_stand_in(self._source, edit):
                return False
            by_cell.setdefault(cell, []).append(edit)
        return all(self._stays_a_cell(cell, own) for cell, own in by_cell.items())

    def _cell_of(self, edit: Edit) -> Cell | None:
        """Return the cell of a script that an edit is in; None for lines put in above the first."""
        line = edit.span.line
        inserted = offsets(self._source, edit)
        whole_lines = edit.span.column == 1 and edit.text.endswith(("\n", "\r"))
        if inserted[0] == inserted[1] and whole_lines:
            # Whole lines in front of the line that begins a cell are the end of the one before it.
            line -= 1
        return self._at(line)

    def _stays_a_cell(self, cell: Cell, edits: Sequence[Edit]) -> bool:
        source, text = self._source, self._text(cell)
        behind_first = source.cell_offsets(replace(cell, line_count=1))[1]
        above = [edit for edit in edits if offsets(source, edit)[0] < behind_first]
        if above and begins_cell(source.text[text.begin : behind_first]):
            after = applied(source, edits, text.begin, text.end)
            if not begins_cell(after):
                return False
        return not text.is_python or text.is_python_after(edits)

    def _is_valid_alone(self, cell: Cell, edits: Sequence[Edit], count: int) -> bool:
        """Return whether a cell is Python after some edits, and the same of it is masked as before.

        `count`: how many cells are edited.
        """
        source, text = self._source, self._text(cell)
        if text.is_plain_after(edits):
            is_python = text.is_python_after(edits)
        else:
            expected = applied(source, edits, text.begin, text.end)
            written = applied(self._written, edits, text.begin, text.end)
            masked = mask(written)
            if _masked_lines(expected, written) != _masked_lines(masked, written):
                return False
            is_python = parsed(masked) is not None
        # In the words of a newer Python than this one, nobody can tell: then only within one cell.
        return is_python or (count == 1 and not text.is_python)


def _moved(edit: Edit, cell: Cell) -> Edit:
    shift = cell.first_line - 1
    span = edit.span
    moved = Span(span.line - shift, span.column, span.end_line - shift, span.end_column)
    return replace(edit, span=moved, cell=cell.number)


def touches_stand_in(source: Source, edit: Edit) -> bool:
    """Return whether what an edit replaces, or stands beside, is not Python as it is written."""
    start, end = offsets(source, edit)
    if start == end and edit.span.column == 1 and not edit.text.strip(" \t"):
        # The indentation of a whole line, whatever the line is.
        return False
    first_line, column = source.position(start)
    last, end_column = source.position(end)
    if end_column == 1 and (edit.text.endswith(("\n", "\r")) or (column == 1 and not edit.text)):
        # Whole lines: what follows stays at the beginning of its own.
        last -= 1
    return any(
        begin <= end and start <= finish
        for line in range(first_line, last + 1)
        for begin, finish in _magic(source, line)
    )


def _magic(source: Source, line: int) -> Iterator[tuple[int, int]]:
    """Return the stretch of a line that is no Python as it is written, if there is one."""
    masked, start = source.line_text(line), source.line_starts[line - 1]
    written = source.content[start : start + len(masked)]
    differing = [
        at for at, pair in enumerate(zip(masked, written, strict=True)) if len({*pair}) > 1
    ]
    if not differing:
        return
    first, end = differing[0], differing[-1] + 1
    if masked.lstrip().startswith("#"):
        end = len(masked)
    behind = written[end:]
    yield start + first, start + end + len(behind) - len(behind.lstrip(" \t"))


def _masked_lines(masked: str, written: str) -> list[bool]:
    pairs = zip(masked.split("\n"), written.split("\n"), strict=True)
    return [one != other for one, other in pairs]
