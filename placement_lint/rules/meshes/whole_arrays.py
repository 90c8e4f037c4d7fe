"""Code that runs only where an array is not split: it has asked whether each device has all of it.

`if x.is_fully_replicated:`, `if mesh.size == 1:`, `if len(x.sharding.device_set) > 1: raise …`, and
helpers of the program that ask so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.elsewhere import questions_of
from placement_lint.semantic.enclosing import conditions_say
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_REPLICATED = "is_fully_replicated"
_COUNTS = frozenset({"num_devices", "size"})
_SETS = frozenset({"addressable_devices", "device_set", "devices"})
# By the names of types, of a library that is imported late.
_ONE_IF = frozenset({"Equal", "LessThanEqual"})
_ONE_UNLESS = frozenset({"NotEqual", "GreaterThan"})


def is_asked_to_be_whole(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether code runs only where an array is replicated, or is on one device."""

    def says(test: cst.BaseExpression, wanted: bool) -> bool:
        said = followed(test, ctx)
        if isinstance(said, cst.Attribute):
            return wanted and said.attr.value == _REPLICATED
        if isinstance(said, cst.UnaryOperation) and isinstance(said.operator, cst.Not):
            return says(said.expression, not wanted)
        if isinstance(said, cst.Comparison):
            return _is_one(said, ctx, wanted=wanted)
        # What a function of the program makes of the answer is not known.
        return isinstance(said, cst.Call) and _REPLICATED in questions_of(said, ctx)

    return conditions_say(node, ctx, says)


def _is_one(test: cst.Comparison, ctx: Context, *, wanted: bool) -> bool:
    """Return whether there is one device where a comparison is true, or is false."""
    (target, *more) = test.comparisons
    if more or integer_value(target.comparator) != 1:
        return False
    counted, names = followed(test.left, ctx), _COUNTS
    if isinstance(counted, cst.Call) and ctx.called(counted) == "builtins.len":
        given = Arguments(counted).get(0)
        names, counted = _SETS, counted if given is None else followed(given, ctx)
        counted = counted.func if isinstance(counted, cst.Call) else counted
    is_count = isinstance(counted, cst.Attribute) and counted.attr.value in names
    return is_count and type(target.operator).__name__ in (_ONE_IF if wanted else _ONE_UNLESS)
