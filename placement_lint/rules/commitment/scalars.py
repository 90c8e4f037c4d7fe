"""Which arrays surely have one element: to copy those costs next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import values
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, is_none

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Array
    from placement_lint.rules.context import Context

# Functions and methods that make one number of an array, where they are told no axis.
_REDUCING = frozenset(
    "all amax amin any argmax argmin average count_nonzero max mean median min nanmax nanmean "
    "nanmin nanstd nansum nanvar prod ptp std sum var".split()
)
_REDUCING_FUNCTIONS = frozenset({
    *(f"jax.numpy.{name}" for name in _REDUCING),
    "jax.nn.logsumexp", "jax.numpy.linalg.norm", "jax.scipy.special.logsumexp",
    "optax.global_norm",
    *(f"optax.tree.{name}" for name in ("allclose", "max", "min", "norm", "sum")),
    *(f"optax.tree_utils.tree_{name}" for name in ("allclose", "l1_norm", "l2_norm", "linf_norm")),
    *(f"optax.tree_utils.tree_{name}" for name in ("max", "min", "norm", "sum")),
})  # fmt: skip
_TO_NUMBERS = frozenset({
    "builtins.bool", "builtins.complex", "builtins.float", "builtins.int", "builtins.range",
    "operator.index",
})  # fmt: skip
_MAX_DEPTH = 6


def is_used_as_number(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand has one element, by what becomes of what is computed with it.

    A condition, or `float(…)`, takes one number. What is computed element by element has one
    element only if all its operands have.
    """
    child = node
    for parent in ctx.ancestors(node):
        if isinstance(parent, cst.If | cst.While | cst.IfExp | cst.Assert | cst.CompIf):
            return child is parent.test
        if isinstance(parent, cst.BooleanOperation) and child is parent.left:
            return True
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            return True
        if isinstance(parent, cst.Call):
            is_taken = isinstance(child, cst.Arg) and child.keyword is None and not child.star
            return is_taken and _takes_number(parent, ctx)
        if isinstance(parent, cst.Attribute):
            call = ctx.parent(parent)
            is_method = isinstance(call, cst.Call) and call.func is parent and not call.args
            return is_method and parent.attr.value == "item"
        if isinstance(parent, cst.FormattedStringExpression):
            return bool(parent.format_spec) and child is parent.expression
        if not _is_elementwise(parent):
            return False
        child = parent
    return False


def _takes_number(call: cst.Call, ctx: Context) -> bool:
    name = ctx.called(call) or ""
    return name in _TO_NUMBERS or name.startswith("math.")


def _is_elementwise(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return not isinstance(node.operator, cst.MatrixMultiply)
    if isinstance(node, cst.ComparisonTarget):
        return not isinstance(node.operator, cst.In | cst.NotIn | cst.Is | cst.IsNot)
    if isinstance(node, cst.Comparison):
        return all(map(_is_elementwise, node.comparisons))
    return isinstance(node, cst.Arg | cst.BooleanOperation | cst.NamedExpr | cst.UnaryOperation)


def is_made_as_number(array: Array, ctx: Context) -> bool:
    made = ctx.node_at(None if array.origin is None else array.origin.created)
    return made is not None and _is_number(*made)


def _is_number(
    node: cst.CSTNode,
    ctx: Context,
    depth: int = _MAX_DEPTH,
    above: frozenset[cst.CSTNode] = frozenset(),
) -> bool:
    """Return whether an expression is a number, or an array of one element.

    `above`: the expressions that are numbers if this is one, as a total is of the one before it.
    """
    if depth == 0 or not isinstance(node, cst.BaseExpression):
        return False
    node = followed(node, ctx)
    if node in above:
        return True
    if isinstance(node, cst.BinaryOperation):
        sides = [node.left, node.right] if _is_elementwise(node) else []
    elif isinstance(node, cst.UnaryOperation):
        sides = [node.expression]
    elif isinstance(node, cst.Comparison):
        sides = [node.left, *(target.comparator for target in node.comparisons)]
    elif isinstance(node, cst.Call):
        return _reduces(node, ctx)
    else:
        held = ctx.flow.value(node)
        return bool(held) and all(_is_one(atom, node, ctx, depth - 1, above) for atom in held)
    above |= {node}
    return bool(sides) and all(_is_number(side, ctx, depth - 1, above) for side in sides)


def _is_one(
    atom: values.Atom,
    node: cst.CSTNode,
    ctx: Context,
    depth: int,
    above: frozenset[cst.CSTNode],
) -> bool:
    """Return whether one thing that an expression may be is a number."""
    if not isinstance(atom, values.Array):
        return isinstance(atom, values.Plain)
    made = ctx.node_at(None if atom.origin is None else atom.origin.created)
    # What the expression makes itself, such as `x[::-1]`, is not known.
    return made is not None and made[0] is not node and _is_number(*made, depth, above | {node})


def _reduces(call: cst.Call, ctx: Context) -> bool:
    arguments = Arguments(call)
    axis = arguments.get(None, "axis")
    if arguments.is_open or not (axis is None or is_none(axis)):
        return False
    name = ctx.called(call)
    if name is not None:
        return name in _REDUCING_FUNCTIONS and len(arguments.positional) == 1
    method = call.func
    return (
        isinstance(method, cst.Attribute)
        and method.attr.value in _REDUCING
        and not arguments.positional
        and ctx.flow.is_array(method.value)
    )
