"""Conditions that hold in the first process of a program: one that runs alone is that, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_RANKS = frozenset({"jax.host_id", "jax.process_index"})
_HOPS = 3
"""From a condition to what it stands for: names, functions and methods of the file."""


def holds_in_first(test: cst.BaseExpression, view: FileView, hops: int = _HOPS) -> bool | None:
    """Return whether a condition on the process holds in the first one; None: it is no such one.

    `jax.process_index() == 0`, also by a name, or by a function of the file that returns it.
    """
    node = followed(test, view)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        opposite = holds_in_first(node.expression, view, hops)
        return None if opposite is None else not opposite
    if isinstance(node, cst.Comparison):
        return _compared(node, view)
    if not isinstance(node, cst.Call) or node.args:
        return None
    if view.called(node) in _RANKS:
        return False
    function = function_of(node.func, view.names) if hops else None
    if not isinstance(function, cst.FunctionDef) or function.decorators or function.asynchronous:
        return None
    returned = only_return(function, view)
    return None if returned is None else holds_in_first(returned, view, hops - 1)


def _compared(node: cst.Comparison, view: FileView) -> bool | None:
    """Return what comparing the number of the process with one that is written out gives."""
    if len(node.comparisons) != 1:
        return None
    sides = node.left, node.comparisons[0].comparator
    number = next((n for each in sides if (n := integer_value(each)) is not None), None)
    ranks = (followed(each, view) for each in sides)
    if number is None or not any(view.called(each) in _RANKS for each in ranks):
        return None
    operator = node.comparisons[0].operator
    if isinstance(operator, cst.Equal | cst.Is):
        return number == 0
    if isinstance(operator, cst.NotEqual | cst.IsNot):
        return number != 0
    is_left = view.called(followed(node.left, view)) in _RANKS
    return False if number == 0 and is_left and isinstance(operator, cst.GreaterThan) else None
