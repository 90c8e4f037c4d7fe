"""Conditions that are asked twice: where an array is made, and again before it is used.

What is made on the host `if on_host:` is none where it is used behind `if not on_host:`, nor where
its name is bound to something else by a second `if on_host:`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.semantic.enclosing import ancestors_in_function, conditions
from placement_lint.semantic.followed import assigned_value
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.definitions import assigned_by, class_of_receiver
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.rules.context import Context


_MOST_STEPS = 6
"""From a condition to its parts, and to what their names stand for."""


class Case(NamedTuple):
    """One case of a condition of a function."""

    test: cst.BaseExpression
    is_true: bool


def cases_around(made: cst.CSTNode, ctx: Context) -> list[Case]:
    """Return the cases in which something is made, as the conditions around and before it say.

    With those that they imply: `a` where `a and b` is true, and what a name stands for.
    """
    every = (_implied(test, ctx, is_true=wanted) for test, wanted in conditions(made, ctx))
    return [*itertools.chain.from_iterable(every)]


def _implied(
    test: cst.BaseExpression, ctx: Context, *, is_true: bool, steps: int = _MOST_STEPS
) -> Iterator[Case]:
    """Yield the case in which a test is true, or false, and those that its parts are then in."""
    case = case_of(test, is_true=is_true)
    yield case
    parts: tuple[cst.BaseExpression, ...] = ()
    if isinstance(case.test, cst.BooleanOperation):
        # Where all of `a and b` is true, or all of `a or b` is false, so is each part.
        if isinstance(case.test.operator, cst.And) is case.is_true:
            parts = case.test.left, case.test.right
    elif isinstance(case.test, cst.Name):
        value = assigned_value(case.test, ctx)
        parts = () if value is None else (value,)
    for part in parts if steps else ():
        yield from _implied(part, ctx, is_true=case.is_true, steps=steps - 1)


def is_excluded(node: cst.CSTNode, made: cst.CSTNode, cases: list[Case], ctx: Context) -> bool:
    """Return whether what is made in some cases is not what a name is where it is read.

    Nor where the conditions there say that it was bound to something else: `if put: x = …` and then
    `if put:`. `made`: what decides where it is made, in the same function.
    """
    if ctx.function(made) is not ctx.function(node):
        return _is_replaced_in_object(node, made, ctx)
    known = [each for each in cases if _stays(each.test, ctx)]
    here = [each for each in cases_around(node, ctx) if _stays(each.test, ctx)]
    return any(_contradicts(each, case) for each in here for case in known) or any(
        each == case.is_true and _binds(branch, dotted(node), ctx)
        for case in (*known, *here)
        for each, branch in _branches(node, made, case, ctx)
    )


def _is_replaced_in_object(node: cst.CSTNode, made: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an attribute is read where the object says, by another attribute, that it was
    set to something else by the initializer: `if put: self.x = …` with `self.put = put`.
    """
    if not isinstance(node, cst.Attribute) or class_of_receiver(node.value, ctx.names) is None:
        return False
    for test, is_true in cases_around(node, ctx):
        held = own_attribute(test, ctx) if isinstance(test, cst.Attribute) else None
        if not isinstance(held, cst.Name) or ctx.function(held) is not ctx.function(made):
            continue
        case = case_of(held, is_true=is_true)
        for child, around in ancestors_in_function(made, ctx):
            statements = around.body if isinstance(around, cst.IndentedBlock) else ()
            later = [each for each in statements if ctx.tree.index(each) > ctx.tree.index(child)]
            if any(
                each == case.is_true and _binds(branch, dotted(node), ctx)
                for each, branch in _asking(later, case)
            ):
                return True
    return False


def case_of(test: cst.BaseExpression, *, is_true: bool) -> Case:
    """Return the case in which a test is true, or false; of `not x`, by `x`."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, is_true = test.expression, not is_true
    return Case(test, is_true)


def _contradicts(one: Case, other: Case) -> bool:
    return one.is_true is not other.is_true and one.test.deep_equals(other.test)


def _stays(test: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a condition gives the same whenever it is asked: it calls nothing, and its
    names are bound once.
    """
    parts = [test, *ctx.tree.descendants(test)]
    names = [each for each in parts if isinstance(each, cst.Name) and ctx.tree.contains(each)]
    is_pure = not any(isinstance(each, cst.Await | cst.Call | cst.NamedExpr) for each in parts)
    return is_pure and all(len(ctx.names.bindings(each)) <= 1 for each in names)


def _branches(
    node: cst.CSTNode, made: cst.CSTNode, case: Case, ctx: Context
) -> Iterator[tuple[bool, cst.BaseSuite]]:
    """Yield the branches of each `if` between two nodes that asks the same, above the second one,
    and in which case each is executed.
    """
    first = ctx.tree.index(made)
    for child, around in ancestors_in_function(node, ctx):
        before = around.body if isinstance(around, cst.IndentedBlock) else ()
        places = [(each, ctx.tree.index(each)) for each in before]
        last = ctx.tree.index(child)
        yield from _asking([each for each, place in places if first <= place < last], case)


def _asking(statements: Iterable[cst.CSTNode], case: Case) -> Iterator[tuple[bool, cst.BaseSuite]]:
    """Yield the branches of those statements that ask the same as a case, each with its case."""
    for statement in statements:
        if not isinstance(statement, cst.If):
            continue
        asked = case_of(statement.test, is_true=True)
        if asked.test.deep_equals(case.test):
            yield asked.is_true, statement.body
            if isinstance(statement.orelse, cst.Else):
                yield not asked.is_true, statement.orelse.body


def _binds(branch: cst.BaseSuite, name: str, ctx: Context) -> bool:
    """Return whether a branch surely binds a name, or sets an attribute: by a line of its own."""
    lines = [each for each in branch.body if isinstance(each, cst.SimpleStatementLine)]
    return bool(name) and any(
        dotted(each) == name and assigned_by(each, ctx.tree) is not None
        for line in lines
        for each in ctx.tree.every(cst.Attribute, cst.Name, below=line)
    )
