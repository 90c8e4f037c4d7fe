"""From a text to a module without whitespace and punctuation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.python_tree import parsed
from placement_lint.syntax.lean.makers import maker
from placement_lint.syntax.lean.statements import Statements
from placement_lint.syntax.lean.text import Text, UnsuitedError
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    import ast

_module = maker(cst.Module, "body")


def lean_module(text: str) -> cst.Module | None:
    """Return the module of a text, as LibCST reads it, without whitespace and punctuation.

    None where this Python cannot parse it, or where it is not sure that LibCST would make the same
    nodes of it. Needs `run_deep`.
    """
    tree = parsed(text)
    return None if tree is None else lean_module_of(tree, text)


def lean_module_of(tree: ast.Module, text: str) -> cst.Module | None:
    """Return the module of a text that Python's own parser has made this tree of."""
    try:
        module: cst.Module = _module(Statements(Text(text)).several(tree.body))
    except (UnsuitedError, KeyError, RecursionError, cst.ParserSyntaxError):
        # A type of Python's nodes that there is no maker for is a KeyError.
        return None
    return module


def lines_of(text: str) -> list[int | None]:
    """Return on which line each node of a lean module begins, in the order of the walk.

    Without parentheses around it; None where Python's parser does not say so.
    """
    lines: dict[int, int] = {}
    statements = Statements(Text(text), lines)
    tree = parsed(text)
    nodes = [] if tree is None else Tree(_module(statements.several(tree.body))).nodes
    found = [lines.get(id(node)) for node in nodes]
    for index, node in enumerate(nodes):
        if type(node) is cst.SimpleStatementLine:
            found[index] = found[index + 1]
    return found
