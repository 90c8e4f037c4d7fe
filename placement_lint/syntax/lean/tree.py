"""From a text to a module without whitespace and punctuation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.python_tree import parsed
from placement_lint.syntax.lean.makers import maker
from placement_lint.syntax.lean.statements import StatementMaker
from placement_lint.syntax.lean.text import LocatedText, UnsuitedError
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    import ast

_module = maker(cst.Module, "body")


def lean_module(tree: ast.Module, text: str) -> cst.Module | None:
    """Return the module of a text, as LibCST reads it, without whitespace and punctuation.

    `tree` is what Python's own parser made of the text. None where it is not sure that LibCST would
    make the same nodes of it. Needs `run_deep`.
    """
    try:
        module: cst.Module = _module(StatementMaker(LocatedText(text)).several(tree.body))
    except (UnsuitedError, KeyError, RecursionError, cst.ParserSyntaxError):
        # A type of Python's nodes that there is no maker for is a KeyError.
        return None
    return module


def lines_of(text: str) -> list[int | None]:
    """Return on which line each node of a lean module begins, in the order of the walk.

    Without parentheses around it; None where Python's parser does not say so.
    """
    lines: dict[int, int] = {}
    statements = StatementMaker(LocatedText(text), lines)
    tree = parsed(text)
    nodes = [] if tree is None else Tree(_module(statements.several(tree.body))).nodes
    found = [lines.get(id(node)) for node in nodes]
    for index, node in enumerate(nodes):
        if type(node) is cst.SimpleStatementLine:
            found[index] = found[index + 1]
    return found
