"""Calls of compiled functions: what these are given, and whether they take all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.rules.transfers.jitted_calls import jitted

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


def arguments_of(node: cst.Call, ctx: Context) -> list[cst.BaseExpression]:
    """Return the arguments that a call gives to a compiled function; none where it may place them.

    A function of another file, or one that a call gives, is known by its value: a static argument
    is no array.
    """
    from placement_lint.placement.domain.values import Computation, sole

    compiled = jitted(node.func, ctx)
    if compiled is not None:
        return [] if compiled.is_placed else compiled.traced_arguments(node)
    called = sole(ctx.flow.value(node.func))
    is_known = (
        isinstance(called, Computation)
        and called.is_staged
        and called.function is not None
        and not (called.places_arguments or called.bound or called.bound_by_name)
    )
    if not is_known or any(argument.star for argument in node.args):
        return []
    return [argument.value for argument in node.args]


def kept_by(node: cst.Call, ctx: Context) -> list[cst.BaseExpression]:
    """Return the arguments of a call of a compiled function that it surely does not destroy."""
    from placement_lint.placement.domain.values import Computation, sole

    called = sole(ctx.flow.value(node.func))
    if isinstance(called, Computation) and not called.donates:
        return [argument.value for argument in node.args]
    compiled = jitted(node.func, ctx)
    return [] if compiled is None else compiled.kept_arguments(node)


def leaves_some(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call may leave some of its arguments where they are."""
    from placement_lint.placement.domain.values import Computation, sole

    called = sole(ctx.flow.value(node.func))
    if not isinstance(called, Computation) or not called.is_known:
        return True
    usage = called.usage
    positions = range(len(node.args))
    return usage is not None and not all(usage.of(position) for position in positions)
