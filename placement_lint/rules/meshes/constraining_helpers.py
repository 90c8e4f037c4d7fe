"""Functions of the program that do nothing but constrain what they are given, and hand it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.followed import bound_before
from placement_lint.semantic.object_classes import method_of_object
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import PARTIAL, named_function, own_method

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from placement_lint.rules.context import Context
    from placement_lint.syntax.definitions import Function

    Found: TypeAlias = list[tuple[str, cst.Call, Context]]

_MOST_STEPS = 4
_QUIET = ("builtins.len", "builtins.tuple", "jax.")
"""How the names begin of what nothing is called for but its result."""


def constraints_run_by(
    call: cst.Call, functions: Collection[str], ctx: Context, steps: int = _MOST_STEPS
) -> Found:
    """Return the calls of some functions that a call runs: the names, the calls and their files.

    None where it may do anything else: `shard(x)`, `self.shard(x, spec)`, `jax.tree.map(shard, x)`.
    """
    if not steps:
        return []
    name = ctx.called(call) or ""
    if name in functions:
        return [(name, call, ctx)]
    called = call.func
    if name in TREE_MAPS:
        called = Arguments(call).get(0, "f") or called
        mapped = _named(called, ctx) or ""
        if mapped in functions:
            return [(mapped, call, ctx)]
    function, there = _defined(called, ctx) or (None, ctx)
    if isinstance(function, cst.Lambda):
        inner = function.body
        if not isinstance(inner, cst.Call):
            return []
        return constraints_run_by(inner, functions, there, steps - 1)
    if function is None or function.decorators or function.asynchronous:
        return []
    parameters = {each.name.value for each in function.params.params}
    found: Found = []
    for given in _given_back(function.body, there):
        value = bound_before(given, there) or given if isinstance(given, cst.Name) else given
        if isinstance(value, cst.Call):
            inside = constraints_run_by(value, functions, there, steps - 1)
            if not inside:
                return []
            found += inside
        elif not isinstance(given, cst.Name) or given.value not in parameters:
            return []
    return found


def _named(function: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the qualified name of a function, also of one in `functools.partial`."""
    if isinstance(function, cst.Call):
        if ctx.called(function) != PARTIAL:
            return None
        function = Arguments(function).get(0, "func") or function
    return ctx.name(function)


def _defined(called: cst.BaseExpression, ctx: Context) -> tuple[Function, Context] | None:
    """Return the function of the program that is called, and its file."""
    function = named_function(called, ctx.names)
    if function is None and isinstance(called, cst.Attribute):
        function = own_method(called, ctx.names) or method_of_object(called, ctx)
    if function is not None:
        return function, ctx
    name = ctx.name(called)
    node, facts = (name and definition_beside(ctx.module, name)) or (None, None)
    there = None if facts is None else ctx.beside(facts.path)
    return (node, there) if isinstance(node, cst.FunctionDef) and there is not None else None


def _given_back(body: cst.BaseSuite, ctx: Context) -> Iterator[cst.BaseExpression | None]:
    """Yield what a body that computes nothing returns; None where it does anything else.

    It may bind names to specs, or to what is constrained, and choose.
    """
    for statement in body.body:
        if isinstance(statement, cst.If):
            branch: cst.If | cst.Else | None = statement
            while branch is not None:
                yield from _given_back(branch.body, ctx)
                branch = branch.orelse if isinstance(branch, cst.If) else None
            continue
        parts = [statement]
        if isinstance(statement, cst.SimpleStatementLine):
            parts = [*statement.body]
        for part in parts:
            if isinstance(part, cst.Return):
                yield part.value
            elif isinstance(part, cst.Assign):
                calls = map(ctx.called, ctx.tree.every(cst.Call, below=part))
                is_quiet = all((name or "").startswith(_QUIET) for name in calls)
                is_named = all(isinstance(each.target, cst.Name) for each in part.targets)
                if not is_quiet or not is_named:
                    yield None
            elif not (
                isinstance(part, cst.Pass)
                or (isinstance(part, cst.Expr) and isinstance(part.value, cst.BaseString))
            ):
                yield None
