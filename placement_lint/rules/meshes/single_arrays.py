"""Which names stand for one array, where nobody says what it was before it was put somewhere.

`batch = jax.device_put(batch, sharding)` may put a tree, of which a loop goes through the keys.
What a function does with the name elsewhere can tell: `batch.shape`, `batch @ weights`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.transfer import COMPUTING_METHODS, SAME_WHEN_EQUAL_METHODS
from placement_lint.rules.meshes.shardings import sharding_of_one
from placement_lint.semantic.followed import bound_before
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import Atom
    from placement_lint.rules.context import Context

_PUT = "jax.device_put"
_METADATA = frozenset({"T", "at", "dtype", "mT", "ndim", "shape"})
_METHODS = (COMPUTING_METHODS | SAME_WHEN_EQUAL_METHODS) - {"copy"}
_OF_SEVERAL = frozenset({
    "array", "asarray", "block", "broadcast_arrays", "broadcast_shapes", "choose", "concat",
    "concatenate", "column_stack", "dstack", "hstack", "isscalar", "iterable", "ix_", "lexsort",
    "meshgrid", "result_type", "select", "stack", "vstack",
})  # fmt: skip
"""Functions of `jax.numpy` that are given lists of arrays, or anything."""
_ASKING = frozenset({"builtins.hasattr", "builtins.isinstance", "builtins.type"})
_MOST_STEPS = 3
_MOST_USES = 64


def sharding_of(node: cst.BaseExpression, atom: Atom, ctx: Context) -> Sharding | None:
    """Return how one array is split, be it one that may be a tree by all that is known of it."""
    from placement_lint.placement.domain.values import Array

    sharding = sharding_of_one(atom)
    if sharding is None and isinstance(atom, Array) and atom.may_be_tree:
        return atom.sharding if _is_one(node, ctx) else None
    return sharding


def _is_one(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> bool:
    """Return whether an expression gives one array: by what is done with the name that it is, or by
    what is put under that name.
    """
    if isinstance(node, cst.Subscript):
        return _has_several_indices(node)
    if isinstance(node, cst.Call):
        given = Arguments(node).get(0, "x") if ctx.is_call(node, _PUT) else None
        is_array = (ctx.called(node) or "").startswith("jax.numpy.") or _is_method(node.func)
        return is_array or (given is not None and steps > 0 and _is_one(given, ctx, steps - 1))
    if not isinstance(node, cst.Name):
        return False
    bindings = (each.node for each in ctx.names.bindings(node))
    if sum(not isinstance(each, cst.Param) for each in bindings) > 1:
        return False
    if _is_used_as_one(node, ctx):
        return True
    bound = bound_before(node, ctx)
    return isinstance(bound, cst.Call) and _is_one(bound, ctx, steps)


def _is_method(function: cst.BaseExpression) -> bool:
    """Return whether an array alone has what is called, and gives an array: `x.reshape(8, -1)`."""
    return isinstance(function, cst.Attribute) and function.attr.value in _METHODS


def _has_several_indices(node: cst.Subscript) -> bool:
    """Return whether `x[1, :]` is of an array: the keys of a dict may be tuples of texts."""
    texts = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
    return len(node.slice) > 1 and not any(
        isinstance(each.slice, cst.Index) and isinstance(each.slice.value, texts)
        for each in node.slice
    )


def _is_used_as_one(name: cst.Name, ctx: Context) -> bool:
    """Return whether something is done with a name that only an array can do."""
    uses = ctx.names.uses(name.value, ctx.names.scope(name))[:_MOST_USES]
    return any(_does(use, ctx) for use in uses) and not any(_asks(use, ctx) for use in uses)


def _asks(use: cst.Name, ctx: Context) -> bool:
    """Return whether it is asked what a name stands for, which then may be this or that."""
    argument = ctx.parent(use)
    call = None if argument is None else ctx.parent(argument)
    is_asked = isinstance(argument, cst.Arg) and ctx.called(call) in _ASKING
    return is_asked or ctx.tree.around(use, cst.Try) is not None


def _does(use: cst.Name, ctx: Context) -> bool:
    parent = ctx.parent(use)
    outer = None if parent is None else ctx.parent(parent)
    if isinstance(parent, cst.Attribute) and parent.value is use:
        is_called = isinstance(outer, cst.Call) and outer.func is parent
        name = parent.attr.value
        return name in _METADATA or (is_called and name in _METHODS)
    if isinstance(parent, cst.BinaryOperation):
        # Lists do not have these. Sets have the last one: no tree of JAX is one.
        return isinstance(
            parent.operator, cst.Divide | cst.MatrixMultiply | cst.Power | cst.Subtract
        )
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Minus)
    if isinstance(parent, cst.Subscript) and parent.value is use:
        return _has_several_indices(parent)
    if isinstance(parent, cst.Arg) and isinstance(outer, cst.Call) and not parent.star:
        package, _, last = (ctx.called(outer) or "").rpartition(".")
        return package == "jax.numpy" and last not in _OF_SEVERAL
    return False
