"""How many iterations loops have, and the lists of which one has donated each item."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.buffers import Surety, sorted_parts
from placement_lint.syntax.calls import Arguments, integer_value

if TYPE_CHECKING:
    from placement_lint.semantic.donation.buffers import Buffers
    from placement_lint.syntax.names import Names

_LEAVING = (cst.Break, cst.Continue, cst.Return, cst.Yield)
_LISTING = frozenset({"builtins.list", "builtins.sorted", "builtins.tuple"})
_KEEPING = frozenset({"builtins.enumerate", "builtins.reversed"})
_READING = frozenset({"builtins.len", "builtins.print", "builtins.zip"})


def use_up(
    node: cst.For, state: Buffers, frame: int, around: tuple[int, ...], names: Names
) -> None:
    """Let all items be gone of a list, where each iteration of a loop has donated its own."""
    leaves = any(True for _ in names.tree.every(*_LEAVING, below=node.body))
    if leaves or not _is_list(node.iter, names):
        return
    for target in (node.target, *names.tree.every(cst.Name, below=node.target)):
        things = state.names.get((frame, target.value)) if isinstance(target, cst.Name) else None
        deaths = [(each, state.death(each)) for each in sorted_parts(things or frozenset())]
        for each, death in deaths:
            is_each = death is not None and death.under == (*around, id(node))
            if death is not None and is_each and death.chosen > Surety.MAYBE:
                gone = replace(death, surety=Surety.LIKELY, where=around, among=None)
                state.dead[each.root] = {**state.dead[each.root], each.keys: gone}


def _is_list(node: cst.BaseExpression, names: Names) -> bool:
    """Return whether an expression gives the same items each time that it is iterated over."""
    if isinstance(node, cst.Call) and names.qualified(node.func) in _KEEPING and node.args:
        node = node.args[0].value
    if not isinstance(node, cst.Name):
        return False
    made = names.sole_value(node)
    is_made = isinstance(made, cst.List | cst.ListComp | cst.Tuple) or (
        isinstance(made, cst.Call) and names.qualified(made.func) in _LISTING
    )
    return is_made and all(
        _is_only_read(each, names)
        for each in names.tree.every(cst.Name)
        if each.value == node.value
    )


def _is_only_read(name: cst.Name, names: Names) -> bool:
    """Return whether a list is not changed where its name stands."""
    parent = names.tree.parent(name)
    around = None if parent is None else names.tree.parent(parent)
    if isinstance(parent, cst.Subscript):
        return not isinstance(around, cst.AssignTarget | cst.AugAssign | cst.Del)
    if isinstance(parent, cst.Arg) and isinstance(around, cst.Call):
        return names.qualified(around.func) in _KEEPING | _READING
    return isinstance(parent, cst.For | cst.CompFor | cst.AssignTarget)


def least_iterations(node: cst.BaseExpression) -> int:
    """Return how many iterations a loop has at least; -1 for at most one."""
    if isinstance(node, cst.Tuple | cst.List) and node.elements:
        return len(node.elements) if len(node.elements) > 1 else -1
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
        arguments = Arguments(node).positional
        if node.func.value == "range" and len(arguments) == 1:
            number = integer_value(arguments[0])
            if number is not None:
                return number if number > 1 else -1
    return 0
