"""Text edits, built in terms of nodes: what a fix is made of."""

from __future__ import annotations

import ast
import bisect
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import libcst as cst

from placement_lint.files.opening import masked
from placement_lint.findings import Edit, Span
from placement_lint.syntax.code_text import strings_and_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.syntax.lean.places import LeanSpans
    from placement_lint.syntax.positions import Offsets, Spans
    from placement_lint.syntax.tree import Tree

T = TypeVar("T")


class Editor:
    """Makes edits of one file from nodes of its tree."""

    def __init__(self, source: Source, tree: Tree, spans: Spans | LeanSpans) -> None:
        """Bind the text, its tree, and where the tree's nodes stand in the text."""
        self.source = source
        self.tree = tree
        self.spans = spans
        self.others: Callable[[str], Editor] | None = None
        """Gives the editor of another file of the program, by its path."""
        self._derived: dict[Callable[[Source], Any], Any] = {}

    def of(self, path: str) -> Editor:
        """Return the editor of a file of the program. Raises LookupError for one not read."""
        if path == self.source.path:
            return self
        if self.others is None:
            raise LookupError(path)
        return self.others(path)

    def derived(self, make: Callable[[Source], T]) -> T:
        """Return what a function makes of the source, made once."""
        if make not in self._derived:
            self._derived[make] = make(self.source)
        found: T = self._derived[make]
        return found

    # -- reading ----------------------------------------------------------------------------

    def text(self, node: cst.CSTNode) -> str:
        """Return a node's own text, without parentheses around it."""
        start, end = self.spans.inner(node)
        return self.source.text[start:end]

    def text_alone(self, node: cst.BaseExpression) -> str | None:
        """Return an expression's own text; None where its lines need the brackets around it."""
        text = self.text(node)
        if "\n" in text or "\r" in text:
            try:
                ast.parse(text, mode="eval")
            except SyntaxError:
                return None
        return text

    def span(self, node: cst.CSTNode) -> Span:
        """Return where a node stands, in lines and columns."""
        return self.place(self.spans.inner(node))

    def place(self, offsets: Offsets) -> Span:
        """Turn offsets into lines and columns."""
        return Span(*self.source.position(offsets[0]), *self.source.position(offsets[1]))

    def line_of(self, node: cst.CSTNode) -> int:
        """Return the line on which a node begins."""
        return self.source.position(self.spans.inner(node)[0])[0]

    def indentation(self, line: int) -> str:
        """Return the whitespace that a line begins with."""
        text = self.source.line_text(line)
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def has_comment(self, offsets: Offsets) -> bool:
        """Return whether a comment begins inside a stretch of the text."""
        comment = self.next_comment(offsets[0])
        return comment is not None and comment < offsets[1]

    def next_comment(self, offset: int) -> int | None:
        """Return where the first comment at or behind an offset begins."""
        starts = self._comment_starts
        index = bisect.bisect_left(starts, offset)
        return starts[index] if index < len(starts) else None

    @cached_property
    def _comment_starts(self) -> list[int]:
        return sorted(start for start, _ in self.spans.comments)

    @cached_property
    def widest_line(self) -> int:
        """How wide the widest line is."""
        return max(len(line.expandtabs(4)) for line in self.source.text.splitlines() or [""])

    def is_code_alone(self, line: int) -> bool:
        """Return whether a line has neither a comment nor a part of a string of several lines."""
        return line not in self._other_lines

    @cached_property
    def _other_lines(self) -> set[int]:
        found = {self.source.position(start)[0] for start in self._comment_starts}
        for inside in self._lines_inside_strings:
            found |= {inside - 1, inside}
        return found

    def joined_end(self, line: int) -> int:
        """Return the last line that strings and backslashes join to a line."""
        while line in self._joined_lines:
            line += 1
        return line

    @cached_property
    def _joined_lines(self) -> set[int]:
        """The lines whose end is no place for a comment."""
        joined = {line - 1 for line in self._lines_inside_strings}
        with_comment = {self.source.position(start)[0] for start in self._comment_starts}
        count = len(self.source.line_starts)
        return joined | {
            line
            for line in range(1, count)
            if line not in with_comment and self.source.line_text(line).endswith("\\")
        }

    @cached_property
    def has_cells(self) -> bool:
        """Whether the file is a script in cells."""
        from placement_lint.files.script_cells import has_cells

        return has_cells(self.source.text)

    @cached_property
    def formatted_strings(self) -> list[tuple[int, int, str]]:
        """Where f-strings and t-strings stand, and in which quotes each is written."""
        return [
            (*self.spans.inner(node), node.quote)
            for node in self.tree.every(cst.FormattedString, cst.TemplatedString)
        ]

    def string(self, value: str, at: cst.CSTNode) -> str:
        """Write a string literal as the file does; in an f-string, in the quotes that it leaves."""
        taken = {
            node.quote[0]
            for node in self.tree.ancestors(at)
            if isinstance(node, cst.FormattedString | cst.TemplatedString)
        }
        usual = self._usual_quote
        other = "'" if usual == '"' else '"'
        quote = other if usual in taken and other not in taken else usual
        return f"{quote}{value}{quote}"

    @cached_property
    def _usual_quote(self) -> str:
        quotes = [node.quote for node in self.tree.every(cst.SimpleString)]
        return "'" if quotes.count("'") > quotes.count('"') else '"'

    # -- writing ----------------------------------------------------------------------------

    def replace_offsets(self, start: int, end: int, text: str) -> Edit:
        """Replace a stretch of the text."""
        return Edit(self.source.path, self.place((start, end)), text)

    def insert(self, offset: int, text: str) -> Edit:
        """Insert at an offset."""
        return self.replace_offsets(offset, offset, text)

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Replace a node's own text; parentheses around it stay."""
        return self.replace_offsets(*self.spans.inner(node), text)

    def wrap(self, node: cst.CSTNode, before: str, after: str) -> list[Edit]:
        """Put text around a node and its parentheses."""
        start, end = self.spans.outer(node)
        return [self.insert(start, before), self.insert(end, after)]

    def delete_lines(self, first: int, last: int) -> Edit:
        """Delete whole lines, the line end of the last one with them.

        Where the file ends without one, that of the line before them: it goes on doing so.
        """
        text, starts = self.source.text, self.source.line_starts
        start, end = starts[first - 1], starts[last] if last < len(starts) else len(text)
        if end == len(text) and not text.endswith(("\n", "\r")):
            start = len(text[:start].removesuffix("\n").removesuffix("\r")) if start else start
        return self.replace_offsets(start, end, "")

    def fused(self, edits: Sequence[Edit]) -> list[Edit]:
        """Make one edit of several, of everything from the first to the last of them.

        So that no other fix is applied in between, where it would take the text for what it was.
        In a notebook, lines that are no Python as they are written keep edits of their own.
        """
        runs: list[list[Edit]] = [[]]
        reached = 0
        for edit in sorted(edits, key=lambda edit: offsets(self.source, edit)):
            line = edit.span.line
            if runs[-1] and any(map(self._is_masked, range(reached, line + 1))):
                runs.append([])
            runs[-1].append(edit)
            reached = edit.span.end_line
        return [self._fused(run) for run in runs if run]

    def _fused(self, edits: Sequence[Edit]) -> Edit:
        if len(edits) == 1:
            return edits[0]
        start = min(offsets(self.source, edit)[0] for edit in edits)
        end = max(offsets(self.source, edit)[1] for edit in edits)
        return self.replace_offsets(start, end, applied(self.source, edits, start, end))

    def _is_masked(self, line: int) -> bool:
        source = self.source
        return source.as_written is not None and source.line_text(line) != source.shown_line(line)

    def indent_lines(self, first: int, last: int, indent: str) -> list[Edit]:
        """Indent whole lines by one more step; blank lines and the insides of strings stay."""
        inside = self._lines_inside_strings
        return [
            self.insert(self.source.line_starts[line - 1], indent)
            for line in range(first, last + 1)
            if self.source.line_text(line).strip() and line not in inside
        ]

    def dedent_lines(self, first: int, last: int, indent: str) -> list[Edit]:
        """Take one step of indentation off whole lines; those that begin otherwise stay."""
        inside = self._lines_inside_strings
        starts = self.source.line_starts
        return [
            self.replace_offsets(starts[line - 1], starts[line - 1] + len(indent), "")
            for line in range(first, last + 1)
            if self.source.line_text(line).startswith(indent) and line not in inside
        ]

    @cached_property
    def _lines_inside_strings(self) -> set[int]:
        """Return the lines that begin inside a string: more indentation would change its value."""
        inside: set[int] = set()
        text = re.sub(r"\r\n?", "\n", self.source.text)
        breaks = [found.start() for found in re.finditer("\n", text)]
        for start, end, _ in strings_and_comments(text):
            first, last = (bisect.bisect_left(breaks, place) + 1 for place in (start, end))
            inside.update(range(first + 1, last + 1))
        return inside


