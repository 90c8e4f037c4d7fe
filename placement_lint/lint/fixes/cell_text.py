"""The text of one cell: whether it is Python, and goes on being so after some edits.

One cell may hold all there is, with fixes for most of its lines. So that each of them does not have
all of it parsed again, only the statements around an edit are, in the place of what is around them.
"""

from __future__ import annotations

import ast
import bisect
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.files.python_tree import blocks, parsed
from placement_lint.files.script_cells import may_be_masked
from placement_lint.syntax.edits import applied, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.files.source import Cell, Source
    from placement_lint.findings import Edit


class _Region(NamedTuple):
    """Whole statements of one block, with what stands between them."""

    first: int
    behind: int
    """The lines of the source."""
    depth: int
    """How many blocks they are in."""
    indent: str


class _After(NamedTuple):
    """A region after some edits."""

    region: _Region
    text: str


class CellText:
    """The text of one cell of a source."""

    def __init__(self, source: Source, cell: Cell) -> None:
        """Parse nothing yet."""
        self._source = source
        self.begin, self.end = source.cell_offsets(cell)
        self._first_line = cell.first_line
        self._behind = cell.first_line + cell.line_count

    @cached_property
    def is_python(self) -> bool:
        """Whether it is Python as it is."""
        return self._tree is not None

    @cached_property
    def _tree(self) -> ast.Module | None:
        return parsed(self._source.text[self.begin : self.end])

    @cached_property
    def _is_plain(self) -> bool:
        """Whether there is nothing in it that only IPython may understand."""
        text = self._source.text[self.begin : self.end]
        is_written = text == self._source.content[self.begin : self.end]
        return is_written and "\r" not in text and not may_be_masked(text)

    def is_python_after(self, edits: Sequence[Edit]) -> bool:
        """Return whether it is Python after some edits in it, which do not overlap.

        Takes time by the size of the statements around the edits, where the answer is yes.
        """
        if self._tree is not None and all(map(self._is_kept, self._after(edits))):
            return True
        return parsed(applied(self._source, edits, self.begin, self.end)) is not None

    def is_plain_after(self, edits: Sequence[Edit]) -> bool:
        """Return whether it surely holds, after some edits, nothing that only IPython understands.

        Takes time by the size of the statements around the edits.
        """
        return self._is_plain and not any(
            "\r" in after.text or may_be_masked(after.text) for after in self._after(edits)
        )

    def _after(self, edits: Sequence[Edit]) -> Iterator[_After]:
        """Return what the regions are after some edits that hold all of these."""
        body = [] if self._tree is None else self._tree.body
        for region, own in self._regions(edits, body):
            begin = self._source.line_starts[region.first - 1]
            end = self._start_of(region.behind)
            yield _After(region, applied(self._source, own, begin, end))

    def _start_of(self, line: int) -> int:
        return self.end if line >= self._behind else self._source.line_starts[line - 1]

    def _is_kept(self, after: _After) -> bool:
        """Return whether what a region is now is statements of its block, for sure."""
        region, text = after
        if self._start_of(region.behind) < self.end and not _ends_line(text):
            return False
        # In as many blocks, of which there may not be any number, and behind a statement in the
        # same column.
        heads = "".join(f"{region.indent[:depth]}if x:\n" for depth in range(region.depth))
        tree = parsed(f"{heads}{region.indent}pass\n{text}")
        if tree is None:
            return False
        block: list[ast.stmt] = tree.body
        for _ in range(region.depth):
            # What comes after the blocks, or is another branch of one, is not in them.
            if len(block) != 1 or not isinstance(block[0], ast.If) or block[0].orelse:
                return False
            block = block[0].body
        return len(block) > 1

    def _regions(
        self, edits: Sequence[Edit], body: Sequence[ast.stmt]
    ) -> Iterator[tuple[_Region, list[Edit]]]:
        """Return regions that do not overlap, with the edits in each."""
        runs: list[tuple[_Region, list[int]]] = []
        for region, order in sorted((self._region(edit, body), n) for n, edit in enumerate(edits)):
            if not runs or runs[-1][0].behind <= region.first:
                runs.append((region, [order]))
                continue
            # Those that overlap are of one block, or one of them is in a statement of the other.
            before, own = runs[-1]
            own.append(order)
            if before.depth == region.depth:
                behind = max(before.behind, region.behind)
                runs[-1] = (before._replace(behind=behind), own)
        for region, orders in runs:
            yield region, [edits[order] for order in sorted(orders)]

    def _region(self, edit: Edit, body: Sequence[ast.stmt]) -> _Region:
        """Return the fewest whole statements that an edit is in, or between."""
        starts = self._source.line_starts
        start, end = offsets(self._source, edit)
        first, last = self._source.position(start)[0], self._source.position(end)[0]
        if start < end == starts[last - 1]:
            last -= 1
        if start == starts[first - 1]:
            # What is inserted may belong to the block that ends there, and one that is emptied
            # needs another statement.
            first = max(first - 1, self._first_line)
        region = _Region(self._first_line, self._behind, 0, "")
        found: _Region | None = region
        block: list[ast.stmt] | None = [*body]
        while block and found is not None:
            one, other = self._those_at(block, first, last)
            found = self._region_of(block, one, other, found)
            if found is None:
                break
            region = found
            block = self._block_with(block[one], first, last) if one == other else None
            if block:
                end_line = (block[-1].end_lineno or block[-1].lineno) + self._first_line - 1
                found = _Region(self._line(block[0]), end_line + 1, region.depth + 1, "")
        return region

    def _those_at(self, block: Sequence[ast.stmt], first: int, last: int) -> tuple[int, int]:
        """Return the first and the last statement of a block that some lines are in or behind."""
        one = max(bisect.bisect_right(block, first, key=self._line) - 1, 0)
        return one, max(bisect.bisect_right(block, last, key=self._line) - 1, one)

    def _region_of(
        self, block: Sequence[ast.stmt], one: int, other: int, whole: _Region
    ) -> _Region | None:
        """Return the region of some statements of a block; None where they share lines with others.

        `whole` has the lines of the block.
        """
        indent = self._indentation(block[one])
        if indent is None:
            return None
        behind = whole.behind
        if other + 1 < len(block):
            behind = self._line(block[other + 1])
            if self._indentation(block[other + 1]) is None:
                return None
        first = self._line(block[one]) if one else whole.first
        return _Region(first, behind, whole.depth, indent)

    def _line(self, statement: ast.stmt) -> int:
        """Return the line of the source that a statement begins on."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        inner = min([statement.lineno, *(each.lineno for each in decorators)])
        return inner + self._first_line - 1

    def _indentation(self, statement: ast.stmt) -> str | None:
        """Return what stands in front of a statement; None where that is not only white space."""
        line = self._line(statement)
        text = self._source.line_text(line)
        indent = text[: len(text) - len(text.lstrip(" \t"))]
        if getattr(statement, "decorator_list", None):
            # Its place is that of the expression, which may be on a line below: `@(`.
            if not text.startswith("@", len(indent)):
                return None
        elif statement.col_offset != len(indent):
            return None
        if line > self._first_line and self._source.line_text(line - 1).endswith("\\"):
            return None
        return indent

    def _block_with(self, statement: ast.stmt, first: int, last: int) -> list[ast.stmt] | None:
        """Return the block of a statement that some lines are in."""
        for block in filter(None, blocks(statement)):
            end = (block[-1].end_lineno or block[-1].lineno) + self._first_line - 1
            if self._line(block[0]) <= first and last <= end:
                return block
        return None


def _ends_line(text: str) -> bool:
    """Return whether what follows a text begins a line of its own.

    CPython 3.11 takes a backslash before the last line end for none, where that is CRLF.
    """
    lines = text.rstrip("\r\n")
    return lines != text and not lines.endswith("\\")
