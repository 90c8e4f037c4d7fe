"""Where nodes without punctuation stand, as far as Python's own parser says so."""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
from collections import deque
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from placement_lint.syntax.code_text import strings_and_comments
from placement_lint.syntax.lean.statements import StatementMaker
from placement_lint.syntax.lean.text import LocatedText
from placement_lint.syntax.lean.tree import module_of
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.files.source import Source
    from placement_lint.syntax.lean.statements import Place
    from placement_lint.syntax.positions import Offsets, Spans


_MOST_KEPT = 8
"""Texts of which what Python's parser made is kept: the files that an editor has open."""
_MOST_CHARACTERS = 500_000
"""Of all these texts but the newest: what is kept takes some 40 bytes for each (Python 3.11)."""


class KnownPlaces:
    """The places of the nodes of one text, by their numbers in the walk.

    They are made once more for it: a statement at the top with the first of its nodes that is asked
    for.
    """

    _recent: ClassVar[deque[KnownPlaces]] = deque()
    """Those that hold what Python's parser made, which takes more memory than all else here."""

    def __init__(
        self, tree: ast.Module, text: str, parsed: Callable[[], ast.Module | None]
    ) -> None:
        """Take what Python's own parser made of the text; `parsed` makes it once more."""
        self._text = text
        self._parsed = parsed
        self._located = LocatedText(text)
        self._found: dict[int, Place] = {}
        self._maker = StatementMaker(self._located, self._found)
        # Where statements share lines, nothing says which of them are one node at the top.
        self._is_one = self._located.has_semicolons
        self._statements: list[list[ast.stmt]] | None = None
        self._keep(tree)
        self._known: dict[int, list[tuple[Place | None, int | None]]] = {}
        self._tops: list[int] = []

    def line(self, number: int, tree: Tree) -> int | None:
        """Return on which line a node of a tree begins, without parentheses around it, if that is
        known.
        """
        return self._place(number, tree)[1]

    def inner(self, number: int, tree: Tree) -> Offsets | None:
        """Return where a node of a tree stands, as `Spans.inner` has it, if that is known."""
        place, _ = self._place(number, tree)
        if place is None:
            return None
        line, column, end_line, end_column = place
        if end_line is None or end_column is None:
            return None
        return self._offset(line, column), self._offset(end_line, end_column)

    def _place(self, number: int, tree: Tree) -> tuple[Place | None, int | None]:
        if number == 0:
            return None, None
        if not self._tops:
            self._tops = [1] if self._is_one else [*_tops(tree)]
        index = bisect.bisect_right(self._tops, number) - 1
        if index not in self._known:
            statements = self._statements
            if statements is None:
                again = self._parsed()
                if again is None:
                    return None, None
                statements = self._keep(again)
            self._known[index] = self._places_in(statements[index])
        return self._known[index][number - self._tops[index]]

    def _keep(self, tree: ast.Module) -> list[list[ast.stmt]]:
        """Keep the statements, and no longer those of the text that was asked for longest ago."""
        statements = [tree.body] if self._is_one else [[each] for each in tree.body]
        self._statements = statements
        recent = self._recent
        before = sum(len(each._text) for each in recent)
        recent.append(self)
        while len(recent) > _MOST_KEPT or (len(recent) > 1 and before > _MOST_CHARACTERS):
            oldest = recent.popleft()
            oldest._statements = None
            before -= len(oldest._text)
        return statements

    def _places_in(self, statements: list[ast.stmt]) -> list[tuple[Place | None, int | None]]:
        found = self._found
        # Addresses identify them for as long as all of them are held.
        module = module_of(ast.Module(statements, []), self._maker)
        nodes = Tree(module).nodes[1:]
        places = [found.get(id(node)) for node in nodes]
        found.clear()
        lines = [None if place is None else place[0] for place in places]
        for number, node in enumerate(nodes):
            if type(node) is cst.SimpleStatementLine:
                lines[number] = lines[number + 1]
        return [*zip(places, lines, strict=True)]

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
        place = None
        if self._tree.contains(node):
            place = self._places.inner(self._tree.index(node), self._tree)
        return self._whole().inner(node) if place is None else place

    def outer(self, node: cst.CSTNode) -> Offsets:
        """Return a node's span with its parentheses (and, for a statement, comments above it)."""
        return self._whole().outer(node)


def _tops(tree: Tree) -> Iterator[int]:
    """Yield the numbers of the nodes of the statements at the top."""
    number = 1
    while number < len(tree.nodes):
        yield number
        number = tree.ends[number]


def is_placeable(text: str) -> bool:
    """Return whether the places in a text are those in what LibCST makes of it: it drops these."""
    return "\f" not in text
