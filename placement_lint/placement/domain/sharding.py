"""Meshes of devices, and how they split arrays: the places that are more than one device.

What is not known of one is None, or `UNKNOWN_PART`. A spec is never compared with the meshes of a
file, only with the mesh that it meets: most specs are for a mesh that a caller makes.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.sized import Sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.mesh_devices import MeshDevices
    from placement_lint.placement.domain.places import Place


class AxisType(enum.Enum):
    """Who decides how arrays are split along an axis of a mesh."""

    AUTO = enum.auto()
    """The compiler, within the constraints that the program states."""
    EXPLICIT = enum.auto()
    """The types of the arrays."""
    BY_VERSION = enum.auto()
    """`jax.make_mesh` without `axis_types`: AUTO before JAX 0.9.0, EXPLICIT from then on."""


class Memory(enum.Enum):
    """Which memory of its devices a sharding is of."""

    DEVICE = enum.auto()
    PINNED = enum.auto()
    """That of the host, from which devices read: `pinned_host`."""
    PINNED_BY_VERSION = enum.auto()
    """Of what is computed in `pinned_host`: that of the devices before JAX 0.10, from then on the
    same (measured)."""


class UnknownPart(enum.Enum):
    """What one dimension of a spec is where that is not known."""

    PART = enum.auto()


UNKNOWN_PART = UnknownPart.PART

Part: TypeAlias = "str | tuple[str, ...] | UnknownPart | None"
"""The axes of one dimension of an array: one, several, none."""


@dataclass(frozen=True)
class DeviceGrid(Sized):
    """A NumPy array of devices, of which a mesh is made."""

    devices: MeshDevices | None
    shape: tuple[int | None, ...] | None = None
    """None for what is not known of it."""


@dataclass(frozen=True)
class Mesh(Sized):
    """A mesh: devices in a grid, of which each direction is an axis with a name."""

    axes: tuple[str | None, ...] | None = None
    """The names of all axes, None for one that is not known; None: it is not known how many."""
    sizes: tuple[int | None, ...] | None = None
    """The devices along each axis, of which there are as many as of `axes`."""
    types: tuple[AxisType | None, ...] | AxisType | None = None
    """The types of the axes, one for each or the same for all."""
    made: Place | None = None
    """The expression that made it."""
    devices: MeshDevices | None = None

    @property
    def number(self) -> int | None:
        """How many devices it has; None where that is not known."""
        if self.sizes is None or None in self.sizes:
            return None if self.devices is None else self.devices.number
        return math.prod(size for size in self.sizes if size is not None)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of all axes; None where one of them is not known."""
        if self.axes is None:
            return None
        known = tuple(name for name in self.axes if name is not None)
        return known if len(known) == len(self.axes) else None

    def type_of(self, axis: str) -> AxisType | None:
        """Return the type of an axis; None where it is not known."""
        if not isinstance(self.types, tuple):
            return self.types
        if self.axes is None or axis not in self.axes or len(self.types) != len(self.axes):
            return None
        return self.types[self.axes.index(axis)]

    @property
    def every_type(self) -> frozenset[AxisType | None]:
        """The types that axes of it have; None among them: one that is not known."""
        return frozenset(self.types if isinstance(self.types, tuple) else (self.types,))

    def __str__(self) -> str:
        """Write it for people: `(data=4, model=2)`."""
        if self.axes is None:
            return "(…)"
        sizes = self.sizes or (None,) * len(self.axes)
        parts = (
            f"{name or '…'}" if size is None else f"{name or '…'}={size}"
            for name, size in zip(self.axes, sizes, strict=False)
        )
        return f"({', '.join(parts)})"


@dataclass(frozen=True)
class Spec(Sized):
    """A `PartitionSpec`: which axes split which dimension of an array."""

    parts: tuple[Part, ...] | None = None
    """None: it is not known how many dimensions it says something of."""
    made: Place | None = None
    """The expression that made it."""
    named: tuple[str, ...] = ()
    """Axes that it surely names, where it is not known of which dimensions."""

    @property
    def is_whole(self) -> bool:
        """Whether it surely splits nothing."""
        return self.parts is not None and not any(self.parts)

    @property
    def splits(self) -> bool:
        """Whether it surely names an axis."""
        return any(isinstance(part, str | tuple) and part for part in self.parts or ())

    def axes(self) -> Iterator[str]:
        """Yield the axes that it surely names, in order, one as often as it is named."""
        for part in self.parts or self.named:
            if isinstance(part, str):
                yield part
            elif isinstance(part, tuple):
                yield from part

    def __str__(self) -> str:
        """Write it as code does: `P("data", None)`."""
        if self.parts is None:
            return f"P({', '.join(('…', *map(_written, self.named)))})"
        return f"P({', '.join(map(_written, self.parts))})"


def _written(part: Part) -> str:
    if isinstance(part, tuple):
        inner = ", ".join(f'"{axis}"' for axis in part)
        return f"({inner},)" if len(part) == 1 else f"({inner})"
    if isinstance(part, str):
        return f'"{part}"'
    return "None" if part is None else "…"


@dataclass(frozen=True)
class Sharding(Sized):
    """A sharding, a layout or a memory kind: something to commit to that is no single device."""

    replicated: bool = False
    """It surely leaves an array whole: each device has all of it, in its own memory."""
    mesh: Mesh | None = None
    spec: Spec | None = None
    is_named: bool = False
    """It is a `NamedSharding` of the devices' own memory."""
    memory: Memory | None = None
    """None where that is not known."""

    @property
    def is_of_host(self) -> bool:
        """Whether what is put to it is in the memory of the host."""
        return self.memory in {Memory.PINNED, Memory.PINNED_BY_VERSION}

    def in_memory(self, memory: Memory | None) -> Sharding:
        """Return the same sharding of another memory."""
        in_own = memory is Memory.DEVICE and self.mesh is not None
        whole = in_own and self.spec is not None and self.spec.is_whole
        return replace(self, replicated=whole, is_named=in_own, memory=memory)

    def __str__(self) -> str:
        """Write it for people: `mesh (data=4, model=2), P("data", None)`."""
        if self.mesh is None and self.is_of_host:
            return "pinned_host memory"
        if self.mesh is None and self.memory is Memory.DEVICE and not self.is_named:
            return "device memory"
        text = f"mesh {self.mesh or '(…)'}, {self.spec or 'P(…)'}"
        return f"{text} in pinned_host memory" if self.is_of_host else text
