"""What libraries give that is no array: their functions, and descriptions of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.placement.domain.sized import Sized

if TYPE_CHECKING:
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.sharding import Sharding


@dataclass(frozen=True)
class LibraryFunction(Sized):
    """A function of JAX or NumPy that is kept, passed on or bound: the table says what it does."""

    name: str
    """Its qualified name."""


@dataclass(frozen=True)
class AbstractArray(Sized):
    """A `jax.ShapeDtypeStruct` with a sharding: where an array like it is committed."""

    devices: frozenset[Device | None]
    """The devices, one of which it is."""
    sharding: Sharding | None = None
    """How it is on a mesh."""
