"""What runs on every iteration of a loop."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.semantic.enclosing import ancestors_in_function

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

Loop: TypeAlias = "cst.For | cst.While | cst.ListComp | cst.SetComp | cst.DictComp"


def loop_around(node: cst.CSTNode, ctx: FileView) -> Loop | None:
    """Return the innermost loop of the same function that runs a node in each iteration, or may."""
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.For | cst.While) and child is ancestor.body:
            return ancestor
        if isinstance(ancestor, cst.ListComp | cst.SetComp) and child is ancestor.elt:
            return ancestor
        if isinstance(ancestor, cst.DictComp) and child in {ancestor.key, ancestor.value}:
            return ancestor
        if isinstance(ancestor, cst.GeneratorExp):
            break
    return None


def runs_in_each_iteration(node: cst.CSTNode, loop: Loop, ctx: FileView) -> bool:
    """Return whether nothing in a loop decides whether a node runs, but what ends the loop."""
    around = itertools.takewhile(lambda step: step[1] is not loop, ancestors_in_function(node, ctx))
    for child, ancestor in around:
        is_choice = isinstance(ancestor, cst.If | cst.IfExp) and child is not ancestor.test
        is_second = isinstance(ancestor, cst.BooleanOperation) and child is ancestor.right
        is_late = isinstance(ancestor, cst.Try | cst.TryStar) and child is not ancestor.body
        if is_choice or is_second or is_late or isinstance(ancestor, cst.MatchCase):
            return False
    if not isinstance(loop, cst.For | cst.While):
        return not loop.for_in.ifs and loop.for_in.inner_for_in is None
    first = next(ctx.tree.every(cst.Continue, below=loop.body), None)
    return first is None or ctx.tree.index(node) < ctx.tree.index(first)
