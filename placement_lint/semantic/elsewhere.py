"""Functions and classes of other files that code is given, and what they run of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.semantic.object_classes import SUPER, class_of_object
from placement_lint.semantic.program_queries import ANY_KEY, GIVEN_BY_CALL, IN_TABLE, QUESTIONS
from placement_lint.semantic.returned import given_by
from placement_lint.semantic.written_tables import key_of, taken_from
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import PARTIAL, class_of_receiver, function_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import FunctionEffects, KnownType
    from placement_lint.syntax.definitions import Function


_MOST_CALLS = 32
"""Calls in functions of the program that are followed to what one of them asks."""


def effects_of(
    node: cst.BaseExpression, ctx: FileView, files: int = 1, *, any_key: bool = False
) -> FunctionEffects | None:
    """Return what calling a function of another file does; None where it is none, or unknown.

    What an expression names, under `functools.partial` too, or a method of an object that a class
    of another file made. `files`: through how many files its functions are followed. `any_key`: of
    a table of another file, what any of its functions does where the key is not written out.
    """
    node = given_by(node, ctx)
    if isinstance(node, cst.Call) and ctx.called(node) == PARTIAL:
        inner = Arguments(node).get(0, "func")
        node = node if inner is None else given_by(inner, ctx)
    elif isinstance(node, cst.Call) and (maker := ctx.name(node.func)) is not None:
        # What a function of another file makes.
        return _called(maker + GIVEN_BY_CALL, ctx, files)
    name = _entry(node, ctx, any_key=any_key) or ctx.name(node)
    found = None if name is None else _called(name, ctx, files)
    if found is None and isinstance(node, cst.Attribute):
        return method_effects(node.value, node.attr.value, ctx, files)
    return found


def asks(test: cst.CSTNode, ctx: FileView, functions: Collection[str]) -> bool:
    """Return whether something in a condition calls one of some functions of JAX, be it by way of a
    function of the program, of any file.
    """
    return any(
        ctx.called(call) in functions or runs(call, ctx, functions)
        for call in (test, *ctx.tree.every(cst.Call, below=test))
        if isinstance(call, cst.Call)
    )


def runs(call: cst.Call, ctx: FileView, functions: Collection[str]) -> bool:
    """Return whether a call of a function of the program leads to one of some functions of JAX."""
    return any(
        _runs_elsewhere(each, ctx, functions)
        if function is None
        else any(ctx.called(inner) in functions for inner in _calls_in(function, ctx))
        for each, function in _leading(call, ctx)
    )


def questions_of(test: cst.CSTNode, ctx: FileView) -> set[str]:
    """Return those of `QUESTIONS` that functions of the program ask which a condition calls, or
    the initializer of an object of another file of which it reads an attribute.
    """
    found: set[str] = set()
    for read in (test, *ctx.tree.every(cst.Attribute, below=test)):
        if isinstance(read, cst.Attribute):
            made = method_effects(read.value, "__init__", ctx)
            found.update(() if made is None else made.asks)
    for call in (test, *ctx.tree.every(cst.Call, below=test)):
        if not isinstance(call, cst.Call):
            continue
        for each, function in _leading(call, ctx):
            if function is not None:
                found |= _questions_in(function, ctx)
            elif (effects := _effects_elsewhere(each, ctx)) is not None:
                found.update(effects.asks)
    return found


def questions_of_function(function: cst.BaseExpression, ctx: FileView) -> set[str]:
    """Return those of `QUESTIONS` that a function of the program asks, or what it defines: one
    that is named, or called to give a decorator.
    """
    if isinstance(function, cst.Call):
        function = function.func
    own = function_of(function, ctx.names)
    if own is not None:
        return questions_below(own, ctx)
    name = ctx.name(function)
    if name is None or name.startswith(LIBRARY_PREFIXES):
        return set()
    effects = effects_of(function, ctx)
    return set() if effects is None else {*effects.asks}


def questions_below(function: Function, ctx: FileView) -> set[str]:
    """Return those of `QUESTIONS` that a function asks, or others of its file that it calls."""
    found = _questions_in(function, ctx)
    for call in _calls_in(function, ctx):
        for _, inner in _leading(call, ctx):
            found |= set() if inner is None else _questions_in(inner, ctx)
    return found


def _questions_in(function: Function, ctx: FileView) -> set[str]:
    said = {ctx.called(call) for call in _calls_in(function, ctx)}
    parts = ctx.tree.every(cst.Attribute, cst.Name, below=function)
    named = {each.value if isinstance(each, cst.Name) else each.attr.value for each in parts}
    return {each for each in (*said, *named) if each in QUESTIONS}


def _calls_in(function: Function, ctx: FileView) -> Iterator[cst.Call]:
    return ctx.tree.every(cst.Call, below=function)


def _leading(call: cst.Call, ctx: FileView) -> Iterator[tuple[cst.Call, Function | None]]:
    """Yield a call, and those that functions of this file run which it leads to, each with the
    function of this file that it calls.
    """
    pending, seen = [call], {id(call)}
    while pending and len(seen) < _MOST_CALLS:
        each = pending.pop()
        function = function_of(each.func, ctx.names)
        yield each, function
        if function is not None:
            new = [inner for inner in _calls_in(function, ctx) if id(inner) not in seen]
            seen.update(map(id, new))
            pending += new


def _runs_elsewhere(call: cst.Call, ctx: FileView, functions: Collection[str]) -> bool:
    effects = _effects_elsewhere(call, ctx)
    if effects is None:
        return False
    start = effects.starts_backend
    return (
        (start is not None and start.what.removesuffix("()") in functions)
        or any(each.name in functions for each in effects.calls)
        # What a cache keeps is no call that runs.
        or any(each in functions for each in effects.asks)
    )


def _effects_elsewhere(call: cst.Call, ctx: FileView) -> FunctionEffects | None:
    called = ctx.called(call)
    if called is not None and called.startswith(LIBRARY_PREFIXES):
        return None
    return effects_of(call.func, ctx)


def _entry(node: cst.BaseExpression, ctx: FileView, *, any_key: bool) -> str | None:
    """Return what `table[key]` is called, where the table may be one of another file."""
    taken = taken_from(node)
    table = None if taken is None else ctx.name(taken[0])
    if taken is None or table is None or table.startswith(LIBRARY_PREFIXES):
        return None
    key = key_of(taken[1])
    if key is None and not any_key:
        return None
    return f"{table}{IN_TABLE}{ANY_KEY if key is None else repr(key)}"


def method_effects(
    made: cst.BaseExpression, method: str, ctx: FileView, files: int = 1
) -> FunctionEffects | None:
    """Return what a method does of an object that a class of another file makes."""
    is_super = ctx.is_call(made, SUPER)
    owner = ctx.tree.around(made, cst.ClassDef) if is_super else class_of_receiver(made, ctx.names)
    if owner is not None and is_super:
        return _of_bases(owner, method, ctx, files)
    if owner is not None:
        return _inherited(owner, method, ctx, files)
    cls = class_of_object(made, ctx)
    maker = None if cls is None else ctx.name(cls)
    found = None if maker is None else _called(f"{maker}.{method}", ctx, files)
    if found is not None or _is_of_library(made, ctx):
        return found
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    # It may be another file that makes the object, or gives it to the initializer of one.
    known = ctx.module.fact(KnownTypes).of(made)
    if known is None or not known.path or known.path == ctx.module.path:
        return None
    return effects_of_method(known, method, ctx, files)


def _is_of_library(node: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether an expression names something of a library, such as `jnp.sum`."""
    name = ctx.name(node)
    return name is not None and name.startswith(LIBRARY_PREFIXES)


