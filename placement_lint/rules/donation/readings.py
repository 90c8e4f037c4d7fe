"""What the rules about donated buffers say of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.semantic.donation.buffers import Surety
from placement_lint.semantic.enclosing import failure_is_expected, is_caught

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.donation.analysis import Donations
    from placement_lint.semantic.donation.readings import Reading

DONATES = AllOf(Jax(), b"donate")
"""The file may donate: it has a word of it."""


_CONFIDENCES = {
    Surety.DEFINITE: Confidence.DEFINITE,
    Surety.LIKELY: Confidence.LIKELY,
    Surety.MAYBE: Confidence.POSSIBLE,
}

_DELETED = frozenset({"builtins.RuntimeError", "builtins.ValueError", "jax.errors.JaxRuntimeError"})
"""What JAX raises where an array was deleted."""


def donations(ctx: Context) -> Donations:
    """Return what a file donates. Only files that pass the filter load what finds it out."""
    from placement_lint.semantic.donation.analysis import Donations

    return ctx.module.fact(Donations)


def readings(ctx: Context, *, aliases: bool) -> Iterator[Reading]:
    """Yield what is read after it was donated, under its own name or under another one."""
    for each in donations(ctx).readings:
        node = each.node
        if each.is_alias is aliases and not (
            failure_is_expected(node, ctx) or is_caught(node, ctx, _DELETED)
        ):
            yield each


def confidence(surety: Surety) -> Confidence:
    return _CONFIDENCES[surety]


def deleted(each: Reading) -> str:
    """Return that something is deleted, as surely as it is known."""
    return "may be deleted" if each.surety is Surety.MAYBE else "is deleted"


def donated(each: Reading, ctx: Context) -> str:
    """Return where something was donated: "donated to `step` on line 12"."""
    return f"donated to `{each.death.to}` on line {ctx.module.line_of(each.donation)}"
