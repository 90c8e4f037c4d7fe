"""What the calls of a function of the same file pass for its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.semantic.returned import given_by
from placement_lint.semantic.written_tables import listed_items
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView

_MOST_CALLS = 32
"""Calls of one function that are looked at."""
_MOST_PARTS = 16
"""Lists that one is put together of."""


class PassedArguments(NamedTuple):
    """A call, and what it passes for a parameter: one expression, or several by `*rest`."""

    call: cst.Call
    given: list[cst.BaseExpression]


def passed_for(node: cst.BaseExpression, view: FileView) -> Iterator[PassedArguments]:
    """Yield what is passed for a parameter of a function, where an expression is one.

    By the calls of the function by its name, in the same file. Nothing for a method.
    """
    parameter = parameter_named(given_by(node, view), view.names)
    function = None if parameter is None else view.tree.around(parameter, cst.FunctionDef)
    if parameter is None or function is None:
        return
    params = function.params
    places = [*params.posonly_params, *params.params]
    scope = view.names.scope(function)
    if isinstance(scope.node, cst.ClassDef):
        return
    for use in view.names.uses(function.name.value, scope)[:_MOST_CALLS]:
        call = view.parent(use)
        if not isinstance(call, cst.Call) or call.func is not use:
            continue
        arguments = Arguments(call)
        if params.star_arg is parameter:
            yield PassedArguments(call, [*arguments.positional[len(places) :]])
            continue
        place = places.index(parameter) if parameter in places else None
        given = arguments.get(place, parameter.name.value) or parameter.default
        if given is not None:
            yield PassedArguments(call, [given])


def items_passed_for(node: cst.BaseExpression, view: FileView) -> Iterator[PassedArguments]:
    """Yield the items that calls pass in lists, or by `*rest`, of which a list is put together:
    `[*operations, Batch(4)]`.
    """
    pending = [node]
    for _ in range(_MOST_PARTS):
        if not pending:
            return
        part = given_by(pending.pop(), view)
        if isinstance(part, cst.List | cst.Tuple):
            stars = [each for each in part.elements if isinstance(each, cst.StarredElement)]
            pending += [each.value for each in stars]
        elif isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Add):
            pending += [part.left, part.right]
        elif isinstance(part, cst.Call) and part.args and not isinstance(part.func, cst.Attribute):
            # `list(operations)`
            pending += [each.value for each in part.args[:1]]
        else:
            parameter = parameter_named(part, view.names)
            is_rest = parameter is not None and parameter.star == "*"
            for passed in passed_for(part, view):
                items = passed.given
                if not is_rest:
                    items = [item for each in items for item in listed_items(each, view)]
                yield PassedArguments(passed.call, items)