def effects_of_method(
    known: KnownType, method: str, ctx: FileView, files: int = 1
) -> FunctionEffects | None:
    """Return what a method does of the objects of a class of another file."""
    return _called(f"{known.name}.{method}", ctx, files, known.path)


def objects_in(loop: cst.For, ctx: FileView) -> list[KnownType]:
    """Return the classes of the objects of the list that a loop goes through, as far as known."""
    from placement_lint.semantic.known_types import KnownTypes

    known = ctx.module.fact(_known_objects)
    if id(loop) not in known:
        held = ctx.module.fact(KnownTypes).of(loop.iter)
        items = () if held is None else held.items
        known[id(loop)] = [each for each in items if each is not None and each.path]
    return known[id(loop)]


def _known_objects(_facts: ModuleFacts) -> dict[int, list[KnownType]]:
    """Make the store of one file: what each loop goes through."""
    return {}


def _inherited(cls: cst.ClassDef, method: str, ctx: FileView, files: int) -> FunctionEffects | None:
    """Return what a method does that a class has from a base of another file."""
    if method in ctx.names.scope(cls.body).bindings:
        return None
    return _of_bases(cls, method, ctx, files)


def _of_bases(cls: cst.ClassDef, method: str, ctx: FileView, files: int) -> FunctionEffects | None:
    for base in cls.bases:
        name = ctx.name(base.value)
        found = None if name is None else _called(f"{name}.{method}", ctx, files)
        if found is not None:
            return found
    return None


def _called(name: str, ctx: FileView, files: int, file: str = "") -> FunctionEffects | None:
    return ctx.module.run.function(ctx.module.path, name, files, file)
