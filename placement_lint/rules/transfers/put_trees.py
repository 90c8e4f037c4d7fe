"""Trees that are put somewhere leaf by leaf, and what their leaves are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries.flax import FLATTENING, FREEZING
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import class_named, keeps_fields

if TYPE_CHECKING:
    from typing import TypeGuard

    from placement_lint.rules.context import Context


_REGROUPING = frozenset({*FREEZING, *FLATTENING})
"""What gives the tree again that it is given, grouped in another way."""


def parts_of(operand: cst.BaseExpression, ctx: Context) -> list[cst.BaseExpression]:
    """Return the leaves of a tree that is written out; of all else there is one part."""
    pending, found = [operand], []
    while pending:
        node = ungrouped(pending.pop(), ctx)
        if isinstance(node, cst.Dict | cst.List | cst.Tuple):
            pending += [element.value for element in reversed(node.elements)]
        elif isinstance(node, cst.DictComp):
            pending.append(node.value)
        elif isinstance(node, cst.ListComp):
            pending.append(node.elt)
        elif _is_record(node, ctx):
            pending += reversed(Arguments(node).values)
        else:
            found.append(node)
    return found


def ungrouped(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression:
    """Return the tree that Flax groups in another way, `unflatten_dict(params)`, or the node."""
    while isinstance(node, cst.Call) and ctx.called(node) in _REGROUPING:
        inner = Arguments(node).get(0, "xs", "x")
        if inner is None:
            break
        node = inner
    return node


def is_display(node: cst.BaseExpression | None, ctx: Context) -> bool:
    """Return whether an expression writes out a tree, or is a name of what may be one."""
    trees = cst.Dict | cst.DictComp | cst.List | cst.ListComp | cst.Name | cst.Tuple
    return isinstance(node, trees) or _is_record(node, ctx)


def _is_record(node: cst.BaseExpression | None, ctx: Context) -> TypeGuard[cst.Call]:
    """Return whether an expression makes an object of a class that keeps what it is given."""
    cls = class_named(node.func, ctx.names) if isinstance(node, cst.Call) else None
    return cls is not None and keeps_fields(cls)


def target_of_leaves(call: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return where `jax.tree.map` puts each leaf of the tree that it is given."""
    if not isinstance(call, cst.Call) or ctx.called(call) not in TREE_MAPS:
        return None
    arguments = Arguments(call).positional
    if len(arguments) != 2 or len(call.args) != 2:
        return None
    return _target_of_each(arguments[0], ctx)


def _target_of_each(function: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return where a function of one leaf puts it: `lambda x: jax.device_put(x, device)`."""
    if isinstance(function, cst.Call) and ctx.called(function) == "functools.partial":
        given = Arguments(function)
        is_put = len(given.positional) == 1 and ctx.name(given.positional[0]) == "jax.device_put"
        return given.get(None, "device") if is_put else None
    if not isinstance(function, cst.Lambda) or len(function.params.params) != 1:
        return None
    put = function.body
    if not isinstance(put, cst.Call) or ctx.called(put) != "jax.device_put":
        return None
    given = Arguments(put)
    is_leaf = is_named(given.get(0, "x"), function.params.params[0].name.value)
    return given.get(1, "device") if is_leaf else None


def is_named(node: cst.BaseExpression | None, name: str) -> bool:
    """Return whether an expression is this name."""
    return isinstance(node, cst.Name) and node.value == name
