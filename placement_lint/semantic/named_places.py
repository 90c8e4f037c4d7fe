"""Which names stand for the place of arrays: what they are put on."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.platforms import PLACED_BY
from placement_lint.semantic.method_uses import uses_of_method
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import initializer_of, is_static, named_function

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts


def is_place_of_objects(facts: ModuleFacts, cls: str, path: str, name: str) -> bool:
    """Return whether arrays are put on what objects of a class, of the file at `path`, have by a
    name: an attribute, a property, or what a method gives.
    """
    return any(
        use.is_known and is_place(use.node, facts) for use in uses_of_method(facts, cls, path, name)
    )


def is_place(use: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether arrays are put on what a name stands for, or on what calling it returns.

    There, or where the name stands that this is bound to and nothing else.
    """
    call = facts.tree.parent(use) if facts.tree.contains(use) else None
    given = call if isinstance(call, cst.Call) and call.func is use else use
    if not facts.tree.contains(given):
        return False
    return any(_is_put_on(each, facts) for each in (given, *_uses_of_bound(given, facts)))


def _is_put_on(place: cst.CSTNode, facts: ModuleFacts) -> bool:
    argument = facts.tree.parent(place)
    call = facts.tree.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    name = facts.names.qualified(call.func) or ""
    if name in PLACED_BY:
        return Arguments(call).get(*PLACED_BY[name]) is place
    at = next((index for index, each in enumerate(call.args) if each.value is place), None)
    if at is None or call.args[at].star:
        return False
    by_name = call.args[at].keyword
    keyword = None if by_name is None else by_name.value
    return puts_on_argument(call, at, keyword, facts) is True


def puts_on_argument(
    call: cst.Call, position: int, keyword: str | None, facts: ModuleFacts
) -> bool | None:
    """Return whether a function puts arrays on an argument of its; None if it is of another file.

    The argument is the one at the position among those of the call, or by the keyword.
    """
    names = facts.names
    function = named_function(call.func, names) or initializer_of(call.func, names)
    if not isinstance(function, cst.FunctionDef):
        return None
    return puts_on_parameter(function, position, keyword, facts)


def puts_on_parameter(
    function: cst.FunctionDef, position: int, keyword: str | None, facts: ModuleFacts
) -> bool:
    """Return whether a function of a file puts arrays on what a call passes at a position, or by a
    keyword.
    """
    params = [
        each.name.value for each in (*function.params.posonly_params, *function.params.params)
    ]
    is_method = isinstance(facts.names.scope(function).node, cst.ClassDef)
    at = position + (is_method and not is_static(function, facts.names))
    name = keyword or (params[at] if at < len(params) else None)
    return name is not None and name in facts.fact(_put_on_by).get(function, ())


def _put_on_by(facts: ModuleFacts) -> dict[cst.CSTNode, set[str]]:
    """Return on which of the names that it reads each function of a file puts arrays."""
    found: dict[cst.CSTNode, set[str]] = defaultdict(set)
    for call in facts.tree.every(cst.Call):
        name = facts.names.qualified(call.func) or ""
        place = Arguments(call).get(*PLACED_BY[name]) if name in PLACED_BY else None
        if not isinstance(place, cst.Name):
            continue
        for around in facts.tree.ancestors(call):
            if isinstance(around, cst.FunctionDef):
                found[around].add(place.value)
    return found


def _uses_of_bound(value: cst.CSTNode, facts: ModuleFacts) -> list[cst.Name]:
    """Return the uses of the name that a value is bound to, if it is bound to nothing else."""
    assigned = facts.tree.parent(value)
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
        return []
    target = assigned.targets[0].target
    if not isinstance(target, cst.Name) or facts.names.sole_binding(target) is None:
        return []
    return facts.names.uses(target.value, facts.names.scope(target))
