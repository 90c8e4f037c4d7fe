"""What calls of functions of the program give, in the names of the function, and what these are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.context import Context
from placement_lint.rules.transfers.putting_functions import function_called, is_method_call
from placement_lint.semantic.followed import assigned_parts, followed
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import named_function, only_binds, parameter_named

if TYPE_CHECKING:
    from typing import TypeAlias

    from placement_lint.syntax.definitions import Function

    Passed: TypeAlias = "dict[int, tuple[cst.BaseExpression, Context]]"


class CallContext(Context):
    """A file as it is in one call of a function: what that passes for each parameter is known."""

    __slots__ = ("all_passed",)

    def __init__(self, there: Context, passed: Passed) -> None:
        super().__init__(there.module, there.rule, [])
        # A function in another one reads the parameters of that.
        around = there.all_passed if isinstance(there, CallContext) else {}
        self.all_passed: Passed = around | passed

    def passed(self, node: cst.CSTNode) -> tuple[cst.BaseExpression, Context] | None:
        parameter = parameter_named(node, self.names)
        return None if parameter is None else self.all_passed.get(id(parameter))


def entered(node: cst.BaseExpression, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a call of a function of the program gives, or what a name is that is one of
    several things that such a call gives, with the file in which that stands.

    The function has one `return`, and may be a method.
    """
    if isinstance(node, cst.Call):
        return _entered(node, ctx)
    only = ctx.names.sole_binding(node) if isinstance(node, cst.Name) else None
    assignment = None if only is None else only.node
    if not isinstance(node, cst.Name) or not isinstance(assignment, cst.Assign):
        return None
    found = _entered(assignment.value, ctx) if isinstance(assignment.value, cst.Call) else None
    if found is None or len(assignment.targets) != 1:
        return None
    given = followed(*found)
    for target, part in assigned_parts(assignment.targets[0].target, given):
        if part is not given and isinstance(target, cst.Name) and target.value == node.value:
            return part, found[1]
    return None


def _entered(call: cst.Call, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    function: Function | None = named_function(call.func, ctx.names)
    found: tuple[Function, Context] | None = (function, ctx) if function else None
    if found is None:
        found = function_called(call, ctx)
    if found is None:
        return None
    function, there = found
    passed = _passed(call, function, ctx, there)
    if passed is None:
        return None
    if isinstance(function, cst.Lambda):
        return function.body, CallContext(there, passed)
    if not only_binds(function) or function.asynchronous is not None:
        return None
    given = only_return(function, there)
    return None if given is None else (given, CallContext(there, passed))


def _passed(call: cst.Call, function: Function, ctx: Context, there: Context) -> Passed | None:
    """Return what a call passes for the parameters of a function, by these; None if it is open."""
    arguments = Arguments(call)
    if arguments.is_open:
        return None
    every = [*function.params.posonly_params, *function.params.params]
    if isinstance(call.func, cst.Attribute) and is_method_call(call, ctx):
        every = every[1:]
    found: Passed = {}
    for position, each in enumerate(every):
        given = arguments.get(position, each.name.value)
        if given is not None:
            found[id(each)] = given, ctx
        elif each.default is not None:
            found[id(each)] = each.default, there
    for each in function.params.kwonly_params:
        given = arguments.get(None, each.name.value)
        if given is not None:
            found[id(each)] = given, ctx
        elif each.default is not None:
            found[id(each)] = each.default, there
    return found
