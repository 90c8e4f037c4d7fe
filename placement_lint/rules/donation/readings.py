"""What the rules about donated buffers say of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.semantic.donation.buffers import Surety
from placement_lint.semantic.enclosing import failure_is_expected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.donation.analysis import Donations
    from placement_lint.semantic.donation.expressions import Reading

DONATES = AllOf(Jax(), b"donate")
"""The file may donate: it has a word of it."""


def donations(ctx: Context) -> Donations:
    """Return what a file donates. Only files that pass the filter load what finds it out."""
    from placement_lint.semantic.donation.analysis import Donations

    return ctx.module.fact(Donations)


def readings(ctx: Context, *, aliases: bool) -> Iterator[Reading]:
    """Yield what is read after it was donated, under its own name or under another one."""
    for each in donations(ctx).readings:
        if each.is_alias is aliases and not failure_is_expected(each.node, ctx):
            yield each


def confidence(surety: Surety) -> Confidence:
    return Confidence.DEFINITE if surety is Surety.DEFINITE else Confidence.LIKELY


def donated(each: Reading, ctx: Context) -> str:
    """Return where something was donated: "donated to `step` on line 12"."""
    return f"donated to `{each.death.to}` on line {ctx.module.line_of(each.donation)}"
