"""How many dimensions the devices of a mesh have, as far as the code says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
_RESHAPING = frozenset({"jax.numpy.reshape", "numpy.reshape"})
_GRIDS = frozenset({
    "jax.experimental.mesh_utils.create_device_mesh",
    "jax.experimental.mesh_utils.create_hybrid_device_mesh",
})  # fmt: skip
_MOST_STEPS = 8


def dimensions(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> int | None:
    """Return how many dimensions an expression for devices has; None where that is not sure."""
    from placement_lint.placement.domain.library_values import DeviceList
    from placement_lint.placement.domain.values import Sequence, TheDevice, sole

    node = followed(node, ctx)
    if not steps:
        return None
    only = sole(ctx.flow.value(node))
    if isinstance(only, DeviceList):
        return 1
    if isinstance(only, TheDevice):
        # Of a list of unknown length, a slice is one of its items as far as is known.
        is_item = isinstance(node, cst.Subscript) and all(
            isinstance(each.slice, cst.Index) for each in node.slice
        )
        return 0 if is_item else None
    if isinstance(only, Sequence):
        held = only.items if only.items is not None else (only.element,)
        is_flat = bool(held) and all(isinstance(sole(item), TheDevice) for item in held)
        return 1 if is_flat else None
    if not isinstance(node, cst.Call):
        return None
    arguments = Arguments(node)
    if arguments.is_open:
        return None
    name = ctx.called(node)
    first = arguments.get(0, "a", "object", "mesh_shape")
    if name in _ARRAYS:
        return None if first is None else dimensions(first, ctx, steps - 1)
    if name in _GRIDS:
        return None if first is None else count(first, ctx)
    if name in _RESHAPING:
        shape = arguments.get(1, "newshape", "shape")
        return None if shape is None else _of_shape([shape], ctx)
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "reshape":
        is_array = dimensions(node.func.value, ctx, steps - 1) is not None
        return _of_shape(arguments.positional, ctx) if is_array else None
    return None


def _of_shape(given: list[cst.BaseExpression], ctx: Context) -> int | None:
    """Return how many dimensions a shape has, which is passed in one argument or in several."""
    if len(given) != 1:
        return len(given) or None
    known = count(given[0], ctx)
    is_number = isinstance(given[0], cst.Integer | cst.UnaryOperation)
    return 1 if known is None and is_number else known


def count(node: cst.BaseExpression, ctx: Context) -> int | None:
    """Return how many items a tuple or a list has; None where that is not sure."""
    from placement_lint.placement.domain.values import Sequence, sole

    written = followed(node, ctx)
    if isinstance(written, cst.Tuple | cst.List):
        is_open = any(isinstance(each, cst.StarredElement) for each in written.elements)
        if not is_open and not isinstance(written, cst.List):
            return len(written.elements)
    only = sole(ctx.flow.value(node))
    if isinstance(only, Sequence) and only.items is not None:
        return len(only.items)
    return None
