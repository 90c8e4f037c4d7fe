"""Where the functions of a file are called in it: what is around all calls is around the bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import class_of_method, only_binds

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_MOST_FUNCTIONS = 12
"""That lead from one to what is around the call of the first."""


def is_so_at_calls(
    node: cst.CSTNode, view: FileView, way: Hashable, asks: Callable[[cst.Call], bool]
) -> bool:
    """Return whether something is true of all calls of the function that a node is in.

    Of those in its file, of which there is one. `way` names what is asked: a function that calls
    itself says nothing by that.
    """
    function = view.function(node)
    if not isinstance(function, cst.FunctionDef):
        return False
    asked = view.module.fact(_Asked)
    key = (id(function), way)
    if key not in asked.known and asked.depth < _MOST_FUNCTIONS:
        asked.known[key] = False
        asked.depth += 1
        calls = calls_here(function, view)
        asked.known[key] = bool(calls) and all(map(asks, calls))
        asked.depth -= 1
    return asked.known.get(key, False)


def calls_here(function: cst.FunctionDef, view: FileView) -> list[cst.Call]:
    """Return the calls of a function, or a method, in its file, by its name.

    None where something else is done with it in the file, so that it may be called by others.
    """
    return _known_calls(function, view) or []


def is_unused_here(function: cst.FunctionDef, view: FileView) -> bool:
    """Return whether nothing is done with a function in its file: only others can call it."""
    return _known_calls(function, view) == []


def name_for_others(function: cst.FunctionDef, view: FileView) -> str | None:
    """Return the name of a function at the top of its file, or of a method of a class there.

    `Trainer.fit`. None for others.
    """
    around = view.names.scope(function)
    if around is view.names.module_scope:
        return function.name.value
    cls = around.node
    if not isinstance(cls, cst.ClassDef) or view.names.scope(cls) is not view.names.module_scope:
        return None
    return f"{cls.name.value}.{function.name.value}"


def _known_calls(function: cst.FunctionDef, view: FileView) -> list[cst.Call] | None:
    known = view.module.fact(_calls)
    if id(function) not in known:
        known[id(function)] = _found_calls(function, view)
    return known[id(function)]


def passed_here(parameter: cst.Param, view: FileView) -> list[cst.BaseExpression]:
    """Return what each call of a function in its file passes for a parameter; none where one of
    them may leave it out, or the parameter may get several.
    """
    parameters = view.parent(parameter)
    function = None if parameters is None else view.parent(parameters)
    if not isinstance(parameters, cst.Parameters) or not isinstance(function, cst.FunctionDef):
        return []
    by_position = [*parameters.posonly_params, *parameters.params]
    if parameter not in by_position and parameter not in parameters.kwonly_params:
        return []
    position = by_position.index(parameter) if parameter in by_position else None
    if position is not None and class_of_method(function, view.names) is not None:
        position -= 1
    found = []
    for call in calls_here(function, view):
        arguments = Arguments(call)
        given = None if position == -1 else arguments.get(position, parameter.name.value)
        if given is None or arguments.is_open or view.tree.is_inside(call, function):
            return []
        found.append(given)
    return found


def passed_once(parameter: cst.Param, view: FileView) -> cst.BaseExpression | None:
    """Return what a parameter of a function stands for that is made in another one, which calls it
    once.
    """
    function = view.tree.around(parameter, cst.FunctionDef)
    # A method of the same name may be one of another class.
    if function is None or not isinstance(view.names.scope(function).node, cst.FunctionDef):
        return None
    given = passed_here(parameter, view)
    return given[0] if len(given) == 1 else None


def _found_calls(function: cst.FunctionDef, view: FileView) -> list[cst.Call] | None:
    if not only_binds(function):
        return None
    name = function.name
    uses: list[cst.CSTNode] = [
        each
        for each in view.names.uses(name.value, view.names.scope(function))
        if each is not name and view.tree.contains(each)
    ]
    if isinstance(view.names.scope(function).node, cst.ClassDef):
        uses += view.module.fact(attributes_by_name).get(name.value, ())
    calls = []
    for use in uses:
        call = view.parent(use)
        if not isinstance(call, cst.Call) or call.func is not use:
            return None
        calls.append(call)
    return calls


class _Asked:
    """What is true of all calls of the functions of one file."""

    def __init__(self, _facts: ModuleFacts) -> None:
        self.known: dict[tuple[int, Hashable], bool] = {}
        self.depth = 0
        """Functions that are being asked about, each because another one calls the last."""


def _calls(_facts: ModuleFacts) -> dict[int, list[cst.Call] | None]:
    """Make the store of one file: the calls of its functions, as `_found_calls` returns them."""
    return {}


def attributes_by_name(facts: ModuleFacts) -> dict[str, list[cst.Attribute]]:
    """Return the uses of the attributes of anything in a file, by name."""
    found: dict[str, list[cst.Attribute]] = {}
    for node in facts.tree.every(cst.Attribute):
        found.setdefault(node.attr.value, []).append(node)
    return found
