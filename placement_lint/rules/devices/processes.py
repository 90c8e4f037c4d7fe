"""What code knows of the processes that it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.queries import PROCESS_QUERIES
from placement_lint.semantic.enclosing import mentions_word, passed_asserts, passed_exits
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

INITIALIZE = "jax.distributed.initialize"

_COUNTS = frozenset({"jax.device_count", "jax.process_count"})
# Whether there is one, by how many there are compared with a number: if so, and if not so. By the
# names of types, of a library that is imported late.
_ONE_IF = {"Equal": 1, "LessThan": 2, "LessThanEqual": 1}
_ONE_UNLESS = {"NotEqual": 1, "GreaterThan": 1, "GreaterThanEqual": 2}
_TURNED = {
    "LessThan": "GreaterThan", "LessThanEqual": "GreaterThanEqual",
    "GreaterThan": "LessThan", "GreaterThanEqual": "LessThanEqual",
}  # fmt: skip
# By how all devices compare with those of this process, where there is no other one.
_ALL_ARE_OWN = frozenset({"Equal", "GreaterThan", "LessThanEqual", "NotEqual"})
_EITHER_WAY = frozenset({"Equal", "NotEqual"})
_WORDS = ("process", "rank", "host_id", "hosts", "distributed", "multihost")


def depends_on_process(node: cst.CSTNode, ctx: Context) -> bool:
    """Whether code runs only after a test of the index of the process, or of their number.

    Not where all that is known then is that there are several.
    """
    child = node
    for ancestor in ctx.ancestors(node):
        if (
            isinstance(ancestor, cst.If | cst.IfExp)
            and child is not ancestor.test
            and _asks(ancestor.test, ctx)
            and not has_several_processes(ancestor.test, ctx, truth=child is ancestor.body)
        ):
            return True
        child = ancestor
    return any(
        _asks(each.test, ctx) and not has_several_processes(each.test, ctx, truth=False)
        for each in passed_exits(node, ctx)
    )


def has_one_device(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether code runs only where there is one process: with one device, or all devices."""
    child = node
    for ancestor in ctx.ancestors(node):
        if (
            isinstance(ancestor, cst.If | cst.IfExp)
            and child is not ancestor.test
            and _says_one(ancestor.test, ctx, truth=child is ancestor.body)
        ):
            return True
        child = ancestor
    if any(_says_one(each.test, ctx, truth=False) for each in passed_exits(node, ctx)):
        return True
    return any(_says_one(each.test, ctx, truth=True) for each in passed_asserts(node, ctx))


def _says_one(test: cst.BaseExpression, ctx: Context, *, truth: bool) -> bool:
    """Return whether there is one process, or one device, where a condition is true, or is false:
    a comparison of their number, or a function of the program that returns one.
    """
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, truth = test.expression, not truth
    if not isinstance(test, cst.Call):
        return _compares_count(test, _ONE_IF if truth else _ONE_UNLESS, ctx)
    # Only what may have something to report needs it.
    from placement_lint.rules.transfers.program_returns import returned_by

    returned = returned_by(test, ctx)
    return (
        len(returned) == 1
        and not isinstance(returned[0][0], cst.Call)
        and _says_one(*returned[0], truth=truth)
    )


def has_several_processes(test: cst.BaseExpression, ctx: Context, *, truth: bool) -> bool:
    """Return whether there surely are several processes where a comparison is true, or false."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    (target,) = test.comparisons
    left, operator, right = test.left, type(target.operator).__name__, target.comparator
    if integer_value(left) is not None:
        left, operator, right = right, _TURNED.get(operator, operator), left
    number = (_ONE_UNLESS if truth else _ONE_IF).get(operator)
    return (
        number is not None
        and integer_value(right) == number
        and ctx.called(followed(left, ctx)) == "jax.process_count"
    )


def _compares_count(test: cst.BaseExpression, meaning: dict[str, int], ctx: Context) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    (target,) = test.comparisons
    operator = type(target.operator).__name__
    number = meaning.get(operator)
    if number is not None and operator in _ALL_ARE_OWN:
        left, right = followed(test.left, ctx), followed(target.comparator, ctx)
        if _counts_devices(left, ctx) and _counts_own(right, ctx):
            return True
        if operator in _EITHER_WAY and _counts_own(left, ctx) and _counts_devices(right, ctx):
            return True
    return (
        number is not None
        and integer_value(target.comparator) == number
        and _counts_devices(followed(test.left, ctx), ctx)
    )


def _counts_devices(node: cst.BaseExpression, ctx: Context) -> bool:
    return ctx.called(node) in _COUNTS or _is_length_of(node, "jax.devices", ctx)


def _counts_own(node: cst.BaseExpression, ctx: Context) -> bool:
    own = ctx.called(node) == "jax.local_device_count"
    return own or _is_length_of(node, "jax.local_devices", ctx)


def _is_length_of(node: cst.BaseExpression, listing: str, ctx: Context) -> bool:
    if not isinstance(node, cst.Call) or ctx.called(node) != "builtins.len":
        return False
    counted = Arguments(node).get(0)
    return counted is not None and ctx.called(followed(counted, ctx)) == listing


def _asks(test: cst.CSTNode, ctx: Context) -> bool:
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.elsewhere import asks

    return mentions_word(test, _WORDS, ctx) or asks(test, ctx, PROCESS_QUERIES)
