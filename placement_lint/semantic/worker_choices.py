"""What a loader is given where it starts workers, of what code chooses by their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_WITH_WORKERS = {
    ("Equal", 0): False,
    ("GreaterThan", 0): True,
    ("GreaterThanEqual", 1): True,
    ("LessThan", 1): False,
    ("LessThanEqual", 0): False,
    ("NotEqual", 0): True,
}
"""What comparisons of the number of workers with a number are, where there are workers."""


def chosen_with_workers(
    node: cst.BaseExpression, workers: cst.BaseExpression | None, view: FileView
) -> cst.BaseExpression:
    """Return what an expression is where there are workers: `f if not workers else g` is `g`."""
    choice = followed(node, view)
    named = None if workers is None else dotted(workers)
    if named is None or not isinstance(choice, cst.IfExp):
        return node
    with_workers = _truth(choice.test, named)
    if with_workers is None:
        return node
    return choice.body if with_workers else choice.orelse


def _truth(test: cst.BaseExpression, named: str) -> bool | None:
    """Return what a condition on a number of workers, of a name, is where there are any."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _truth(test.expression, named)
        return None if inner is None else not inner
    if isinstance(test, cst.Comparison):
        if dotted(test.left) != named or len(test.comparisons) != 1:
            return None
        target = test.comparisons[0]
        number = integer_value(target.comparator)
        operator = type(target.operator).__name__
        return None if number is None else _WITH_WORKERS.get((operator, number))
    return True if dotted(test) == named else None
