"""NumPy arrays that functions of the program make and return, which nothing else has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.transfers.array_sizes import SMALL, element_count
from placement_lint.rules.transfers.numpy_values import (
    is_numpy_array,
    makes_numpy_array,
    only_reads,
)
from placement_lint.rules.transfers.program_returns import STATIC, returned_by
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import assigned_by

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_COPYING = frozenset({"astype", "copy", "flatten"})


def returns_numpy_array(call: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a call of a function of the program gives an array of NumPy of its own: none
    that a cache keeps, and none that is known to be small.
    """
    returned = returned_by(call, ctx, STATIC) if isinstance(call, cst.Call) else []
    return bool(returned) and all(_is_own_array(value, there) for value, there in returned)


def _is_own_array(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether what a function returns is an array that it has made, and has not kept."""
    if not isinstance(node, cst.Name):
        count = element_count(node, ctx)
        if count is not None and count < SMALL:
            return False
        return makes_numpy_array(node, ctx, own=True) or (
            # What is computed shares its memory with nothing; with which numbers, the calls say.
            _computes(node) and is_numpy_array(node, ctx)
        )
    bindings = ctx.names.bindings(node)
    scope = ctx.names.scope(node)
    if ctx.names.owner(node.value, scope) is not scope or len(bindings) != 1:
        return False
    made = bindings[0].value
    return (
        made is not None
        and not isinstance(made, cst.Name)
        and _is_own_array(made, ctx)
        and all(_leaves(use, ctx) for use in ctx.names.uses(node.value, scope))
    )


def _computes(node: cst.BaseExpression) -> bool:
    """Return whether an expression gives an array that was not there before."""
    if isinstance(node, cst.BinaryOperation | cst.Comparison | cst.UnaryOperation):
        return True
    method = node.func if isinstance(node, cst.Call) else None
    is_copying = isinstance(method, cst.Attribute) and method.attr.value in _COPYING
    return is_copying and isinstance(node, cst.Call) and not Arguments(node).may_pass(None, "copy")


def _leaves(use: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a use keeps an array nowhere: it is read, returned, set, or changed in place
    before it is returned.
    """
    by = assigned_by(use, ctx.tree)
    parent = ctx.parent(use)
    is_item = isinstance(parent, cst.Subscript) and parent.value is use
    return (
        by is not None
        or isinstance(parent, cst.Return)
        or only_reads(use, ctx)
        or (is_item and parent is not None and assigned_by(parent, ctx.tree) is not None)
    )
