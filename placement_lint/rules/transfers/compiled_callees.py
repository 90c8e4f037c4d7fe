"""Functions that compiled code of the same file runs: it calls them, or traces them in turn."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.tracing import TRACINGS
from placement_lint.rules.transfers.jitted_calls import JITS, compiled_method
from placement_lint.semantic.object_classes import called_method
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import class_of_method, function_of, parameter_named

_DIFFERENTIATING = frozenset({"jax.grad", "jax.value_and_grad", "jax.vmap"})

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function


def is_jitted(function: Function, ctx: Context) -> bool:
    """Return whether a function certainly is given to `jax.jit`, or decorated by it."""
    traced = ctx.module.fact(TracedFunctions)
    return any(each.tracing.name in JITS and each.is_certain for each in traced.of(function))


def compiled_callees(ctx: Context) -> dict[int, bool]:
    """Return the functions, by id, that jitted functions run, and those themselves.

    Each with whether the object that it is a method of is a constant for the compiled code.
    """
    known = ctx.module.fact(_known_callees)
    if not known:
        known.append(_found(ctx))
    return known[0]


def _known_callees(_facts: ModuleFacts) -> list[dict[int, bool]]:
    """Make the store of one file."""
    return []


def _has_constant_object(function: Function, parameter: cst.Param | None, ctx: Context) -> bool:
    """Return whether a jitted function has its object for a constant: it is bound, or static."""
    if not isinstance(function, cst.FunctionDef):
        return False
    compiled = compiled_method(function, ctx)
    if compiled is None and function.decorators:
        return False
    static = {0} if compiled is None else compiled.static or ()
    return parameter is not None and bool({0, parameter.name.value} & {*static})


def _found(ctx: Context) -> dict[int, bool]:
    found: dict[int, bool] = {}
    pending: list[Function] = []
    for function in ctx.tree.every(cst.FunctionDef, cst.Lambda):
        if is_jitted(function, ctx):
            first = function.params.params[0] if function.params.params else None
            found[id(function)] = _has_constant_object(function, first, ctx)
            pending.append(function)
    for method in _compiled_of_objects(ctx):
        if id(method) not in found:
            found[id(method)] = True
            pending.append(method)
    while pending:
        calls = ctx.tree.every(cst.Call, below=pending.pop().body)
        for given in itertools.chain.from_iterable(_run_by(call, ctx) for call in calls):
            callee = ctx.module.fact(TracedFunctions).definition(given)
            if callee is None or id(callee) in found or not _is_plain(callee, ctx):
                continue
            found[id(callee)] = _keeps_object(callee, given, found, ctx)
            pending.append(callee)
    return found


def _compiled_of_objects(ctx: Context) -> Iterator[cst.FunctionDef]:
    """Yield the methods that `jax.jit(model.forward)` compiles, with their object for a constant:
    of objects of plain classes of the file.
    """
    for call in ctx.tree.every(cst.Call):
        if ctx.called(call) not in JITS:
            continue
        given = Arguments(call).get(0, "fun")
        while isinstance(given, cst.Call) and ctx.called(given) in _DIFFERENTIATING:
            given = Arguments(given).get(0, "fun")
        if not isinstance(given, cst.Attribute) or function_of(given, ctx.names) is not None:
            continue
        method = called_method(given, ctx)
        cls = None if method is None else class_of_method(method, ctx.names)
        if method is None or cls is None or cls.bases or cls.decorators or method.decorators:
            continue
        yield method


def _run_by(call: cst.Call, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what a call in compiled code runs: what it calls, and what it gives to be traced."""
    yield call.func
    name = ctx.called(call) or ""
    tracing = TRACINGS.get(name)
    arguments = Arguments(call)
    if tracing is not None:
        parts = (arguments.get(position, keyword) for position, keyword in tracing.parameters)
        yield from (part for part in parts if part is not None)
    elif name in TREE_MAPS and arguments.positional:
        yield arguments.positional[0]


def _is_plain(function: Function, ctx: Context) -> bool:
    """Return whether nothing but JAX decorates a function."""
    decorators = () if isinstance(function, cst.Lambda) else function.decorators
    traced = ctx.module.fact(TracedFunctions)
    return all(
        traced.tracing(each.decorator) is not None
        or ctx.name(each.decorator) in {"builtins.classmethod", "builtins.staticmethod"}
        for each in decorators
    )


def _keeps_object(
    callee: Function, given: cst.BaseExpression, found: dict[int, bool], ctx: Context
) -> bool:
    """Return whether the object of a method is one that the compiled code captured."""
    if not isinstance(callee, cst.FunctionDef) or class_of_method(callee, ctx.names) is None:
        return False
    methods = (each for each in (given, *ctx.tree.descendants(given)))
    for each in methods:
        if isinstance(each, cst.Attribute) and each.attr.value == callee.name.value:
            parameter = parameter_named(each.value, ctx.names)
            owner = None if parameter is None else ctx.tree.around(parameter, cst.FunctionDef)
            if owner is None:
                return False
            around = (owner, *ctx.tree.ancestors(owner))
            compiled = next((one for one in around if id(one) in found), None)
            return compiled is None or (compiled is owner and found[id(owner)])
    return False
