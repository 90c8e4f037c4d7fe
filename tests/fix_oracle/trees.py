"""Which expression of a fixed text is which of the original."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.differential.instrument import place_of

if TYPE_CHECKING:
    from tests.differential.instrument import Place
    from tests.fix_oracle.alignment import Alignment


@dataclass(frozen=True)
class Tree:
    """The expressions and statements of a text, by their places."""

    expressions: dict[Place, list[ast.AST]] = field(default_factory=dict)
    """The outermost first."""
    statements: dict[Place, list[ast.AST]] = field(default_factory=dict)

    def at(self, place: Place) -> list[ast.AST]:
        """Give the expressions at a place; where there is none, the statements."""
        return self.expressions.get(place) or self.statements.get(place, [])

    def statement(self, place: Place) -> Place | None:
        """Give the smallest statement around a place."""
        return max((each for each in self.statements if inside(place, each)), default=None)


def tree_of(text: str) -> Tree:
    """Give the tree of a text. Raises SyntaxError."""
    tree = Tree()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            tree.statements.setdefault(place_of(node), []).append(node)
            # What decorates a definition is beside it.
            for each in getattr(node, "decorator_list", ()):
                tree.statements.setdefault(place_of(each), []).append(each)
        elif isinstance(node, ast.expr | ast.keyword):
            tree.expressions.setdefault(place_of(node), []).append(node)
    return tree


class Carried:
    """The expressions and statements that a fix kept: where they were, and where they are.

    What a fix put around an expression, and what it wrote anew, is not among them.
    """

    def __init__(self, before: Tree, after: Tree, alignment: Alignment) -> None:
        """Match them: of one kind, with the same characters of the original in them."""
        self._to_original: dict[Place, Place] = {}
        self._to_fixed: dict[Place, Place] = {}
        # An expression that is a statement has the place of both: the expression comes last.
        for old, new in (
            (before.statements, after.statements), (before.expressions, after.expressions),
        ):  # fmt: skip
            claimed: set[tuple[Place, type[ast.AST]]] = set()
            back: dict[Place, Place] = {}
            # The smallest first: a call around it has the same characters, and is the fix's.
            for place in sorted(new, key=alignment.length):
                self._to_original.pop(place, None)
                origin = alignment.kept(place)
                if origin is None:
                    continue
                kinds = {type(node) for node in old.get(origin, ())}
                for kind in {type(node) for node in new[place]} & kinds:
                    if (origin, kind) not in claimed:
                        claimed.add((origin, kind))
                        self._to_original[place] = origin
                        back.setdefault(origin, place)
            self._to_fixed |= back

    def to_original(self, place: Place) -> Place | None:
        """Give where an expression was; None for one that a fix wrote."""
        return self._to_original.get(place)

    def to_fixed(self, place: Place) -> Place | None:
        """Give where an expression of the original is now; None for one that is gone."""
        return self._to_fixed.get(place)


def inside(inner: Place, outer: Place) -> bool:
    """Tell whether a place lies in another, or is it."""
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]
