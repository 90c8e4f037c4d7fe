"""What runs on every iteration of a loop."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.semantic.enclosing import ancestors_in_function
from placement_lint.semantic.first_process import holds_in_first
from placement_lint.semantic.leaving import leaves
from placement_lint.semantic.passed_on import is_used_up

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

Loop: TypeAlias = (
    "cst.For | cst.While | cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp"
)


def loop_around(node: cst.CSTNode, ctx: FileView) -> Loop | None:
    """Return the innermost loop of the same function that runs a node in each iteration, or may.

    Not one that ends by leaving: it takes the first item, and no more.
    """
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.For | cst.While) and child is ancestor.body:
            if _runs_once(ancestor, ctx):
                continue
            return ancestor
        if isinstance(ancestor, cst.ListComp | cst.SetComp) and child is ancestor.elt:
            return ancestor
        if isinstance(ancestor, cst.DictComp) and child in {ancestor.key, ancestor.value}:
            return ancestor
        if isinstance(ancestor, cst.GeneratorExp):
            # It is a loop where all of it is drawn at once.
            return ancestor if child is ancestor.elt and is_used_up(ancestor, ctx) else None
    return None


def _runs_once(loop: cst.For | cst.While, ctx: FileView) -> bool:
    """Return whether the body of a loop always leaves it: `for first in rows: …; break`."""
    again = ctx.tree.every(cst.Continue, below=loop.body)
    return leaves(loop.body, ctx) and next(again, None) is None


def runs_in_each_iteration(node: cst.CSTNode, loop: Loop, ctx: FileView) -> bool:
    """Return whether nothing in a loop decides whether a node runs, but what ends the loop, and
    which process it is: in the first one it runs.
    """
    around = itertools.takewhile(lambda step: step[1] is not loop, ancestors_in_function(node, ctx))
    for child, ancestor in around:
        is_choice = isinstance(ancestor, cst.If | cst.IfExp) and child is not ancestor.test
        is_second = isinstance(ancestor, cst.BooleanOperation) and child is ancestor.right
        is_late = isinstance(ancestor, cst.Try | cst.TryStar) and child is not ancestor.body
        if is_choice and runs_in_first(child, ancestor, ctx):
            continue
        if is_choice or is_second or is_late or isinstance(ancestor, cst.MatchCase):
            return False
    if not isinstance(loop, cst.For | cst.While):
        return not loop.for_in.ifs and loop.for_in.inner_for_in is None
    ends = ctx.tree.every(cst.Continue, below=loop.body)
    first = next((each for each in ends if not is_for_others(each, ctx)), None)
    return first is None or ctx.tree.index(node) < ctx.tree.index(first)


def runs_in_first(branch: cst.CSTNode, choice: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a branch is what the first process of a program always takes."""
    return isinstance(choice, cst.If) and holds_in_first(choice.test, ctx) is (
        branch is choice.body
    )


def is_for_others(exit_: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether the first process never comes to a `continue` or a `return`."""
    return any(
        isinstance(around, cst.If)
        and branch is not around.test
        and holds_in_first(around.test, ctx) is (branch is not around.body)
        for branch, around in ancestors_in_function(exit_, ctx)
    )
