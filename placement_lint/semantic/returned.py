"""What calls of functions of one file give, where that is one expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import assigned_parts, followed, value_behind, value_for
from placement_lint.syntax.definitions import function_of, is_static, only_caches

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_STEPS = 4
"""Calls that lead from an expression to what it is."""


def only_return(function: cst.FunctionDef, ctx: FileView) -> cst.BaseExpression | None:
    """Return what the one `return` of a function gives; None where it has several, or yields."""
    known = ctx.module.fact(_returned)
    if id(function) not in known:
        ways = ctx.tree.every(cst.Return, cst.Yield, below=function.body)
        own = [each for each in ways if ctx.function(each) is function]
        only = own[0] if len(own) == 1 else None
        known[id(function)] = only.value if isinstance(only, cst.Return) else None
    return known[id(function)]


def _returned(_facts: ModuleFacts) -> dict[int, cst.BaseExpression | None]:
    """Make the store of one file: what each function gives that was asked for."""
    return {}


def given_by(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression:
    """Return what an expression is, as `followed`, and through calls of functions of the file.

    Of `loader` that is `Loader(rows)`, where `loader = make(rows)` and `make` returns that: the
    names in it are those of `make`, and may be its parameters. Each function, or
    method of the object itself, has one `return`, and no decorator that could change that.
    """
    node = followed(node, ctx)
    for _ in range(_STEPS):
        given = _given_by_call(node, ctx) if isinstance(node, cst.Call) else _part(node, ctx)
        if given is None:
            break
        node = followed(given, ctx)
    return node


def _part(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a name is that is bound once, to one of the results of a call."""
    only = ctx.names.sole_binding(node) if isinstance(node, cst.Name) else None
    if not isinstance(node, cst.Name) or only is None or not isinstance(only.node, cst.Assign):
        return None
    return part_for(node.value, only.node, ctx)


def value_of_variable(
    name: str, assignment: cst.Assign, ctx: FileView
) -> cst.BaseExpression | None:
    """Return what an assignment gives a variable: alone, of several values, of several results."""
    return value_for(name, assignment, ctx) or part_for(name, assignment, ctx)


def part_for(name: str, assignment: cst.Assign, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a call of a function of the file gives a name: `mean, scale = statistics()`."""
    call = assignment.value
    given = _given_by_call(call, ctx) if isinstance(call, cst.Call) else None
    made = None if given is None else followed(given, ctx)
    known = ctx.module.fact(_parts)
    if made is not None and id(assignment) not in known:
        known[id(assignment)] = {
            target.value: value
            for each in assignment.targets
            for target, value in assigned_parts(each.target, made)
            if isinstance(target, cst.Name) and value is not made
        }
    return known.get(id(assignment), {}).get(name)


def _parts(_facts: ModuleFacts) -> dict[int, dict[str, cst.BaseExpression]]:
    """Make the store of one file: what an unpacking of results binds, by assignment."""
    return {}


def step_back(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a name is bound to, or passed for it, or a call gives; None for all else."""
    if isinstance(node, cst.Call):
        return _given_by_call(node, ctx)
    return value_behind(node, ctx) or _part(node, ctx)


def _given_by_call(call: cst.Call, ctx: FileView) -> cst.BaseExpression | None:
    maker = function_of(call.func, ctx.names)
    if isinstance(maker, cst.Lambda):
        return maker.body
    if maker is None or maker.asynchronous is not None:
        return None
    others = [each for each in maker.decorators if not only_caches(each, ctx.names)]
    is_plain = not others or (len(others) == 1 and is_static(maker, ctx.names))
    return only_return(maker, ctx) if is_plain else None
