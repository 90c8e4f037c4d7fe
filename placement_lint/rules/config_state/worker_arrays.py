"""The arrays that a thread's function makes on the default device (JDP107)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.transfer import TABLE
from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.contents import functions_in
from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, differ
from placement_lint.semantic.config_contexts import context_of
from placement_lint.semantic.elsewhere import effects_of, method_effects
from placement_lint.semantic.functions import nodes_inside
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.context import Context
    from placement_lint.semantic.program_queries import EffectOrigin, FunctionEffects
    from placement_lint.syntax.definitions import Function

CONTEXT = "jax.default_device"
_MOST_METHODS = 16
"""Methods of one object that what a thread runs calls."""
# What puts an array on the default device of the thread that it runs in.
_PLACING = frozenset({
    Effect.COMPUTE, Effect.COPY, Effect.CREATE, Effect.CONVERT, Effect.KEY, Effect.LOAD,
    Effect.SAMPLE,
})  # fmt: skip


def is_under_host(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call always runs where another device than the system's is the default."""
    devices = ctx.flow.default_devices(node)
    return bool(devices) and all(
        device is not None
        and differ(device, SYSTEM_DEFAULT, accelerator=ctx.flow.accelerator) is True
        for device in devices
    )


def first_array(worker: cst.BaseExpression, ctx: Context) -> cst.CSTNode | None:
    """Return the first place at which a worker's function makes an array; None if none is seen."""
    if _places(ctx.name(worker)):
        return worker
    function = ctx.module.fact(TracedFunctions).definition(worker)
    return None if function is None else _first_made(function, ctx)


def first_of_values(
    worker: cst.BaseExpression, ctx: Context, calls: int
) -> tuple[cst.CSTNode, Context] | None:
    """Return the first place at which what an expression surely is makes an array: functions and
    methods of the program, wherever they come from. That may be by so many calls of others.
    """
    held = ctx.flow.value(worker)
    places = [*functions_in(held)]
    if len(places) < len(held):
        return None
    for place in places:
        function, there = ctx.node_at(place) or (None, ctx)
        if not isinstance(function, cst.FunctionDef | cst.Lambda):
            continue
        made = _first_made(function, there, calls)
        if made is not None:
            return made, there
    return None


def _first_made(
    function: Function, ctx: Context, others: int = 0, *, files: int = 1
) -> cst.CSTNode | None:
    """Return the first place at which a function makes an array on the default device.

    In its body, or in what that calls, of the same file or, directly, of another one; or by so
    many calls of methods of `others`. `files`: see `made_elsewhere`.
    """
    if _may_run_in_block(function, ctx):
        return None
    calls = [
        call
        for call in nodes_inside(
            function, ctx, (cst.Call,), without=lambda node: _is_elsewhere(node, ctx)
        )
        if isinstance(call, cst.Call)
    ]
    if any(_enters_block(call, ctx) for call in calls):
        return None
    for call in calls:
        if not _places(ctx.called(call)):
            if made_elsewhere(call.func, ctx, files) is not None or _maps_placing(call, ctx):
                return call
            is_of_other = others and isinstance(call.func, cst.Attribute) and not ctx.called(call)
            if is_of_other and first_of_values(call.func, ctx, others - 1) is not None:
                return call
        elif (
            Arguments(call).get(None, "device") is None
            and not _is_put(call, ctx)
            and not _runs_where_committed(call, ctx)
        ):
            return call
    return None


def _may_run_in_block(function: Function, ctx: Context) -> bool:
    return isinstance(function, cst.FunctionDef) and any(
        _may_wrap_in_block(each.decorator, ctx) for each in function.decorators
    )


