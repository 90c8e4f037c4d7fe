"""What functions of the program return, of any file that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.syntax.definitions import (
    CACHES,
    applied,
    function_of,
    is_generator,
    returns_of,
)

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

STATIC = frozenset({"builtins.staticmethod"})
"""What keeps a function as it is, and nothing that it returns."""


def returned_by(
    call: cst.Call, ctx: Context, decorators: frozenset[str] = STATIC | CACHES
) -> list[tuple[cst.BaseExpression, Context]]:
    """Return what a function of the program returns that a call runs, and its file.

    Nothing where that is not known: one of its decorators is none of some.
    """
    found = _function_called(call, ctx)
    if found is None:
        return []
    function, there = found
    if isinstance(function, cst.Lambda):
        return [(function.body, there)]
    is_plain = function.asynchronous is None and not is_generator(function, there.names)
    names = (there.name(applied(each.decorator, there.names)[0]) for each in function.decorators)
    if not is_plain or any(each not in decorators for each in names):
        return []
    values = [each.value for each in returns_of(function, there.names)]
    known = [(value, there) for value in values if value is not None]
    return known if len(known) == len(values) else []


def _function_called(
    call: cst.Call, ctx: Context
) -> tuple[cst.FunctionDef | cst.Lambda, Context] | None:
    function = function_of(call.func, ctx.names)
    if function is not None:
        return function, ctx
    name = ctx.name(call.func)
    found = None if name is None else definition_beside(ctx.module, name)
    there = None if found is None else ctx.beside(found[1].path)
    if found is None or there is None or not isinstance(found[0], cst.FunctionDef):
        return None
    return found[0], there
