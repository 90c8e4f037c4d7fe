"""Evidence for and against that an operation is meant to run on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import contents, values
from placement_lint.placement.domain.devices import Device, differ, is_host
from placement_lint.placement.domain.places import (
    Place,
)
from placement_lint.rules.commitment.loop_copies import is_made_in, loops_around, targets_in
from placement_lint.semantic.followed import followed
from placement_lint.semantic.functions import calls_inside
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.pulls import Pull
    from placement_lint.rules.context import Context

_GRADIENTS = frozenset({
    "equinox.filter_grad", "equinox.filter_value_and_grad", "flax.nnx.grad",
    "flax.nnx.value_and_grad", "jax.grad", "jax.jacfwd", "jax.jacrev", "jax.linearize",
    "jax.value_and_grad", "jax.vjp",
})  # fmt: skip
_UPDATES = "optax.apply_updates"
_LOOPS = frozenset({"jax.lax.associative_scan", "jax.lax.map", "jax.lax.scan"})
"""What takes its operands apart, item by item, as a loop does."""
_DLPACK = frozenset({"jax.dlpack.from_dlpack", "jax.numpy.from_dlpack"})


def trains(operation: cst.CSTNode, ctx: Context, *, updates: bool = True) -> bool:
    """Return whether a call computes gradients, itself or in functions of the files.

    `updates`: or only applies some.
    """
    if not isinstance(operation, cst.Call):
        return False
    function = operation.func
    maker = followed(function, ctx)
    if isinstance(maker, cst.Call) and ctx.called(maker) in _GRADIENTS:
        return True
    for atom in ctx.flow.value(function):
        place = atom.function if isinstance(atom, values.Computation) else None
        node, there = ctx.node_at(place) or (None, ctx)
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            continue
        for call in calls_inside(node, there):
            called = there.called(call)
            if called in _GRADIENTS or (
                updates and (called == _UPDATES or dotted(call.func).endswith(".apply_gradients"))
            ):
                return True
    return False


def is_same_each_time(pull: Pull, ctx: Context) -> bool:
    """Return whether the operands that are on the host are the same ones in each iteration.

    They are no batches then, but perhaps the parameters of a function that is meant to run there.
    """
    operation = ctx.tree.nodes[pull.node]
    if not pull.in_loop or ctx.called(operation) in _LOOPS:
        return False
    return all(_is_same(ctx.tree.nodes[operand], ctx) for operand in pull.pulling)


def _is_same(node: cst.CSTNode, ctx: Context) -> bool:
    name = dotted(node)
    if not name:
        return False
    loops = [*loops_around(node, ctx)]
    if not loops and isinstance(node, cst.Name):
        bindings = ctx.names.bindings(node)
        if any(isinstance(binding.node, cst.Param) for binding in bindings):
            # Who calls the function, in a loop, may pass another one each time.
            return False
    bound = {dotted(target) for loop in loops for target in _bound_by(loop, ctx)}
    return not any(name == each or name.startswith(f"{each}.") for each in bound - {""})


def _bound_by(loop: cst.For | cst.While, ctx: Context) -> Iterator[cst.BaseExpression]:
    yield from targets_in(loop, ctx)
    if isinstance(loop, cst.For):
        yield loop.target
        yield from (
            part for part in ctx.tree.descendants(loop.target) if isinstance(part, cst.Name)
        )


def is_from_outside(arrays: set[values.Array], node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand may be one array for all iterations of the loops around."""
    loops = [*loops_around(node, ctx)]
    return any(not is_made_in(array, loop, ctx) for array in arrays for loop in loops) or not loops


def is_asked_for(pull: Pull, ctx: Context) -> bool:
    """Return whether the call itself puts an operand on the host: `f(w, jax.device_put(x, cpu))`.

    Or an array of the accelerator was put there: what computes with it is meant to run there.
    """
    here = {Place(ctx.flow.module.name, operand) for operand in pull.pulling}
    if any(not here.isdisjoint(by) for by in pull.pulling.values()):
        return True
    return all(
        any(_was_on_accelerator(node, there) for node, there in _committers(by, ctx))
        for by in pull.pulling.values()
    )


def _was_on_accelerator(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a `device_put` moves an array, by its name, that may be on the accelerator."""
    if not isinstance(node, cst.Call) or not ctx.is_call(node, "jax.device_put"):
        return False
    given = Arguments(node).get(0, "x")
    if not isinstance(given, cst.Name | cst.Attribute | cst.Subscript):
        return False
    return any(
        not is_host(array.device)
        and not array.is_small
        and differ(array.device, Device("cpu", 0), accelerator=ctx.flow.accelerator)
        for array in contents.arrays(ctx.flow.value(given))
    )


def are_by_dlpack(pull: Pull, ctx: Context) -> bool:
    """Whether all that pulls came by DLPack from the host, which is another rule's to say."""
    return all(
        any(there.called(node) in _DLPACK for node, there in _committers(by, ctx))
        for by in pull.pulling.values()
    )


def _committers(by: frozenset[Place], ctx: Context) -> Iterator[tuple[cst.CSTNode, Context]]:
    yield from filter(None, map(ctx.node_at, by))
