"""What a program stores in an array by its name, before it reads the array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.semantic.enclosing import is_conditional

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_WRITING = frozenset({
    "numpy.copyto", "numpy.place", "numpy.put", "numpy.put_along_axis", "numpy.putmask",
})  # fmt: skip
_METHODS = frozenset({"fill", "put", "setfield"})


class Store(NamedTuple):
    """A statement that stores in an array: `rows[:4] = value`, or `rows[:] += value`."""

    target: cst.Subscript
    value: cst.BaseExpression
    is_whole: bool
    """Nothing of what the array held is left."""
    is_sure: bool
    """It runs whenever the array is read after it."""


def stores_before(name: cst.Name, ctx: Context) -> list[Store]:
    """Return what the function around a name stores in what the name is bound to, in order.

    Nothing where it binds the name more than once, or passes the array to what may store in it.
    """
    known = ctx.module.fact(_stores).get(name.value)
    if known is None or ctx.names.sole_binding(name) is None:
        return []
    function, read = ctx.function(name), ctx.tree.index(name)
    before = [each for each in known if ctx.tree.index(each) < read]
    found = [_store(each, ctx) for each in before if ctx.function(each) is function]
    return found if found and not _may_be_written(name, ctx) else []


def _stores(facts: ModuleFacts) -> dict[str, list[cst.Assign | cst.AugAssign]]:
    """Return the statements that store by an index of a name, by the name."""
    found: dict[str, list[cst.Assign | cst.AugAssign]] = {}
    for each in facts.tree.every(cst.Assign, cst.AugAssign):
        target = _target(each)
        if target is not None and isinstance(target.value, cst.Name):
            found.setdefault(target.value.value, []).append(each)
    return found


def _target(statement: cst.Assign | cst.AugAssign) -> cst.Subscript | None:
    if isinstance(statement, cst.AugAssign):
        target: cst.BaseExpression = statement.target
    else:
        target = statement.targets[0].target
    return target if isinstance(target, cst.Subscript) else None


def _store(statement: cst.Assign | cst.AugAssign, ctx: Context) -> Store:
    target = cst.ensure_type(_target(statement), cst.Subscript)
    is_whole = isinstance(statement, cst.Assign) and all(map(_takes_all, target.slice))
    return Store(target, statement.value, is_whole, not is_conditional(statement, ctx))


def _takes_all(element: cst.SubscriptElement) -> bool:
    """Return whether an index takes all of a dimension: `:`, or `...`."""
    part = element.slice
    if isinstance(part, cst.Index):
        return isinstance(part.value, cst.Ellipsis)
    return isinstance(part, cst.Slice) and (part.lower, part.upper, part.step) == (None,) * 3


def _may_be_written(name: cst.Name, ctx: Context) -> bool:
    """Return whether something that is called before a name is read may store in the array."""
    return any(
        called is None or called in _WRITING or not called.startswith(LIBRARY_PREFIXES)
        for called in _called_with(name, ctx)
    )


def _called_with(name: cst.Name, ctx: Context) -> Iterator[str | None]:
    """Yield what the function calls with the array, or a method of it, before a name is read."""
    function, read = ctx.function(name), ctx.tree.index(name)
    for each in ctx.tree.every(cst.Name, below=function):
        parent = ctx.parent(each)
        if each.value != name.value or ctx.tree.index(each) >= read:
            continue
        if isinstance(parent, cst.Arg):
            call = ctx.parent(parent)
            yield ctx.called(call) if isinstance(call, cst.Call) else None
        elif isinstance(parent, cst.Attribute) and parent.attr.value in _METHODS:
            yield None
