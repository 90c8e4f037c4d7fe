"""What was made where, and what was moved: from what the hooks see to what the ledger holds.

Runs in the traced process.
"""

from __future__ import annotations

import contextlib
import math
import traceback
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from placement_lint.trace.compilations import Recompiled
    from placement_lint.trace.frames import Frames, Site
    from placement_lint.trace.ledger import TraceLedger

DRAGGED = "dragged"
"""An array that lives elsewhere than on the default device, copied to where the operation runs."""
FOLLOWED = "followed"
"""An array of the default device, copied to where the operation runs."""
PULLED = "pulled"
"""An array of the default device, copied to the host: the operation runs there because another
operand is committed there."""
SPREAD = "spread"
"""An array of one device, or NumPy data, copied to several."""
STAGED = "staged"
"""An array built on one device only to be copied to the one that was asked for."""
SMALL = "small"
"""A scalar or a PRNG key, wherever it was."""


_FEW = 32
"""Elements of an array of numbers that pull nobody to the host that is worth a word."""
_INDICES = 2**20
"""Bytes below which integers are taken for positions in another array."""


class Cause(NamedTuple):
    """Why a computation runs on the host."""

    device: str
    root: Site | None
    """Where an operand was computed on the host, away from others, that is on the host since; None:
    no operand was."""
    shape: tuple[int, ...]
    """Of the operand that is committed to the host."""
    dtype: str
    made: Site | None
    """Where that was committed there, or computed of what was."""
    exact: bool
    """Whether it was this very one; else it was one just like it."""


class _Kept(NamedTuple):
    """Something that is known of an array; `array` is a weak reference to it."""

    array: Any
    what: Any


class _Known:
    """What is known of arrays, for as long as they live."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}

    def keep(self, array: Any, what: Any) -> None:
        key = id(array)

        def forget(gone: Any) -> None:
            # Another array may have the number by now.
            if (kept := self._kept.get(key)) is not None and kept.array is gone:
                del self._kept[key]

        self._kept[key] = _Kept(weakref.ref(array, forget), what)

    def of(self, array: Any) -> Any:
        kept = self._kept.get(id(array))
        return kept.what if kept is not None and kept.array() is array else None


class _Makers:
    """The places that make arrays: each array's, and those that made one like it."""

    def __init__(self) -> None:
        self._exactly = _Known()
        self._alike: dict[tuple[Any, ...], set[Site]] = {}

    def add(self, array: Any, site: Site) -> None:
        self._exactly.keep(array, site)
        self._alike.setdefault(_kind(array), set()).add(site)

    def of_this(self, array: Any) -> Site | None:
        """Return the place that made this very array, if it is known."""
        site: Site | None = self._exactly.of(array)
        return site

    def of(self, array: Any) -> tuple[Site | None, bool]:
        """Return the place that made an array, and whether it was this very one."""
        site = self.of_this(array)
        if site is not None:
            return site, True
        # Scalars are made everywhere: another one says nothing of this one.
        alike = self._alike.get(_kind(array), set()) if array.ndim else set()
        return (next(iter(alike)) if len(alike) == 1 else None), False


