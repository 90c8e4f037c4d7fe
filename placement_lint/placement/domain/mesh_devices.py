"""Which devices a mesh is of, and in which order: a part of what `jax.devices(…)` gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.devices import Device, differ
from placement_lint.placement.domain.sized import Sized

if TYPE_CHECKING:
    from collections.abc import Iterator

Part: TypeAlias = "tuple[int | None, int | None, int | None]"
"""The bounds and the step of a slice."""

EVERY: Part = (None, None, None)
_COUNTS = (*range(1, 17), 32, 64, 128, 256, 512)
"""How many devices a machine may have: what is so for each of these is so for all."""


@dataclass(frozen=True)
class MeshDevices(Sized):
    """The devices of a mesh, or of a list of them: `jax.devices(platform)[part]`, or some of it."""

    platform: str | None = None
    """None: those of the default backend."""
    part: Part = EVERY
    listed: tuple[int, ...] | None = None
    """The places in `jax.devices(platform)` where each is written out, in place of `part`."""
    is_arranged: bool = False
    """The order is one that depends on how the machine connects them."""
    arranged_as: tuple[int | None, ...] | None = None
    """The shape for which it was chosen, of which None is not known."""
    number: int | None = None
    """How many there are, where that is known. Of `is_arranged`: the first so many."""
    is_local: bool = False
    """They are among `jax.local_devices(…)`: where there is one process, the same."""

    def at(self, index: int) -> int | None:
        """Return the place in `jax.devices(platform)` of one of them; None: not known."""
        if self.listed is not None:
            inside = -len(self.listed) <= index < len(self.listed)
            return self.listed[index] if inside else None
        start, _, step = self.part
        is_forward = (start is None or start >= 0) and step in {None, 1}
        return (start or 0) + index if index >= 0 and is_forward and not self.is_arranged else None

    def sliced(self, part: Part) -> MeshDevices | None:
        """Return a part of them; None where that is not known."""
        if self.listed is not None:
            return replace(self, listed=self.listed[slice(*part)], number=None)
        whole = None if self.is_arranged or part[2] == 0 else _part_of(self.part, part)
        return None if whole is None else replace(self, part=whole, number=None)

    def of(self, count: int) -> tuple[int, ...] | None:
        """Return their places on a machine with so many; None: they cannot be these there."""
        if self.listed is not None:
            places: tuple[int, ...] = self.listed
            if any(not -count <= place < count for place in places):
                return None
        else:
            places = tuple(range(count)[slice(*self.part)])
            if self.is_arranged and self.number is not None:
                places = places[: self.number]
        is_possible = bool(places) and self.number in {None, len(places)}
        return places if is_possible else None

    def __str__(self) -> str:
        """Write them for people: `a mesh of jax.devices()[:4]`."""
        argument = "" if self.platform is None else f'"{self.platform}"'
        if self.is_local and argument:
            argument = f"backend={argument}"
        text = f"jax.{'local_' if self.is_local else ''}devices({argument})"
        if self.listed is not None:
            listed = ", ".join(f"{text}[{place}]" for place in self.listed)
            return f"a mesh of [{listed}]"
        if self.part != EVERY:
            start, stop, step = ("" if bound is None else str(bound) for bound in self.part)
            text += f"[{start}:{stop}{':' + step if step else ''}]"
        return f"a mesh of {text}"


def _part_of(first: Part, second: Part) -> Part | None:
    """Return the slice that takes what one slice takes of another; None where none surely does.

    However many devices there are: `[:8][::-1]` is `[7::-1]`.
    """
    if first == EVERY:
        return second
    start, stop, step = first[0] or 0, first[1], first[2]
    if step not in {None, 1} or start < 0 or (stop is not None and stop <= start):
        return None
    begin, end, by = second
    if by in {None, 1} and (begin or 0) >= 0 and (end is None or end >= 0):
        ends = [each for each in (stop, None if end is None else start + end) if each is not None]
        return start + (begin or 0), min(ends, default=None), None
    if second == (None, None, -1):
        return None if stop is None else stop - 1, start - 1 if start else None, -1
    return None


def as_devices(one: Device | MeshDevices) -> MeshDevices | None:
    """Return a device as a mesh of one; None where it is not known which."""
    if isinstance(one, MeshDevices):
        return one
    return None if one.index is None else MeshDevices(one.platform, listed=(one.index,), number=1)


def _beside(one: Device | MeshDevices, other: Device | MeshDevices) -> MeshDevices | None:
    """Return a device as a mesh of one; beside all devices it does not matter which it is."""
    if isinstance(one, Device) and one.index is None and isinstance(other, MeshDevices):
        is_any = other.listed is None and other.part == EVERY and not other.is_arranged
        return as_devices(Device(one.platform, 0)) if is_any else None
    return as_devices(one)


def mix(
    one: Device | MeshDevices, other: Device | MeshDevices, *, accelerator: bool
) -> bool | None:
    """Return whether JAX refuses arrays that are committed to these together.

    It does where the devices are others, or the same in another order. True: on every machine;
    None: on those with more devices than one, or than a slice takes; False: perhaps nowhere.
    """
    mine, theirs = _beside(one, other), _beside(other, one)
    if mine is None or theirs is None:
        return False
    first, second = Device(mine.platform, 0), Device(theirs.platform, 0)
    if differ(first, second, accelerator=accelerator):
        return True
    apart = [*_apart(mine, theirs)]
    if apart and all(apart):
        return True
    # With as many devices as there may be they differ, for one or a few they need not.
    return None if apart and apart[-1] and _is_for_several(mine, theirs) else False


def _apart(one: MeshDevices, other: MeshDevices) -> Iterator[bool]:
    """Yield for each number of devices that is possible whether these surely are not the same."""
    for count in _COUNTS:
        mine, theirs = one.of(count), other.of(count)
        if mine is None or theirs is None:
            continue
        here, there = (tuple(place % count for place in places) for places in (mine, theirs))
        if one.is_arranged or other.is_arranged:
            yield {*here} != {*there}
        else:
            yield here != there


def _is_for_several(one: MeshDevices, other: MeshDevices) -> bool:
    """Return whether one of two is all of the devices, of which the other is a part.

    A mesh that was made for a shape which is not known may be of fewer; it is of more than one.
    Who writes out the shape has as many devices as it needs, on the machine that is meant.
    """
    return any(
        each.listed is None
        and each.part == EVERY
        and each.number is None
        and not (beside.is_arranged and (beside.number or 1) > 1)
        and (not each.is_arranged or 1 in {beside.number, len(beside.listed or ())})
        for each, beside in ((one, other), (other, one))
    )
