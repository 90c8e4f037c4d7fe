"""Where nodes without punctuation stand, as far as Python's own parser says so."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.code_text import strings_and_comments
from placement_lint.syntax.lean.statements import StatementMaker
from placement_lint.syntax.lean.text import LocatedText
from placement_lint.syntax.lean.tree import module_of
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from placement_lint.files.source import Source
    from placement_lint.syntax.lean.statements import Place
    from placement_lint.syntax.positions import Offsets, Spans


class KnownPlaces:
    """The places of the nodes of one text, by their numbers in the walk."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        """Make the nodes once more; `tree` is what Python's own parser made of the text."""
        self._text = text
        self._located = LocatedText(text)
        found: dict[int, Place] = {}
        # Addresses identify them for as long as all of them are held.
        nodes = Tree(module_of(tree, StatementMaker(self._located, found))).nodes
        self._places = [found.get(id(node)) for node in nodes]
        self._lines = [None if place is None else place[0] for place in self._places]
        for number, node in enumerate(nodes):
            if type(node) is cst.SimpleStatementLine:
                self._lines[number] = self._lines[number + 1]

    def line(self, number: int) -> int | None:
        """Return on which line a node begins, without parentheses around it, if that is known."""
        return self._lines[number]

    def inner(self, number: int) -> Offsets | None:
        """Return where a node stands, as `Spans.inner` has it, if that is known."""
        place = self._places[number]
        if place is None:
            return None
        line, column, end_line, end_column = place
        if end_line is None or end_column is None:
            return None
        return self._offset(line, column), self._offset(end_line, end_column)

    def _offset(self, line: int, column: int) -> int:
        return self._line_starts[line - 1] + self._located.characters(line, column)

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        lengths = (len(line) + 1 for line in self._text.split("\n"))
        return [0, *itertools.accumulate(lengths)]


class LeanSpans:
    """What `Spans` says of a text, with as little of LibCST as will do."""

    exact = True
    """LibCST gives the text back unchanged: see `is_placeable`."""

    def __init__(
        self, source: Source, tree: Tree, places: KnownPlaces, whole: Callable[[], Spans]
    ) -> None:
        """Take the nodes, where some of them stand, and what says so of the others."""
        self._source = source
        self._tree = tree
        self._places = places
        self._whole = whole

    @functools.cached_property
    def comments(self) -> list[Offsets]:
        """Where the comments stand."""
        text = self._source.text
        found = strings_and_comments(text)
        return sorted(
            (start, end - (text[end - 1] == "\r")) for start, end, _ in found if text[start] == "#"
        )

    def inner(self, node: cst.CSTNode) -> Offsets:
        """Return a node's span without parentheses around it and without whitespace it owns."""
        place = self._places.inner(self._tree.index(node)) if self._tree.contains(node) else None
        return self._whole().inner(node) if place is None else place

    def outer(self, node: cst.CSTNode) -> Offsets:
        """Return a node's span with its parentheses (and, for a statement, comments above it)."""
        return self._whole().outer(node)


def is_placeable(text: str) -> bool:
    """Return whether the places in a text are those in what LibCST makes of it: it drops these."""
    return "\f" not in text
