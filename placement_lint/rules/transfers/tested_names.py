"""The names that a loop or a function tests, to decide what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.rules.context import Context


def names_tested(around: cst.CSTNode, ctx: Context, *, each_time: bool = False) -> set[str]:
    """Return the names that a loop or a function tests: it waits for those in any case.

    `each_time`: without those that a loop tests only in some iterations, for which it waits then.
    """
    varying = _varying_names(around, ctx) if each_time else set()
    return {
        part.value
        for each in (around, *ctx.tree.descendants(around))
        if isinstance(each, cst.If | cst.IfExp | cst.While | cst.Assert)
        and not (varying and _is_done_sometimes(each, around, varying, ctx))
        for part in (each.test, *ctx.tree.descendants(each.test))
        if isinstance(part, cst.Name) and not _asks_for_structure(part, ctx)
    }


def _varying_names(around: cst.CSTNode, ctx: Context) -> set[str]:
    """Return the names that a loop binds, as it may for each iteration; a function binds none."""
    if not isinstance(around, cst.For | cst.While):
        return set()
    targets = [around.target] if isinstance(around, cst.For) else []
    targets += [
        each.target
        for each in ctx.tree.every(cst.AssignTarget, cst.AugAssign, cst.AnnAssign, below=around)
    ]
    return {
        part.value
        for target in targets
        for part in (target, *ctx.tree.descendants(target))
        if isinstance(part, cst.Name)
    }


def _is_done_sometimes(
    node: cst.CSTNode, around: cst.CSTNode, varying: set[str], ctx: Context
) -> bool:
    """Return whether a node is below an `if` that differs between the iterations of a loop:
    `if step % 100 == 0:`, `if is_last:`.
    """
    child = node
    for parent in ctx.ancestors(node):
        if parent is around:
            break
        if isinstance(parent, cst.If) and child is parent.body:
            tested = (parent.test, *ctx.tree.descendants(parent.test))
            if any(isinstance(each, cst.Name) and each.value in varying for each in tested):
                return True
        child = parent
    return False


def _asks_for_structure(name: cst.Name, ctx: Context) -> bool:
    """Return whether a test asks for a key of a dictionary, or for None: no number is needed."""
    parent = ctx.parent(name)
    if isinstance(parent, cst.ComparisonTarget):
        around = ctx.parent(parent)
        return (
            isinstance(parent.operator, cst.In | cst.NotIn)
            and isinstance(around, cst.Comparison)
            and isinstance(around.left, cst.SimpleString)
        )
    return isinstance(parent, cst.Comparison) and all(
        isinstance(each.operator, cst.Is | cst.IsNot) for each in parent.comparisons
    )
