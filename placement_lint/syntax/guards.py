"""Conditions that are false at import: `__name__ == "__main__"` and `TYPE_CHECKING`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names

TYPE_CHECKING_NAMES = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})
"""The qualified names of what is true for a type checker only."""


def is_main_guard(test: cst.BaseExpression) -> bool:
    """Whether a condition compares `__name__` with something, on either side."""
    return isinstance(test, cst.Comparison) and any(
        isinstance(side, cst.Name) and side.value == "__name__"
        for side in (test.left, *(each.comparator for each in test.comparisons))
    )


def is_false_at_import(test: cst.BaseExpression, names: Names) -> bool:
    """Whether a condition holds in a program or for a type checker only, not at import."""
    return is_main_guard(test) or names.qualified(test) in TYPE_CHECKING_NAMES
