"""The order in which what a value may be is taken, where that can be seen: in every process one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from placement_lint.placement.domain.values import order_of

if TYPE_CHECKING:
    from collections.abc import Collection

AtomT = TypeVar("AtomT")


def in_order(atoms: Collection[AtomT]) -> Collection[AtomT]:
    """Return things in the order of `order_of`, which is not asked of the only one there is."""
    return atoms if len(atoms) < 2 else sorted(atoms, key=order_of)
