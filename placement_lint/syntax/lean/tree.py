"""From a text to a module without whitespace and punctuation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.lean.makers import maker
from placement_lint.syntax.lean.statements import StatementMaker
from placement_lint.syntax.lean.text import LocatedText, UnsuitedError

if TYPE_CHECKING:
    import ast

_module = maker(cst.Module, "body")


def module_of(tree: ast.Module, statements: StatementMaker) -> cst.Module:
    """Return the module of a tree, of which something makes the statements."""
    module: cst.Module = _module(statements.several(tree.body))
    return module


def lean_module(tree: ast.Module, text: str) -> cst.Module | None:
    """Return the module of a text, as LibCST reads it, without whitespace and punctuation.

    `tree` is what Python's own parser made of the text. None where it is not sure that LibCST would
    make the same nodes of it. Needs `run_deep`.
    """
    try:
        module = module_of(tree, StatementMaker(LocatedText(text)))
    except (UnsuitedError, KeyError, RecursionError, cst.ParserSyntaxError):
        # A type of Python's nodes that there is no maker for is a KeyError.
        return None
    return module