class Recorder:
    """Counts moves by the lines of the user's code that they happen at."""

    def __init__(self, ledger: TraceLedger, frames: Frames, new: Callable[[Site], None]) -> None:
        """Take in `new` what is called with each place that JAX is first used from."""
        self._new = new
        self._places: set[Site] = set()
        self._ledger = ledger
        self._frames = frames
        self._makers = _Makers()
        """Of uncommitted arrays away from the default device."""
        self._holders = _Makers()
        """Of arrays that are committed away from it."""
        self._alone = _Known()
        """For arrays of the default device alone: the line that made them."""
        self._spread = _Known()
        """For arrays that were copied to several devices: that they were."""
        self._donors = _Known()
        """For arrays that are deleted: the line of the call that took the buffer."""
        self._pulled = _Known()
        """For arrays that are on the host because their computation was pulled there: the cause."""
        self._slots: dict[tuple[Any, ...], int] = {}
        self._default: Any = None
        self._failed = False

    @property
    def is_on(self) -> bool:
        """Whether this is the traced process, and not one forked from it, and all went well."""
        return self._ledger.is_mine and not self._failed

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Keep an error of ours from the program: it goes on unwatched, and the report says so."""
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
        """Return whether an array lives elsewhere than on the system's default device."""
        return self._default_device() not in array.sharding.device_set

    def _default_device(self) -> Any:
        if self._default is None:
            from placement_lint.trace.emulation import default_device

            self._default = default_device()
        return self._default

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
        self._makers.add(array, site)

    def alone(self, array: Any) -> None:
        """Note the line that makes an array on the default device alone."""
        site = self._frames.here() if len(array.sharding.device_set) == 1 else None
        if site is not None:
            self._alone.keep(array, site)

    def committer(self, array: Any) -> Site | None:
        """Return the line that committed an array to its one device, if one was seen to."""
        committed = array.committed if hasattr(array, "committed") else array._committed
        site: Site | None = self._alone.of(array)
        return (site or self._holders.of_this(array)) if committed else None

    def compiled_again(self, function: str, why: Recompiled, nanoseconds: int) -> None:
        """Count a compilation that is there because an operand is placed otherwise than before."""
        site = self._frames.here()
        key = (site, function, why.shape, why.dtype, why.before, why.after, why.made)
        slot = self._slot(
            key,
            "compiled",
            lambda: {
                "site": site,
                "function": function,
                "shape": list(why.shape),
                "dtype": why.dtype,
                "before": why.before,
                "after": why.after,
                "others": why.others,
                "made": why.made,
            },
        )
        self._ledger.count(slot, why.bytes, nanoseconds)

    def _slot(self, key: tuple[Any, ...], event: str, values: Callable[[], dict[str, Any]]) -> int:
        """Return the slot that counts what a key stands for; the first time, begin to count."""
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._ledger.new_slot(event, **values())
        return slot

    def maker(self, array: Any) -> Site | None:
        """Return the place that made this very array, which is on one device."""
        site: Site | None = self._alone.of(array)
        return site or self._makers.of_this(array)

    def _maker_of(self, array: Any) -> tuple[Site | None, bool]:
        """Return the place that made an uncommitted array, and whether it was this very one."""
        site = self.maker(array)
        return (site, True) if site is not None else self._makers.of(array)

    def holds(self, array: Any, operands: Sequence[Any]) -> None:
        """Note an array that is committed away from the default device, by the line that did so.

        That is where one of the operands was committed that it was computed of, if there is one.
        """
        known = (
            self._holders.of(operand)[0] for operand in operands if hasattr(operand, "sharding")
        )
        site = next(filter(None, known), None) or self._frames.here()
        if site is not None:
            self._holders.add(array, site)

    def took(self, arrays: Sequence[Any]) -> None:
        """Note arrays whose buffers a computation has taken, by the line that it is called from."""
        site = self._frames.here()
        for array in arrays if site is not None else ():
            self._donors.keep(array, site)

    def donor(self, array: Any) -> Site | None:
        """Return the line that donated an array, if one was seen to."""
        site: Site | None = self._donors.of(array)
        return site

    def is_host(self, device: Any) -> bool:
        """Return whether a device is the host, and not the default device of this moment."""
        import jax

        from placement_lint.simulated_devices import real_platform

        if real_platform(device) != "cpu" or device == self._default_device():
            return False
        return jax.config.jax_default_device not in {device, "cpu"}

    def cause(self, committed: Sequence[Any], moved: Sequence[Any]) -> Cause | None:
        """Return why a computation with operands that are committed to the host runs there.

        `moved`: the operands that are copied there. None where it belongs there: it is given
        nothing of the accelerator but numbers, keys and indices.
        """
        for array in committed:
            cause: Cause | None = self._pulled.of(array)
            if cause is not None:
                return cause
        if not any(_counts(array) and not self.is_away(array) for array in moved):
            return None
        pulling = max(committed, key=size_of)
        made, exact = self._holders.of(pulling)
        (device,) = _names(pulling.sharding.device_set)
        return Cause(device, None, tuple(pulling.shape), str(pulling.dtype), made, exact)

    def ran_on_host(
        self, function: str, cause: Cause, results: Sequence[Any], copied: int, nanoseconds: int
    ) -> None:
        """Count a computation that ran on the host for a cause, with the bytes copied for it."""
        site = self._frames.here()
        key = (site, function, cause)
        slot = self._slot(
            key,
            "host",
            lambda: {
                "site": site,
                "function": function,
                "device": cause.device,
                "after": cause.root,
                "shape": list(cause.shape),
                "dtype": cause.dtype,
                "made": cause.made,
                "exact": cause.exact,
            },
        )
        self._ledger.count(slot, copied, nanoseconds)
        rooted = cause if cause.root is not None else cause._replace(root=site)
        for result in results:
            self._pulled.keep(result, rooted)

    def kind_of(self, array: Any, target: Any) -> str:
        """Return what sort of move it is that brings an array to the devices of a sharding."""
        if array.ndim == 0 or str(array.dtype).startswith("key<"):
            return SMALL
        if len(target.device_set) > 1:
            return SPREAD
        return DRAGGED if self.is_away(array) else FOLLOWED

    def moved(
        self,
        array: Any,
        target: Sequence[Any],
        kind: str,
        nanoseconds: int,
        *,
        size: int | None = None,
    ) -> None:
        """Count a copy of an array. `size`: its bytes on all devices, if not those of the array."""
        site = self._frames.here()
        origin, exact = self._maker_of(array)
        again = kind == SPREAD and self._spread.of(array) is not None and _counts(array)
        if kind == SPREAD:
            self._spread.keep(array, site or SPREAD)
        targets = tuple(device.id for device in target)
        key = (site, origin, exact, kind, again, _kind(array), targets)
        slot = self._slot(
            key,
            "move",
            lambda: {
                "site": site,
                "made": origin,
                "exact": exact,
                "kind": kind,
                "shape": list(array.shape),
                "dtype": str(array.dtype),
                "source": _names(_devices(array)),
                "target": _names(target),
                "again": again,
            },
        )
        self._ledger.count(slot, size_of(array) if size is None else size, nanoseconds)