def _may_wrap_in_block(decorator: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether what a decorator makes of a function may enter a block before it runs that.

    So may JAX's own, a context manager, what enters one somewhere, and what is not known.
    """
    if ctx.is_call(decorator, CONTEXT) or may_be_block(decorator, ctx):
        return True
    maker = decorator.func if isinstance(decorator, cst.Call) else decorator
    wrapping = function_of(maker, ctx.names)
    if wrapping is None:
        return ctx.name(maker) is None or _has_block(effects_of(maker, ctx))
    inside = ctx.tree.every(cst.Call, cst.With, below=wrapping)
    return any(
        _enters_block(each, ctx)
        if isinstance(each, cst.Call)
        else any(may_be_block(item.item, ctx) for item in each.items)
        for each in inside
    )


def _enters_block(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is `jax.default_device(…)`, or has an `ExitStack` enter a block."""
    if ctx.called(call) == CONTEXT:
        return True
    is_entered = isinstance(call.func, cst.Attribute) and call.func.attr.value == "enter_context"
    entered = Arguments(call).get(0, "cm") if is_entered else None
    return entered is not None and may_be_block(entered, ctx)


def _is_elsewhere(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node, and what it calls, does not run on the system's default device."""
    return _is_in_block(node, ctx) or (isinstance(node, cst.Call) and is_under_host(node, ctx))


def _is_in_block(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a `with` around enters a block by what is not `jax.default_device(…)`."""
    return any(
        not ctx.is_call(item.item, CONTEXT) and may_be_block(item.item, ctx)
        for item in ctx.with_items(node)
    )


def may_be_block(manager: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a context manager may set the default device: by its value, or by what the
    function of another file does that makes it.
    """
    if any(isinstance(atom, values.DefaultDeviceContext) for atom in ctx.flow.value(manager)):
        return True
    if not isinstance(manager, cst.Call):
        return context_of(manager, ctx) is not None
    return _has_block(effects_of(manager.func, ctx))


def first_of_thread(run: Place, cls: Place, ctx: Context) -> tuple[cst.CSTNode, Context] | None:
    """Return the first place at which the method of an object makes an array, and its file.

    There, or in the methods that it calls of the object, which the object's class has.
    """
    program, pending, seen = ctx.flow.program, [run], {run}
    while pending:
        place = pending.pop(0)
        found = ctx.function_at(place)
        if found is None:
            continue
        method, there = found
        made = _first_made(method, there)
        around = None if made is None else there.function(made)
        if made is not None and (around is method or not there.flow.is_overridden(around, cls)):
            return made, there
        for name in _own_calls(method, there):
            called = program.classes.method(cls, name)
            if called is not None and called not in seen and len(seen) < _MOST_METHODS:
                seen.add(called)
                pending.append(called)
    return None


def _own_calls(method: cst.FunctionDef, ctx: Context) -> Iterator[str]:
    """Yield the methods of its object that a method calls, but for those in a block of its own."""
    calls = [
        call
        for call in ctx.tree.every(cst.Call, below=method.body)
        if ctx.function(call) is method and not _is_in_block(call, ctx)
    ]
    if (
        not method.params.params
        or _may_run_in_block(method, ctx)
        or any(_enters_block(call, ctx) for call in calls)
    ):
        return
    receiver = method.params.params[0].name.value
    for call in calls:
        match call.func:
            case cst.Attribute(value=cst.Name(value=name), attr=attribute):
                if name == receiver and not is_under_host(call, ctx):
                    yield attribute.value


def _maps_placing(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call makes arrays of leaves: `jax.tree.map(jnp.asarray, tree)`."""
    mapped = Arguments(call).get(0, "f") if ctx.called(call) in TREE_MAPS else None
    return mapped is not None and _places(ctx.name(mapped))


def made_elsewhere(worker: cst.BaseExpression, ctx: Context, files: int = 1) -> EffectOrigin | None:
    """Return where a worker's function that another file defines first makes an array.

    None where it makes it in a block. `files`: into how many files it is followed to see that;
    beyond them, any block in what it calls of a third file counts.
    """
    effects = _effects(worker, ctx, 1)
    if effects is None or _has_block(effects):
        return None
    functions = _functions_of(worker, ctx) if files else []
    if (
        all(_first_made(each, there, files=files - 1) is None for each, there in functions)
        if functions
        else _has_block(_effects(worker, ctx, 2))
    ):
        return None
    made = (call for call in effects.calls if _places(call.name) and not call.is_placed)
    return next(map(effects.origin, made), None)


def _effects(worker: cst.BaseExpression, ctx: Context, files: int) -> FunctionEffects | None:
    return effects_of(worker, ctx, files) or method_effects(worker, "__call__", ctx, files)


def _has_block(effects: FunctionEffects | None) -> bool:
    return effects is not None and any(call.name == CONTEXT for call in effects.calls)


def _functions_of(worker: cst.BaseExpression, ctx: Context) -> list[tuple[Function, Context]]:
    """Return the functions that an expression surely is, with their files; nothing if unsure."""
    program, held = ctx.flow.program, ctx.flow.value(worker)
    places = {*functions_in(held)}
    for atom in held:
        if isinstance(atom, program_values.Instance):
            called = program.classes.method(atom.cls, "__call__")
            places |= set() if called is None else {called}
    found = [
        (function, there)
        for function, there in filter(None, map(ctx.node_at, sorted(places)))
        if isinstance(function, cst.FunctionDef | cst.Lambda)
    ]
    return found if len(found) == len(held) else []


def _places(name: str | None) -> bool:
    row = TABLE.get(name or "")
    is_jax = name is not None and name.startswith(("jax.", "safetensors.flax."))
    return is_jax and row is not None and row.effect in _PLACING


def _runs_where_committed(call: cst.Call, ctx: Context) -> bool:
    """Return whether an argument of a call is committed, so that it runs there."""
    given = (ctx.flow.value(argument.value) for argument in call.args)
    return any(
        held and all(isinstance(atom, values.Array) and atom.committed for atom in held)
        for held in given
    )


def _is_put(call: cst.Call, ctx: Context) -> bool:
    """Return whether what a call makes is at once put somewhere explicitly."""
    argument = ctx.parent(call)
    outer = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
    return ctx.is_call(outer, "jax.device_put")
