"""What every alternative of a value has: how much it holds."""

from __future__ import annotations


class Sized:
    """What a value is made of."""

    size: int = 1
    """How many things are in it, itself included."""
    depth: int = 0
    """How many things that hold others are inside of one another in it."""
    nesting: int = 0
    """How many containers are inside of one another in it."""
