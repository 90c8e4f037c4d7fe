"""What comes of setting an option of JAX where a statement has set nothing before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability
from placement_lint.jaxmodel.config_states import HARMLESS_VALUES, MAY_RAISE
from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_TRACED = frozenset(TraceKind) - {TraceKind.EAGER}


def is_traced(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node runs while JAX traces: an option that is set there stays set, and has
    no effect on what is compiled.
    """
    from placement_lint.semantic.tracing import TracedFunctions

    return ctx.module.fact(TracedFunctions).around(node, _TRACED) is not None


def level_of_option(
    option: str, value: cst.BaseExpression | None, at: cst.CSTNode, ctx: Context
) -> Applicability:
    """Return how safe it is that an option is set for the whole process at a node.

    Not where JAX may raise then, and not in what suspends itself: other code runs under it.
    """
    from placement_lint.semantic.generators import suspensions

    function = ctx.function(at)
    suspends = isinstance(function, cst.FunctionDef) and any(
        True for _ in suspensions(function.body)
    )
    return Applicability.UNSAFE if suspends or may_raise(option, value) else Applicability.SAFE


def may_raise(option: str, value: cst.BaseExpression | None) -> bool:
    """Return whether JAX may raise where it did not before, with an option set to a value."""
    if option not in MAY_RAISE:
        return False
    text = value.value if isinstance(value, cst.Name) else string_value(value)
    return text not in HARMLESS_VALUES