def apply_edits(source: Source, edits: Sequence[Edit]) -> str:
    """Return the text of a source after edits that do not overlap; insertions keep their order."""
    return applied(source, edits, 0, len(source.text))


def edited(source: Source, edits: Sequence[Edit]) -> Source:
    """Return a source after edits that do not overlap; in a notebook each lies in one cell."""
    if not source.cells:
        written = replace(source, text=source.content, as_written=None)
        return masked(replace(written, text=apply_edits(written, edits)))
    from placement_lint.files.notebook import with_cell_texts

    by_cell: dict[int | None, list[Edit]] = {}
    for edit in edits:
        by_cell.setdefault(edit.cell, []).append(edit)
    written = replace(source, text=source.content)
    return with_cell_texts(
        source,
        {
            cell.number: applied(written, by_cell[cell.number], *source.cell_offsets(cell))
            for cell in source.cells
            if cell.number in by_cell
        },
    )


def offsets(source: Source, edit: Edit) -> Offsets:
    """Return the stretch of a source's text that an edit replaces."""
    span = edit.span
    return (
        source.offset(span.line, span.column, edit.cell),
        source.offset(span.end_line, span.end_column, edit.cell),
    )


def applied(source: Source, edits: Sequence[Edit], begin: int, finish: int) -> str:
    """Return a stretch of the text of a source after the edits, which all lie in it."""
    placed = sorted(
        (
            *offsets(source, edit),
            order,
            edit.text,
        )
        for order, edit in enumerate(edits)
    )
    pieces: list[str] = []
    position = begin
    for start, end, _, text in placed:
        if start < position:
            message = f"overlapping edits in {source.path}"
            raise ValueError(message)
        pieces += (source.text[position:start], text)
        position = end
    pieces.append(source.text[position:finish])
    return "".join(pieces)
