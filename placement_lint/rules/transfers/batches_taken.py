"""Whether a program takes one batch after the other of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.loops import loop_around
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.program_callees import Callee
    from placement_lint.semantic.model import ModuleFacts

_STEPPING = 3
"""Arguments of a `range` that has a step."""
_SPLITTING = frozenset(
    f"{module}.{name}" for module in ("jax.numpy", "numpy") for name in ("array_split", "split")
)


def is_batched(uses: Iterable[cst.CSTNode], ctx: Context, *, follows: bool = True) -> bool:
    """Return whether a loop takes slices of an array, from one end of it to the other.

    `x[i : i + 32]` in `for i in range(0, len(x), 32)`, and `for batch in jnp.split(x, n)`; there,
    or (`follows`) in a function of the program that is given the array. `uses`: what reads it.
    """
    for use in uses:
        parent = ctx.parent(use)
        if isinstance(parent, cst.Subscript) and parent.value is use:
            if _is_batch(parent, ctx):
                return True
        elif isinstance(parent, cst.Arg) and not parent.star:
            call = ctx.parent(parent)
            if isinstance(call, cst.Call) and (
                _is_split_by_loop(call, parent, ctx)
                or (follows and _is_batched_by_callee(call, use, ctx))
            ):
                return True
    return False


def _is_batch(part: cst.Subscript, ctx: Context) -> bool:
    """Return whether a slice begins where a loop with a step is: `x[i : i + size]`."""
    taken = part.slice[0].slice
    loop = loop_around(part, ctx)
    if not isinstance(taken, cst.Slice) or taken.upper is None or loop is None:
        return False
    drawing = loop if isinstance(loop, cst.For) else getattr(loop, "for_in", None)
    if not isinstance(drawing, cst.For | cst.CompFor) or not isinstance(drawing.target, cst.Name):
        return False
    begins = isinstance(taken.lower, cst.Name) and taken.lower.value == drawing.target.value
    is_stepping = ctx.is_call(drawing.iter, "builtins.range")
    steps = len(Arguments(drawing.iter).positional) if isinstance(drawing.iter, cst.Call) else 0
    is_traced = ctx.module.fact(TracedFunctions).is_traced(part)
    return begins and is_stepping and steps == _STEPPING and not is_traced


def _is_split_by_loop(call: cst.Call, argument: cst.Arg, ctx: Context) -> bool:
    if ctx.called(call) not in _SPLITTING or call.args[0] is not argument:
        return False
    loop = ctx.parent(call)
    return isinstance(loop, cst.For | cst.CompFor) and loop.iter is call


def _is_batched_by_callee(call: cst.Call, use: cst.CSTNode, ctx: Context) -> bool:
    # Most arrays are given to functions of libraries.
    if ctx.called(call) is not None and not ctx.module.has_siblings:
        return False
    from placement_lint.rules.transfers.program_callees import program_callees

    return any(
        value is use and _takes_batches(callee, name)
        for callee in program_callees(call, ctx)
        for name, value in callee.by_parameter(call)
    )


def _takes_batches(callee: Callee, parameter: str) -> bool:
    there = callee.there
    known = there.module.fact(_known_parameters)
    key = (id(callee.function), parameter)
    if key not in known:
        uses = there.names.uses(parameter, there.names.scope(callee.function.body))
        known[key] = is_batched(uses, there, follows=False)
    return known[key]


def _known_parameters(_facts: ModuleFacts) -> dict[tuple[int, str], bool]:
    """Make the store of one file: of which parameters functions take batches."""
    return {}
