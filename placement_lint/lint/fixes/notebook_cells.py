"""Fixes in notebooks: told by cell, and offered only where every cell goes on standing alone."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.files.magics import mask
from placement_lint.files.script_cells import begins_cell, cells_of
from placement_lint.findings import Edit, Span
from placement_lint.syntax.edits import applied, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.files.source import Cell, Source


def in_cells(source: Source, edits: Sequence[Edit]) -> list[Edit] | None:
    """Tell edits of a notebook's text by its cells; None where they must not be made.

    That is where one of them goes over the end of a cell or touches what only IPython understands,
    or where a cell would no longer be Python by itself: a block cannot go on in the next cell.
    """
    placed = [_in_cell(source, edit) for edit in edits]
    by_cell: dict[int, list[Edit]] = {}
    for edit in placed:
        if edit is None or edit.cell is None or touches_stand_in(source, edit):
            return None
        by_cell.setdefault(edit.cell, []).append(edit)
    cells = [cell for cell in source.cells if cell.number in by_cell]
    if not all(_stands_alone(source, cell, by_cell[cell.number], len(cells)) for cell in cells):
        return None
    return [edit for edit in placed if edit is not None]


def keep_cells(source: Source, edits: Sequence[Edit]) -> bool:
    """Tell whether edits may be made in a script in cells.

    None of them goes over the beginning of a cell or touches what only IPython understands, and
    each cell is Python by itself if it was before: it is run by itself.
    """
    by_cell: dict[Cell, list[Edit]] = {}
    for edit in edits:
        cell = _cell_of(source, edit)
        if cell is None:
            continue
        behind = source.cell_offsets(cell)[1]
        if offsets(source, edit)[1] > behind or touches_stand_in(source, edit):
            return False
        by_cell.setdefault(cell, []).append(edit)
    return all(_stays_a_cell(source, cell, own) for cell, own in by_cell.items())


def _cell_of(source: Source, edit: Edit) -> Cell | None:
    """Give the cell of a script that an edit is in; None for lines put in above the first one."""
    line = edit.span.line
    inserted = offsets(source, edit)
    if inserted[0] == inserted[1] and edit.span.column == 1 and edit.text.endswith(("\n", "\r")):
        # Whole lines in front of the line that begins a cell are the end of the one before it.
        line -= 1
    return next((cell for cell in reversed(cells_of(source)) if cell.first_line <= line), None)


def _stays_a_cell(source: Source, cell: Cell, edits: Sequence[Edit]) -> bool:
    begin, end = source.cell_offsets(cell)
    before, after = source.text[begin:end], applied(source, edits, begin, end)
    if begins_cell(before) and not begins_cell(after):
        return False
    return _is_python(after) or not _is_python(before)


def _in_cell(source: Source, edit: Edit) -> Edit | None:
    cell = source.cell_at(edit.span.line)
    if cell is None or offsets(source, edit)[1] > source.cell_offsets(cell)[1]:
        return None
    shift = cell.first_line - 1
    span = edit.span
    moved = Span(span.line - shift, span.column, span.end_line - shift, span.end_column)
    return replace(edit, span=moved, cell=cell.number)


def touches_stand_in(source: Source, edit: Edit) -> bool:
    """Tell whether what an edit replaces, or stands beside, is not Python as it is written."""
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
    """Give the stretch of a line that is no Python as it is written, if there is one."""
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


def _stands_alone(source: Source, cell: Cell, edits: Sequence[Edit], count: int) -> bool:
    """Tell whether a cell is Python after some edits, and the same of it is masked as before."""
    begin, end = source.cell_offsets(cell)
    expected = applied(source, edits, begin, end)
    written = applied(replace(source, text=source.content), edits, begin, end)
    masked = mask(written)
    if _masked_lines(expected, written) != _masked_lines(masked, written):
        return False
    if _is_python(masked):
        return True
    # In the words of a newer Python than this one, nobody can tell: then only within one cell.
    return count == 1 and not _is_python(source.text[begin:end])


def _masked_lines(masked: str, written: str) -> list[bool]:
    pairs = zip(masked.split("\n"), written.split("\n"), strict=True)
    return [one != other for one, other in pairs]


def _is_python(text: str) -> bool:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "cell", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
