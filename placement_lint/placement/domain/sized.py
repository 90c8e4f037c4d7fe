"""What every alternative of a value has: how much it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Sized:
    """What a value is made of."""

    size: int = 1
    """How many things are in it, itself included."""
    depth: int = 0
    """How many things that hold others are inside of one another in it."""
    nesting: int = 0
    """How many containers are inside of one another in it."""


def nesting_of(*parts: Iterable[Sized]) -> int:
    """Return how many containers are inside of one another in values, at most."""
    return max([atom.nesting for part in parts for atom in part], default=0)


def size_of(*parts: Iterable[Sized]) -> int:
    """Return how many things are in values, those inside of others included."""
    return sum([atom.size for part in parts for atom in part])


def depth_of(*parts: Iterable[Sized]) -> int:
    """Return how many things that hold others are inside of one another in values, at most."""
    return max([atom.depth for part in parts for atom in part], default=0)
