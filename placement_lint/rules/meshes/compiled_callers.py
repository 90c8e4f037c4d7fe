"""Which code runs only as a part of compiled programs, by all that is known of its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.tracing import TRACINGS
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.rules.meshes.shardings import (
    calls_at,
    depends_on_tracing,
    may_run_at_compile_time,
)
from placement_lint.semantic.tracing import TracedFunctions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts


_KEEPING = frozenset({"argparse.Namespace", "builtins.dict", "types.SimpleNamespace"})
"""What does nothing but keep what it is given."""


def runs_only_compiled(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an expression that names a device runs in compiled code alone.

    That is what the program does; the function around it is only called in all of its files.
    """
    seen = calls_at(node, ctx)
    if not seen or any(call.running is not Running.COMPILED for call in seen):
        return False
    if depends_on_tracing(node, ctx) or may_run_at_compile_time(ctx, elsewhere=True):
        return False
    return is_only_called(node, ctx)


def is_only_called(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether the function around a call is only called, or compiled, in all files."""
    function = ctx.function(node)
    while isinstance(function, cst.Lambda):
        function = ctx.function(function)
    if function is None:
        return False
    # What is given to `jax.jit` is not followed where it is called as it is.
    is_given = function in ctx.flow.module.traced and not function.decorators
    place = ctx.flow.module.place(function)
    is_followed = place in ctx.flow.program.assumed_compiled
    return all(
        _is_call(use, there.module, is_given=is_given)
        or (there.module is ctx.module and _is_made_by_calls(use, function, ctx))
        or (is_followed and _is_kept(use, there))
        for there, use in uses_of(function, ctx)
    )


def _is_kept(use: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a use of a function keeps it, or hands it to code of the program alone: from
    there it is followed to what compiles it.
    """
    from placement_lint.placement.domain import program_values, values

    parent = ctx.parent(use)
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        of_program = (
            program_values.Class
            | values.Closure
            | program_values.Function
            | values.Method
            | values.NamedTupleType
        )
        held = ctx.flow.value(call.func) if isinstance(call, cst.Call) else frozenset()
        if isinstance(call, cst.Call) and ctx.called(call) in _KEEPING:
            return True
        return bool(held) and all(isinstance(atom, of_program) for atom in held)
    return isinstance(
        parent,
        cst.AnnAssign | cst.Assign | cst.DictElement | cst.Element | cst.NamedExpr | cst.Return,
    )


def _is_made_by_calls(use: cst.CSTNode, function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether a function is returned by one that is only called: what it gives is followed
    from there.
    """
    around = ctx.function(function)
    return (
        isinstance(ctx.parent(use), cst.Return)
        and isinstance(around, cst.FunctionDef)
        and all(
            _is_call(each, there.module, is_given=False) for there, each in uses_of(around, ctx)
        )
    )


def uses_of(function: cst.FunctionDef, ctx: Context) -> Iterator[tuple[Context, cst.CSTNode]]:
    """Yield what may read a function: in its file its name, in others whatever has that name."""
    name, scope = function.name.value, ctx.names.scope(function)
    is_method = isinstance(scope.node, cst.ClassDef)
    for path, facts in ctx.module.siblings.items():
        is_own = facts is ctx.module
        there = ctx if is_own else ctx.beside(path)
        if there is None:
            continue
        if is_own and not is_method:
            yield from ((there, use) for use in ctx.names.uses(name, scope))
        if not is_method and (is_own or scope is not ctx.names.module_scope):
            continue
        kinds = (cst.Attribute,) if is_method else (cst.Attribute, cst.Name)
        for use in facts.tree.every(*kinds):
            last = use.attr if isinstance(use, cst.Attribute) else use
            is_named = isinstance(last, cst.Name) and last.value == name
            if is_named and (is_own or not _is_another(use, there)):
                yield there, use


def _is_another(use: cst.CSTNode, there: Context) -> bool:
    """Return whether a name is that of something that its own file defines."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.syntax.names import BindingKind

    bindings = there.names.bindings(use) if isinstance(use, cst.Name) else []
    defining = (BindingKind.CLASS, BindingKind.FUNCTION, BindingKind.PARAMETER)
    return bool(bindings) and all(each.kind in defining for each in bindings)


def _is_call(use: cst.CSTNode, facts: ModuleFacts, *, is_given: bool) -> bool:
    """Return whether a use of a function calls it, gives it to what compiles it, or imports it.

    `is_given`: it calls it in traced code.
    """
    parent = facts.tree.parent(use)
    if isinstance(parent, cst.Call) and parent.func is use:
        return not is_given or facts.fact(TracedFunctions).is_traced(use)
    if isinstance(parent, cst.Attribute) and parent.attr is use:
        # It is looked at by itself.
        return True
    if isinstance(parent, cst.Arg):
        call = facts.tree.parent(parent)
        if isinstance(call, cst.Call) and facts.names.qualified(call.func) in TRACINGS:
            return True
        # `jax.jit(functools.partial(run, mesh=mesh))`.
        return facts.fact(TracedFunctions).is_given(use)
    return isinstance(parent, cst.FunctionDef | cst.ImportAlias | cst.AssignTarget)
