"""What becomes of what an operation gives that runs on the host: whether it stays an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import TABLE, Effect
from placement_lint.placement import values
from placement_lint.placement.values import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context

_READING = frozenset(
    f"builtins.{name}" for name in "bool complex float format int print repr str".split()
)
_SHOWING = frozenset(f"jax.{name}" for name in "debug.callback debug.print numpy.save".split())
_FOLLOWED = (
    values.Class, values.Computation, values.Function, values.Instance, values.Method,
    values.Partial,
)  # fmt: skip
_GROWING = frozenset(
    "add append appendleft extend get insert items pop put setdefault update values".split()
)
"""Methods of containers: what they are given, or hold, is still the same array."""
_WHERE_IT_IS = frozenset({"committed", "device", "sharding"})
"""Attributes that a program reads to see where an array is: then that is known to its author."""


class Results:
    """Where the program has arrays that came of operations which run on the host."""

    def __init__(self, ctx: Context) -> None:
        """Search the values of all expressions of the program."""
        self._ctx = ctx
        self._found: dict[Place, list[Place]] = {}
        for path, module in ctx.flow.program.modules.items():
            for node, held in module.record.values.items():
                operations = {place for array in values.arrays(held) for place in array.via}
                for place in operations:
                    self._found.setdefault(place, []).append(Place(path, node))

    def are_taken(self, operation: Place) -> bool:
        """Tell whether something reads them: into NumPy, a file, a text, or by a call which
        nobody follows; or puts them elsewhere.
        """
        return any(
            _is_taken(there.tree.nodes[place.node], there)
            for place, there in self._places(operation)
        )

    def _places(self, operation: Place) -> Iterator[tuple[Place, Context]]:
        for place in self._found.get(operation, ()):
            there = self._ctx.beside(place.module)
            if there is not None:
                yield place, there


def _is_taken(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether what is around an expression takes the array that it is out of JAX."""
    parent = ctx.parent(node)
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        return isinstance(call, cst.Call) and _takes(call, ctx)
    if isinstance(parent, cst.Attribute) and parent.value is node:
        return _method_takes(parent, ctx)
    if isinstance(parent, cst.FormattedStringExpression | cst.BooleanOperation):
        return True
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Not)
    return isinstance(parent, cst.If | cst.While | cst.Assert | cst.IfExp) and parent.test is node


def _method_takes(attribute: cst.Attribute, ctx: Context) -> bool:
    """Tell whether a method or an attribute of an array reads it."""
    name = attribute.attr.value
    call = ctx.parent(attribute)
    if not isinstance(call, cst.Call) or call.func is not attribute:
        return name in _WHERE_IT_IS
    if name == "block_until_ready":
        return isinstance(ctx.parent(call), cst.Expr)
    return name in transfer.HOST_METHODS or name == "to_device"


def _takes(call: cst.Call, ctx: Context) -> bool:
    """Tell whether a call takes an array that it is given out of JAX."""
    name = ctx.called(call)
    row = TABLE.get(name or "")
    if name == "jax.block_until_ready":
        # To wait, and no more, is what a benchmark does.
        return isinstance(ctx.parent(call), cst.Expr)
    if name in _SHOWING:
        return True
    if row is not None:
        return row.effect in {Effect.COMMIT, Effect.HOST}
    if name is not None and name.startswith("builtins."):
        return name in _READING
    if name is not None and name.startswith("numpy."):
        return name not in transfer.NUMPY_DISPATCHING
    if name is not None and name.startswith("jax."):
        return False
    held = ctx.flow.value(call.func)
    if held and all(isinstance(atom, _FOLLOWED) for atom in held):
        return False
    if isinstance(call.func, cst.Attribute):
        receiver = ctx.flow.value(call.func.value)
        if call.func.attr.value in _GROWING and any(
            isinstance(atom, values.Sequence | values.Mapping) for atom in receiver
        ):
            return False
        if any(isinstance(atom, values.Array) for atom in receiver):
            return False
    return True
