"""Which optimizer a compiled function makes the state of, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries.optax import LIBRARY
from placement_lint.placement.domain import values
from placement_lint.placement.domain.contents import function_place
from placement_lint.placement.domain.library_values import Optimizer
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import class_of_method

if TYPE_CHECKING:
    from placement_lint.rules.context import Context


def made_by(computation: values.Computation, ctx: Context) -> str | None:
    """Return the optimizer, with moments, whose state a compiled function gives: `optax.adam`.

    The function only hands on what `init` of the optimizer gives for its parameter. None where it
    does more, or says where the state goes.
    """
    if computation.moments is not None:
        return computation.moments
    says_where = computation.places_arguments or computation.shardings or computation.keeps_unused
    only = values.sole(computation.of)
    if says_where or len(computation.steps) != 1 or not computation.is_staged:
        return None
    found = ctx.function_at(function_place(only) or computation.function)
    if found is None:
        return None
    function, there = found
    init = only_return(function, there)
    init = None if init is None else followed(init, there)
    if not isinstance(init, cst.Call) or not isinstance(init.func, cst.Attribute):
        return None
    if init.func.attr.value != "init" or not _is_for_parameter(init, function, there):
        return None
    return _optimizer(init.func.value, there)


def _is_for_parameter(init: cst.Call, function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether the only argument of a call is the parameter, which nothing else uses."""
    parameters = [*function.params.posonly_params, *function.params.params]
    own = parameters[1:] if class_of_method(function, ctx.names) is not None else parameters
    given = Arguments(init).get(0, "params")
    if len(own) != 1 or len(init.args) != 1 or not isinstance(given, cst.Name):
        return False
    uses = ctx.names.uses(given.value, ctx.names.scope(function.body))
    return given.value == own[0].name.value and [*uses] == [given]


def _optimizer(node: cst.BaseExpression, ctx: Context) -> str | None:
    made = followed(node, ctx)
    if isinstance(made, cst.Attribute):
        made = own_attribute(made, ctx) or made
    name = ctx.called(made)
    if name in LIBRARY.optimizers_with_moments:
        return name
    held = ctx.flow.value(made)
    names = [each.name for each in held if isinstance(each, Optimizer) and each.keeps_moments]
    return min(names) if names and len(names) == len(held) else None
