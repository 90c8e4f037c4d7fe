"""What the interpreter is asked about committing arrays, and what comes of it: see `supposition`.

Rules name these, so nothing here imports the interpreter.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Place


class Consequence(enum.Enum):
    """What comes of supposing that something is committed, besides that it is."""

    RETYPED = enum.auto()
    """What is put back may be of another type than it was: NumPy knows no weak ones."""
    UNSEEN = enum.auto()
    """It goes where nobody follows it."""
    MIXED = enum.auto()
    """Where something is put back, something else comes by."""
    MOVED = enum.auto()
    """A computation runs on another device, or an array ends there."""
    PULLED = enum.auto()
    """Arrays that are on another device are copied to a computation that runs elsewhere now."""
    REFUSED = enum.auto()
    """JAX may refuse an operation, because another operand may be committed elsewhere."""


class Destination(NamedTuple):
    """Where something is committed to."""

    device: Device | None
    expression: Place | None = None
    """What names it: an array that was made while this named the default device is there."""
