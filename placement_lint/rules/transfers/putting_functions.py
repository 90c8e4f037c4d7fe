"""Functions of the program that do nothing with a parameter but to put it somewhere."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.contents import function_place
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import is_static, only_binds, parameter_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts


@dataclass(frozen=True)
class Putting:
    """A call that puts something, by itself or by the function that it calls."""

    call: cst.Call
    """What puts it, in `there`."""
    there: Context
    target: cst.BaseExpression
    """Where it is put to, as it is written in `of`."""
    of: Context


def may_follow(ctx: Context) -> bool:
    """Return whether it is worth executing a file to know which functions its calls run.

    It may not depend on whether something else has the file executed.
    """
    return ctx.module.has_siblings or ctx.module.fact(_puts_a_parameter)


def _puts_a_parameter(facts: ModuleFacts) -> bool:
    """Return whether a function of a file puts what it is given."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    calls = FileView(facts).calls_of("jax.device_put")
    return any(parameter_named(Arguments(c).get(0, "x"), facts.names) is not None for c in calls)


def function_called(call: cst.Call, ctx: Context) -> tuple[cst.FunctionDef, Context] | None:
    """Return the function or the method of the program that a call runs, and its file.

    That is known of files that are executed together, and of those in which a function puts its
    parameter. It may be the `__call__` of an object. None for one that is decorated by more than
    `classmethod` or `staticmethod`: what a call of it gives is something else.
    """
    if not may_follow(ctx) or ctx.called(call) in ctx.names.table:
        return None
    places = {_place_of(atom, ctx) for atom in ctx.flow.value(call.func)}
    found = ctx.function_at(places.pop()) if len(places) == 1 else None
    if found is None or not only_binds(found[0]) or found[0].asynchronous is not None:
        return None
    return found


def _place_of(atom: values.Atom, ctx: Context) -> Place | None:
    """Return where a function is, or that of a method, or what calling an object runs."""
    if isinstance(atom, program_values.Instance):
        return ctx.flow.program.classes.method(atom.cls, "__call__")
    return function_place(atom)


def is_method_call(call: cst.Call, ctx: Context) -> bool:
    """Return whether what a call runs is bound to its first argument."""
    held = ctx.flow.value(call.func)
    bound = (values.Method, program_values.Instance)
    if not held or not all(isinstance(atom, bound) for atom in held):
        return False
    found = function_called(call, ctx)
    return found is None or not is_static(found[0], found[1].names)


def given_to_put(
    call: cst.Call,
    ctx: Context,
    mapped: Callable[[cst.BaseExpression, Context], cst.BaseExpression | None],
) -> Iterator[tuple[cst.BaseExpression, Putting]]:
    """Yield what a call passes to a function of the program that only puts it, and where to.

    `mapped`: where a function puts the leaf that it is given.
    """
    found = function_called(call, ctx)
    arguments = Arguments(call)
    if found is None or arguments.is_open:
        return
    function, there = found
    names = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
    if is_method_call(call, ctx):
        names = names[1:]
    passed = {
        name: value
        for position, name in enumerate(names)
        if (value := arguments.get(position, name)) is not None
    }
    for name, value in passed.items():
        known = there.module.fact(_puts)
        key = id(function), name
        if key not in known:
            # What calls itself puts nothing.
            known[key] = None
            known[key] = _put_of(name, function, there, mapped)
        put = known[key]
        if put is None:
            continue
        parameter = None
        if put.of.module is there.module:
            parameter = parameter_named(put.target, there.names)
        if parameter is None or not there.tree.is_inside(parameter, function.params):
            yield value, put
        elif parameter.name.value in passed:
            target = passed[parameter.name.value]
            yield value, Putting(put.call, put.there, target, ctx)


def is_put_for_callers(
    operand: cst.BaseExpression,
    call: cst.Call,
    ctx: Context,
    mapped: Callable[[cst.BaseExpression, Context], cst.BaseExpression | None],
) -> bool:
    """Return whether a call is all that a function does with a parameter: then each of its callers
    is asked for what that one passes.
    """
    parameter = parameter_named(operand, ctx.names)
    function = ctx.function(call)
    if parameter is None or not isinstance(function, cst.FunctionDef):
        return False
    if not only_binds(function) or not ctx.tree.is_inside(parameter, function.params):
        return False
    return _put_of(parameter.name.value, function, ctx, mapped) is not None


def _puts(
    _facts: ModuleFacts,
) -> dict[tuple[int, str], Putting | None]:
    """Make the store of one file: what puts each parameter of its functions, and where to."""
    return {}


def _put_of(
    name: str,
    function: cst.FunctionDef,
    there: Context,
    mapped: Callable[[cst.BaseExpression, Context], cst.BaseExpression | None],
) -> Putting | None:
    """Return the call that puts a parameter, which is its only use, and where it puts it.

    Or what another function does so with that it is passed to.
    """
    uses = [
        use
        for use in there.names.uses(name, there.names.scope(function.body))
        if there.tree.is_inside(use, function.body)
    ]
    argument = there.parent(uses[0]) if len(uses) == 1 else None
    put = there.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(put, cst.Call) or not _always_runs(put, function, there):
        return None
    given = Arguments(put)
    if given.is_open:
        return None
    target: cst.BaseExpression | None = None
    if there.is_call(put, "jax.device_put") and given.get(0, "x") is uses[0]:
        target = given.get(1, "device")
    elif len(given.positional) == len(put.args) == 2 and given.positional[1] is uses[0]:
        target = mapped(put, there)
    if target is not None:
        return Putting(put, there, target, there)
    if there.called(put) is not None:
        return None
    passed_on = given_to_put(put, there, mapped)
    return next((each for given_, each in passed_on if given_ is uses[0]), None)


def _always_runs(node: cst.CSTNode, function: cst.FunctionDef, there: Context) -> bool:
    """Return whether a function runs an expression in each call, by itself and once."""
    for ancestor in there.ancestors(node):
        if ancestor is function:
            return True
        if not isinstance(ancestor, _without_choice()):
            return False
    return False


@functools.cache
def _without_choice() -> tuple[type[cst.CSTNode], ...]:
    """Return the nodes that always run what is in them: LibCST is loaded where that is asked."""
    displays = (cst.Dict, cst.DictElement, cst.Element, cst.List, cst.Tuple)
    blocks = (cst.IndentedBlock, cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.With)
    statements = (cst.AnnAssign, cst.Assign, cst.Expr, cst.Return)
    return (cst.Arg, cst.Call, *displays, *blocks, *statements)
