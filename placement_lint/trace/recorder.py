"""What was made where, and what was moved: from what the hooks see to what the ledger holds.

Runs in the traced process.
"""

from __future__ import annotations

import contextlib
import traceback
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from placement_lint.trace.frames import Frames, Site
    from placement_lint.trace.ledger import Ledger

DRAGGED = "dragged"
"""An array that lives elsewhere than on the default device, copied to where the operation runs."""
FOLLOWED = "followed"
"""An array of the default device, copied to where the operation runs."""
SPREAD = "spread"
"""An array of one device, copied to several."""
STAGED = "staged"
"""An array built on one device only to be copied to the one that was asked for."""
SMALL = "small"
"""A scalar or a PRNG key, wherever it was."""


class _Made(NamedTuple):
    """Where an array was made; `array` is a weak reference to it."""

    array: Any
    site: Site


class Recorder:
    """Counts moves by the lines of the user's code that they happen at."""

    def __init__(self, ledger: Ledger, frames: Frames, new: Callable[[Site], None]) -> None:
        """Record nothing yet. `new` is told of each place that JAX is first used from."""
        self._new = new
        self._places: set[Site] = set()
        self._ledger = ledger
        self._frames = frames
        self._made: dict[int, _Made] = {}
        self._makers: dict[tuple[Any, ...], set[Site]] = {}
        """Places that made an array of a shape, type and device: for those not seen being made."""
        self._slots: dict[tuple[Any, ...], int] = {}
        self._default: Any = None
        self._failed = False

    @property
    def is_on(self) -> bool:
        """Whether this is the traced process, and not one forked from it, and all went well."""
        return self._ledger.is_mine and not self._failed

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Keep a mistake of ours from the program: it goes on unwatched, and the report says so."""
        try:
            yield
        except Exception as error:
            self._failed = True
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._ledger.write(
                "failed",
                reason=f"{type(error).__name__}: {error} ({Path(place.filename).name}, "
                f"line {place.lineno})",
            )

    def is_away(self, array: Any) -> bool:
        """Tell whether an array lives elsewhere than on the system's default device."""
        if self._default is None:
            from placement_lint.trace.stage import default_device

            self._default = default_device()
        return self._default not in array.sharding.device_set

    def ran(self) -> None:
        """Note the line that something is executed from."""
        site = self._frames.here()
        if site is not None and site not in self._places:
            self._places.add(site)
            self._new(site)

    def made(self, array: Any) -> None:
        """Note the line that makes an uncommitted array away from the default device."""
        site = self._frames.here()
        if site is None:
            return
        key = id(array)

        def forget(gone: Any) -> None:
            # Another array may have the number by now.
            if (kept := self._made.get(key)) is not None and kept.array is gone:
                del self._made[key]

        self._made[key] = _Made(weakref.ref(array, forget), site)
        self._makers.setdefault(_kind(array), set()).add(site)

    def kind_of(self, array: Any, target: Any) -> str:
        """Say what sort of move it is that brings an array to the devices of a sharding."""
        if array.ndim == 0 or str(array.dtype).startswith("key<"):
            return SMALL
        if len(target.device_set) > 1:
            return SPREAD
        return DRAGGED if self.is_away(array) else FOLLOWED

    def moved(self, array: Any, target: Sequence[Any], kind: str, nanoseconds: int) -> None:
        """Count a move of an array to some devices."""
        site = self._frames.here()
        made = self._made.get(id(array))
        if made is not None and made.array() is array:
            origin: Site | None = made.site
            exact = True
        else:
            # Scalars are made everywhere: another one says nothing of this one.
            makers = self._makers.get(_kind(array), set()) if array.ndim else set()
            origin, exact = (next(iter(makers)) if len(makers) == 1 else None), False
        key = (site, origin, exact, kind, _kind(array), tuple(device.id for device in target))
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._ledger.new_slot(
                site=site,
                made=origin,
                exact=exact,
                kind=kind,
                shape=list(array.shape),
                dtype=str(array.dtype),
                source=_names(array.sharding.device_set),
                target=_names(target),
            )
        self._ledger.count(slot, size_of(array), nanoseconds)


def size_of(array: Any) -> int:
    """Give the bytes of an array. Up to 0.5.3 `nbytes` of an array of PRNG keys raises."""
    try:
        return int(array.nbytes)
    except NotImplementedError:
        return int(array.size) * int(array.dtype.itemsize)


def _kind(array: Any) -> tuple[Any, ...]:
    return (array.shape, array.dtype, *sorted(device.id for device in array.sharding.device_set))


def _names(devices: Any) -> list[str]:
    """`cpu:1`: what the devices really are, also where they play others."""
    from placement_lint.trace.stage import device_name

    return sorted(map(device_name, devices))
