"""Where arrays are that may be on a mesh: what the analyser says, and what JAX did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import MAX_DEPTH, arrays
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.sharding import UnknownPart
from placement_lint.placement.domain.values import Anything, AnyTree, Array, Container

if TYPE_CHECKING:
    from collections import abc

    from placement_lint.placement.domain.sharding import Part
    from placement_lint.placement.domain.values import Value


@dataclass(frozen=True)
class Seat:
    """Where an array is: on one device, or on a mesh. What is not known is None."""

    device: int | None = None
    """Its number on the stage; None: it is on a mesh."""
    committed: bool = True
    axes: tuple[tuple[str | None, int | None], ...] | None = None
    """The axes of its mesh, with their sizes."""
    spec: tuple[tuple[str, ...] | None, ...] | None = None
    """The axes of each dimension, without what is not split at the end; None in it: unknown."""

    def admits(self, actual: Seat) -> bool:
        """Tell whether an array that is said to be here may be there."""
        if (self.device, self.committed) != (actual.device, actual.committed):
            return False
        if self.axes is not None and actual.axes is not None:
            if len(self.axes) != len(actual.axes):
                return False
            pairs = zip(self.axes, actual.axes, strict=True)
            if any({a, b} == {a, b} - {None} and a != b for x, y in pairs for a, b in zip(x, y)):  # noqa: B905
                return False
        if self.spec is None:
            return True
        if actual.spec is None or len(self.spec) < len(actual.spec):
            return False
        padded = (*actual.spec, *[()] * (len(self.spec) - len(actual.spec)))
        return all(a is None or a == b for a, b in zip(self.spec, padded, strict=True))

    def __str__(self) -> str:
        """Say it."""
        if self.device is not None:
            return f"{'committed to' if self.committed else 'uncommitted on'} {self.device}"
        return f"on {self.axes} by {self.spec}"


def number_of(array: Array, host: int) -> int:
    """Give where an array is on the stage, whose device 0 is the accelerator."""
    device = array.device
    assert device is not None
    assert device.index is not None
    return 0 if device.platform is None else host + device.index


def seat_of(array: Array, host: int) -> Seat:
    """Give where an array is, as far as the analyser knows."""
    if array.sharding is None:
        return Seat(number_of(array, host), array.committed)
    mesh, spec = array.sharding.mesh, array.sharding.spec
    axes = None
    if mesh is not None and mesh.axes is not None:
        sizes = mesh.sizes or (None,) * len(mesh.axes)
        axes = tuple(zip(mesh.axes, sizes, strict=True))
    parts = None
    if spec is not None and spec.parts is not None:
        parts = tuple(map(_axes_of, spec.parts))
        while parts and parts[-1] == ():
            parts = parts[:-1]
    return Seat(axes=axes, spec=parts)


def _axes_of(part: Part) -> tuple[str, ...] | None:
    if isinstance(part, UnknownPart):
        return None
    return () if part is None else (part,) if isinstance(part, str) else part


def meeting_a_mesh(
    operands: abc.Sequence[tuple[int, Value]], judged: int | None, *, certain: bool
) -> abc.Iterator[tuple[int, bool | None]]:
    """Yield the operands that are on one device, with whether they surely meet a mesh."""
    for position, (place, held) in enumerate(operands):
        others = [other for at, (_, other) in enumerate(operands) if at != position]
        meshed = [
            other
            for other in others
            if other and all(isinstance(a, Array) and a.sharding is not None for a in other)
        ]
        own = list(arrays(held))
        is_open = _is_open(held)
        if not is_open and all(array.sharding is not None for array in own):
            continue
        may_meet = any(
            array.sharding is not None for other in (*others, held) for array in arrays(other)
        )
        unknown = is_open or any(
            _is_open(other) or any(a.device is None and a.sharding is None for a in arrays(other))
            for at, (_, other) in enumerate(operands[:judged])
            if at != position
        )
        if (
            meshed
            and certain
            and all(isinstance(a, Array) and a.sharding is None and not a.committed for a in held)
        ):
            yield place, True
        elif may_meet or unknown:
            yield place, None
        else:
            yield place, False


def _is_open(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Tell whether something in a value, or the value itself, is not known."""
    return any(
        isinstance(atom, Anything | External)
        or (
            depth > 0
            and isinstance(atom, Container)
            and any(_is_open(part, depth - 1) for part in atom.parts())
        )
        or (depth > 0 and isinstance(atom, AnyTree) and _is_open(atom.leaf, depth - 1))
        for atom in held
    )
