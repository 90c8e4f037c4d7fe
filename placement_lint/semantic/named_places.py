"""Which names stand for the place of arrays: what they are put on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.platforms import PLACED_BY
from placement_lint.semantic.method_uses import uses_of_method
from placement_lint.syntax.calls import Arguments

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
    position, keyword = PLACED_BY.get(facts.names.qualified(call.func) or "", (None, ""))
    return Arguments(call).get(position, keyword) is place


def _uses_of_bound(value: cst.CSTNode, facts: ModuleFacts) -> list[cst.Name]:
    """Return the uses of the name that a value is bound to, if it is bound to nothing else."""
    assigned = facts.tree.parent(value)
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
        return []
    target = assigned.targets[0].target
    if not isinstance(target, cst.Name) or facts.names.sole_binding(target) is None:
        return []
    return facts.names.uses(target.value, facts.names.scope(target))
