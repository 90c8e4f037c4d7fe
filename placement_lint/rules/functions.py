"""Which function an expression stands for, and what runs when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context

Function: TypeAlias = "cst.FunctionDef | cst.Lambda"

_MOST_FUNCTIONS = 64
"""How many functions are followed from one: a helper's helpers, and no more of a program."""


def function_of(node: cst.BaseExpression | None, ctx: Context) -> Function | None:
    """Give the function of this file that an expression surely is.

    That is a lambda, a name that only a `def` binds, a method by `self.name`, or one of these in a
    `functools.partial`.
    """
    if isinstance(node, cst.Lambda):
        return node
    if isinstance(node, cst.Name):
        bindings = ctx.names.bindings(node)
        found = bindings[0].node if len(bindings) == 1 else None
        return found if isinstance(found, cst.FunctionDef) else None
    if isinstance(node, cst.Attribute):
        return _own_method(node, ctx)
    if ctx.is_call(node, "functools.partial") and isinstance(node, cst.Call):
        return function_of(Arguments(node).get(0, "func"), ctx)
    return None


def _own_method(node: cst.Attribute, ctx: Context) -> cst.FunctionDef | None:
    """Give the method that `self.name` is, where the class around it has one of that name."""
    around = ctx.function(node)
    while around is not None and not isinstance(ctx.parent(around), cst.IndentedBlock):
        around = ctx.function(around)
    if not isinstance(around, cst.FunctionDef) or not isinstance(node.value, cst.Name):
        return None
    parameters = [*around.params.posonly_params, *around.params.params]
    block = ctx.parent(around)
    owner = None if block is None else ctx.parent(block)
    if not (
        isinstance(owner, cst.ClassDef)
        and parameters
        and parameters[0].name.value == node.value.value
    ):
        return None
    methods = [
        statement
        for statement in owner.body.body
        if isinstance(statement, cst.FunctionDef) and statement.name.value == node.attr.value
    ]
    return methods[0] if len(methods) == 1 else None


def calls_inside(function: Function, ctx: Context) -> Iterator[cst.Call]:
    """Give the calls that run when a function is called, in its body and in what it calls.

    In order of the text for each function, those of functions that it calls after its own. What is
    only defined in it does not run; a lambda or function that is given to a call does.
    """
    pending: list[Function] = [function]
    seen = {id(function)}
    for current in pending:
        for call in _own_calls(current, ctx):
            yield call
            given = [argument.value for argument in call.args]
            for each in (call.func, *given):
                inner = function_of(each, ctx)
                if inner is None or id(inner) in seen or len(seen) >= _MOST_FUNCTIONS:
                    continue
                if isinstance(inner, cst.FunctionDef) and inner.decorators:
                    continue
                seen.add(id(inner))
                pending.append(inner)


def _own_calls(function: Function, ctx: Context) -> Iterator[cst.Call]:
    """Give the calls in a function's body that are in no function inside of it."""
    for node in (function.body, *ctx.tree.descendants(function.body)):
        if isinstance(node, cst.Call) and ctx.function(node) is function:
            yield node
