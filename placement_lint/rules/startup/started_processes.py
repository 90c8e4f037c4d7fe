"""The call of `start` of a process that a call makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.called_from import attributes_by_name, calls_here
from placement_lint.semantic.functions import passed_as
from placement_lint.semantic.own_attributes import own_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.rules.context import Context

_MOST_HOLDERS = 3
"""Names and lists that a process goes through between being made and being started."""


def start_of(made: cst.Call, ctx: Context) -> cst.Call | None:
    """Return the call that starts the process which a call makes; None where none is known.

    `process.start()` of the same function, of another method of the object that keeps it, or of
    each process of a list. Of several the first one that follows.
    """
    index = ctx.tree.index(made)
    found = [*_starts_of_value(made, ctx, _MOST_HOLDERS)]
    return min(
        found, key=lambda each: (ctx.tree.index(each) < index, ctx.tree.index(each)), default=None
    )


def _starts_of_value(value: cst.BaseExpression, ctx: Context, holders: int) -> Iterator[cst.Call]:
    """Yield the calls that start what an expression gives, or each item of the list that it is.

    Where a function returns it, what its calls in the file give.
    """
    parent = ctx.parent(value)
    is_many = False
    if isinstance(parent, cst.Return):
        yield from _starts_of_returned(value, ctx, holders)
        return
    if isinstance(parent, cst.ListComp) and parent.elt is value:
        parent, is_many = ctx.parent(parent), True
    elif isinstance(parent, cst.Element):
        display = ctx.parent(parent)
        parent, is_many = (None if display is None else ctx.parent(display)), True
    if isinstance(parent, cst.Assign):
        for each in parent.targets:
            yield from _starts_of(_uses_of(each.target, ctx), ctx, is_many, holders)
    elif not is_many:
        yield from _starts_of([value], ctx, is_many, holders)


def _starts_of_returned(node: cst.CSTNode, ctx: Context, holders: int) -> Iterator[cst.Call]:
    """Yield the calls that start what a function returns, by its calls in the file."""
    maker = ctx.function(node)
    if isinstance(maker, cst.FunctionDef) and holders:
        for call in calls_here(maker, ctx):
            yield from _starts_of_value(call, ctx, holders - 1)


def _starts_of(
    uses: Iterable[cst.CSTNode], ctx: Context, is_many: bool, holders: int
) -> Iterator[cst.Call]:
    """Yield the calls that start a process, or those of a list, where it is read."""
    for use in uses if holders else ():
        parent = ctx.parent(use)
        if is_many:
            if isinstance(parent, cst.For | cst.CompFor) and parent.iter is use:
                loop = parent if isinstance(parent, cst.For) else ctx.parent(parent)
                # Another loop may draw threads by the same name.
                drawn = [
                    each
                    for each in _uses_of(parent.target, ctx)
                    if loop is not None
                    and each is not parent.target
                    and ctx.tree.is_inside(each, loop)
                ]
                yield from _starts_of(drawn, ctx, False, holders - 1)
            continue
        if isinstance(parent, cst.Return):
            yield from _starts_of_returned(use, ctx, holders)
            continue
        called = ctx.parent(parent) if isinstance(parent, cst.Attribute | cst.Arg) else None
        if not isinstance(called, cst.Call):
            continue
        if isinstance(parent, cst.Attribute):
            if called.func is parent and parent.attr.value == "start":
                yield called
        elif isinstance(called.func, cst.Attribute) and called.func.attr.value == "append":
            yield from _starts_of(_uses_of(called.func.value, ctx), ctx, True, holders - 1)
        else:
            yield from _starts_of(passed_as(use, ctx), ctx, False, holders - 1)


def _uses_of(holder: cst.BaseExpression, ctx: Context) -> list[cst.CSTNode]:
    """Return the places that have a name, or an attribute of the objects of the same class."""
    if isinstance(holder, cst.Name):
        return [*ctx.names.uses(holder.value, ctx.names.scope(holder))]
    owner = own_class(holder.value, ctx) if isinstance(holder, cst.Attribute) else None
    if not isinstance(holder, cst.Attribute) or owner is None:
        return []
    every = ctx.module.fact(attributes_by_name).get(holder.attr.value, [])
    return [each for each in every if own_class(each.value, ctx) is owner]
