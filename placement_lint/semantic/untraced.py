"""Code that runs only where nothing is traced: it has asked whether something is a tracer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.elsewhere import questions_of, questions_of_function
from placement_lint.semantic.enclosing import asks_for_tracer, conditions_say

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_TRACER = "Tracer"


def runs_only_untraced(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether code runs only where something is no tracer, in a function or in one around.

    Behind `if not isinstance(x, jax.core.Tracer):`, or behind a helper or a decorator of the
    program that asks for tracers: what these make of the answer is not known.
    """

    def is_none(test: cst.BaseExpression, wanted: bool) -> bool:
        if asks_for_tracer(test, ctx):
            return not wanted
        return isinstance(test, cst.Call) and _TRACER in questions_of(test, ctx)

    around: cst.CSTNode | None = node
    while around is not None:
        if conditions_say(around, ctx, is_none):
            return True
        decorators = around.decorators if isinstance(around, cst.FunctionDef) else ()
        if any(_TRACER in questions_of_function(each.decorator, ctx) for each in decorators):
            return True
        around = ctx.function(around)
    return False
