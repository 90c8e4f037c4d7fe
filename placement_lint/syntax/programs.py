"""Whether a file is a program: code that is run, and not there for others to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.guards import is_main_guard

if TYPE_CHECKING:
    from collections.abc import Iterator

_STARTING = frozenset({"main", "run"})


def has_main_guard(module: cst.Module) -> bool:
    """Return whether a module does something only where it is the program itself."""
    return any(
        isinstance(statement, cst.If) and is_main_guard(statement.test) for statement in module.body
    )


def runs_at_top(module: cst.Module) -> bool:
    """Return whether a module loops, or starts its program, when it is imported: nobody imports it.

    Many modules print something, or call what sets something up.
    """
    for statement in _statements(module):
        if isinstance(statement, cst.For | cst.While):
            return True
        call = statement.value if isinstance(statement, cst.Expr) else None
        if isinstance(call, cst.Call) and dotted(call.func).rpartition(".")[2] in _STARTING:
            return True
    return False


def _statements(module: cst.Module) -> Iterator[cst.CSTNode]:
    """Return what is executed when a module is, in any block, but for what functions do."""
    pending: list[cst.CSTNode] = [*module.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            yield from node.body
        elif isinstance(node, cst.For | cst.While):
            yield node
        elif isinstance(node, cst.IndentedBlock):
            pending += node.body
        elif isinstance(node, cst.With | cst.Else | cst.Finally | cst.ExceptHandler):
            pending.append(node.body)
        elif isinstance(node, cst.If):
            pending += [part for part in (node.body, node.orelse) if part is not None]
        elif isinstance(node, cst.Try | cst.TryStar):
            ends = [node.body, *node.handlers, node.orelse, node.finalbody]
            pending += [part for part in ends if part is not None]