def size_on(array: Any, sharding: Any) -> int:
    """Return the bytes that an array takes on devices of a sharding which have not got it."""
    elements = math.prod(array.shape)
    if len(sharding.device_set) == 1 or not elements:
        return size_of(array)
    others = len(sharding.device_set - _devices(array))
    part = math.prod(sharding.shard_shape(array.shape))
    return int(size_of(array) * part // elements * others)


def size_of(array: Any) -> int:
    """Return the bytes of an array. Up to 0.5.3 `nbytes` of an array of PRNG keys raises."""
    try:
        return int(array.nbytes)
    except NotImplementedError:
        return int(array.size) * int(array.dtype.itemsize)


def is_replicated(data: Any, sharding: Any) -> bool:
    """Return whether a sharding has all of some NumPy data copied to each of several devices."""
    return len(sharding.device_set) > 1 and bool(sharding.is_fully_replicated) and _counts(data)


def _devices(array: Any) -> AbstractSet[Any]:
    """Return the devices of an array; none for NumPy data."""
    sharding = getattr(array, "sharding", None)
    return frozenset() if sharding is None else sharding.device_set


def _kind(array: Any) -> tuple[Any, ...]:
    return (array.shape, array.dtype, *sorted(device.id for device in _devices(array)))


def _counts(array: Any) -> bool:
    """Return whether an array is more than a number, a key, or positions in another one."""
    import jax.numpy as jnp

    if jnp.issubdtype(array.dtype, jnp.inexact):
        return bool(array.size > _FEW)
    return not str(array.dtype).startswith("key<") and size_of(array) >= _INDICES


def _names(devices: Any) -> list[str]:
    """`cpu:1`: what the devices really are, also where they stand in for others."""
    from placement_lint.simulated_devices import device_name

    return sorted(map(device_name, devices))
