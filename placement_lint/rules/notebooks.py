"""What a notebook, or a script in cells, does with the values of expressions in its cells."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.script_cells import cells_of
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from placement_lint.files.source import Cell, Source
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

# A cell or a line that is run to see what it costs; what it gives is dropped on purpose.
_MEASURING = ("memit", "mprun", "prun", "time", "timeit")
_MEASURED_CELL = re.compile(rf"\s*(?:#[^\r\n]*[\r\n]\s*)*%%(?:{'|'.join(_MEASURING)})\b")
_MEASURED_LINE = re.compile(rf"[ \t]*%(?:{'|'.join(_MEASURING)})\b")


def is_shown_or_measured(statement: cst.Expr, ctx: Context) -> bool:
    """Return whether a cell shows the value of a statement, or only measures how it is made.

    IPython shows the last expression of a cell, unless a semicolon ends it, and so does marimo.
    `%timeit` and its like run a statement, or a whole cell, for what it costs.
    """
    if _is_last_of_function(statement, ctx):
        return True
    source = ctx.module.source
    if source is None:
        return False
    cells = ctx.module.fact(_cells)
    if not cells:
        return False
    line = ctx.module.line_of(statement)
    cell = max(bisect_right(ctx.module.fact(_first_lines), line) - 1, 0)
    return (
        cell in ctx.module.fact(_measured)
        or _MEASURED_LINE.match(source.shown_line(line)) is not None
        or id(statement) in ctx.module.fact(_shown)
    )


def _is_last_of_function(statement: cst.Expr, ctx: Context) -> bool:
    """Return whether a cell of marimo, which is a function, ends with a statement.

    After that it only returns the names that other cells may take.
    """
    function = ctx.tree.around(statement, cst.FunctionDef)
    if not isinstance(function, cst.FunctionDef) or id(function) not in ctx.names.cells:
        return False
    lines = [
        line
        for line in function.body.body
        if not isinstance(line, cst.SimpleStatementLine)
        or not isinstance(line.body[-1], cst.Return)
    ]
    last = lines[-1] if lines else None
    return isinstance(last, cst.SimpleStatementLine) and last.body[-1] is statement


def _cells(facts: ModuleFacts) -> list[Cell]:
    source = facts.source
    return [] if source is None else [*source.cells] or cells_of(source)


def _first_lines(facts: ModuleFacts) -> list[int]:
    return [cell.first_line for cell in facts.fact(_cells)]


def _measured(facts: ModuleFacts) -> frozenset[int]:
    """Return the cells, by their place among all, that are only run to see what they cost."""
    source = facts.source
    if source is None:
        return frozenset()
    return frozenset(
        number
        for number, cell in enumerate(facts.fact(_cells))
        if _MEASURED_CELL.match(source.content, *source.cell_offsets(cell))
    )


def _shown(facts: ModuleFacts) -> frozenset[int]:
    """Return the statements, by id, whose values the cells of a file show."""
    source, cells = facts.source, facts.fact(_cells)
    if source is None:
        return frozenset()
    firsts = facts.fact(_first_lines)
    last: dict[int, cst.SimpleStatementLine | cst.BaseCompoundStatement] = {}
    for statement in facts.tree.module.body:
        # Before a statement of several lines there may be some of the cell above.
        part: cst.CSTNode = next(iter(children(statement)), statement)
        last[bisect_right(firsts, facts.line_of(part))] = statement
    found = set()
    for number, statement in last.items():
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        value = statement.body[-1]
        is_quiet = isinstance(value, cst.Expr) and isinstance(value.semicolon, cst.Semicolon)
        end = cells[number - 1].first_line + cells[number - 1].line_count
        if (
            isinstance(value, cst.Expr)
            and not is_quiet
            and not _has_magic(source, facts.line_of(value), end)
        ):
            found.add(id(value))
    return frozenset(found)


def _has_magic(source: Source, first: int, end: int) -> bool:
    """Return whether one of these lines is not Python as it is written: then it is the last one."""
    return any(
        source.shown_line(line) != source.line_text(line)
        for line in range(first + 1, min(end, len(source.line_starts) + 1))
    )
