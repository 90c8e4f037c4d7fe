"""What `observe` measures with. Each instrument first shows that it sees: its control.

An instrument that does not see what it is shown raises BlindInstrumentError, and the proof
fails. Which signals JAX gives, and where they go blind, was measured on 0.4.30 to 0.12.
"""

import contextlib
import ctypes
import gc
import math
import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from placement_lint.simulated_devices import device_name
from placement_lint.verify.observation import BlindInstrumentError, Observation
from placement_lint.verify.run import Run
from placement_lint.verify.sizes import format_size

__all__ = [
    "MovedError",
    "Observation",
    "PeakMemory",
    "Run",
    "bytes_copied_by",
    "bytes_of_arrays_on",
    "copied_by",
    "is_committed",
    "is_whole",
    "lands",
    "leaves",
    "median_seconds",
    "peak_rss",
    "raises",
    "resident",
    "stays_where_it_was",
    "uncommitted",
]

_GUARD = "jax_transfer_guard_device_to_device"
# Index arrays, keys and scalars may be moved by anyone; datasets are larger than this.
_SMALL = 64 * 1024
_RSS_NOISE = 256 * 1024
_AVAL = re.compile(r"device-to-device transfer: aval=ShapedArray\((\w+)\[([\d,]*)\]")


class MovedError(RuntimeError):
    """Something is elsewhere than it has to be, with and without the fix."""


def is_committed(array: Any) -> bool:
    """Whether the array is committed to its device (`.committed` is public from 0.4.35 on)."""
    public = getattr(array, "committed", None)
    return bool(array._committed if public is None else public)


def where(run: Run, array: Any) -> str:
    """`cpu:0 (the accelerator), uncommitted`."""
    parts = []
    for device in sorted(array.devices(), key=lambda device: int(device.id)):
        role = {run.accelerator: " (the accelerator)", run.host: " (the host)"}.get(device, "")
        parts.append(f"{device_name(device)}{role}")
    return f"{', '.join(parts)}, {'committed' if is_committed(array) else 'uncommitted'}"


def _made_on(device: Any, *, commit: bool) -> Any:
    with _default_device(device):
        array = jnp.zeros((3,), dtype=jnp.int8)
    return jax.device_put(array, device) if commit else array


@contextlib.contextmanager
def _default_device(device: Any) -> Iterator[None]:
    """`with jax.default_device(device)`, which the code under observation may have broken."""
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", device)
    try:
        yield
    finally:
        jax.config.update("jax_default_device", before)


def lands(run: Run, array: Any, what: str) -> Observation:
    """Where an array that was meant for the host is; the sign: it is not on the host."""
    return _is_elsewhere(run, array, what, meant=run.host)


def leaves(run: Run, array: Any, what: str) -> Observation:
    """Where an array that belongs on the accelerator is; the sign: it is not there."""
    return _is_elsewhere(run, array, what, meant=run.accelerator)


def _is_elsewhere(run: Run, array: Any, what: str, *, meant: Any) -> Observation:
    for device in {run.accelerator, run.host}:
        if _made_on(device, commit=False).devices() != {device}:
            msg = f"an array made on {device_name(device)} reads as elsewhere"
            raise BlindInstrumentError(msg)
    text = where(run, array)
    return Observation(
        instrument=".devices()",
        what=f"where {what} is",
        measured=text,
        text=text,
        seen=set(array.devices()) != {meant},
        control="told an array on the accelerator from one on the host",
    )


def stays_where_it_was(run: Run, array: Any, what: str) -> None:
    """Demand that an array is uncommitted on the accelerator, in the hazard and in its fix alike.

    A fix that moves a computation is none. Raises MovedError where it does.
    """
    if set(array.devices()) != {run.accelerator} or is_committed(array):
        msg = f"{what} is on {where(run, array)}: the fix moves what is computed with it"
        raise MovedError(msg)


def uncommitted(run: Run, array: Any, what: str) -> Observation:
    """Whether an array is committed; the sign: it is not."""
    for commit in (False, True):
        if is_committed(_made_on(run.host, commit=commit)) is not commit:
            raise BlindInstrumentError("a committed array and an uncommitted one read the same")
    return Observation(
        instrument=".committed",
        what=f"commitment of {what}",
        measured=is_committed(array),
        text=where(run, array),
        seen=not is_committed(array),
        control="told a committed array from an uncommitted one",
    )


def is_whole(array: Any, what: str) -> Observation:
    """How much of an array the first device has; the sign: all of it, though there are more."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("devices",))
    for split in (False, True):
        spec = jax.sharding.PartitionSpec("devices" if split else None)
        control = np.zeros((len(jax.devices()),), dtype=np.int8)
        put = jax.device_put(control, jax.sharding.NamedSharding(mesh, spec))
        if _is_whole(put) is split:
            raise BlindInstrumentError("a split array and a replicated one read the same")
    text = f"{_part(array)} of {tuple(array.shape)} on each of {len(array.devices())} devices"
    return Observation(
        instrument=".addressable_shards",
        what=f"the part of {what} that a device has",
        measured=text,
        text=text,
        seen=_is_whole(array),
        control="told a split array from a replicated one",
    )


def _part(array: Any) -> tuple[int, ...]:
    return tuple(array.addressable_shards[0].data.shape)


def _is_whole(array: Any) -> bool:
    return _part(array) == tuple(array.shape)


def resident(run: Run, array: Any, what: str) -> Observation:
    """Bytes of live arrays on the accelerator; the sign: at least as many as `array` has."""
    measured = bytes_of_arrays_on(run.accelerator)
    control = jax.device_put(np.ones(_SMALL, dtype=np.int8), run.accelerator)
    if bytes_of_arrays_on(run.accelerator) - measured != control.nbytes:
        raise BlindInstrumentError("an array put on the accelerator is not among the live arrays")
    return Observation(
        instrument="jax.live_arrays()",
        what=f"bytes on the accelerator after loading {what}",
        measured=measured,
        text=format_size(measured),
        seen=measured >= int(array.nbytes),
        control=f"counted {_SMALL} bytes put there",
    )


def bytes_of_arrays_on(device: Any) -> int:
    """Bytes of all arrays that are on this device, and on no other."""
    return sum(int(live.nbytes) for live in jax.live_arrays() if set(live.devices()) == {device})


def copied_by(
    run: Run, what: str, action: Callable[[Any], Any] | None = None
) -> tuple[Observation, Any]:
    """Bytes copied between devices that nobody asked for; the sign: more than an index needs.

    Runs the code, then action on what it returned, and returns the observation with the result.
    On virtual devices the device-to-device transfer guard says so: it names the array, and it is
    blind for calls that were made before it was set, so this must be the first instrument used.
    On an accelerator its own memory statistics say so.
    """

    def act() -> Any:
        value = run()
        return value if action is None else action(value)

    if run.accelerator.platform != "cpu":
        return _copied_by_statistics(run, what, act)
    measured = _guarded(act, run.host)
    return (
        Observation(
            instrument="device-to-device transfer guard",
            what=f"implicit copy to the accelerator by {what}",
            measured=measured,
            text=f"{measured:,} bytes",
            seen=measured > 0,
            control="stopped an implicit copy of 7,168 bytes",
        ),
        act(),
    )


def bytes_copied_by(action: Callable[[], Any], host: Any) -> int:
    """Bytes of the array that action implicitly copies between virtual devices; 0 for none.

    action may have run before: what JAX has compiled is forgotten first, as the guard does not
    see a call that is not the first of its kind (measured on 0.4.30 to 0.12).
    """
    jax.clear_caches()
    return _guarded(action, host)


def _guarded(action: Callable[[], Any], host: Any) -> int:
    """Bytes at which the device-to-device transfer guard stopped action, and the guard lifted."""
    jax.config.update(_GUARD, "disallow")
    if _stopped(lambda: _uncommitted_on(host, 7, 1024)[0]) != 7 * 1024:
        raise BlindInstrumentError("the transfer guard let an implicit copy pass")
    measured = _stopped(action)
    if 0 < measured <= _SMALL:
        msg = f"the transfer guard stopped at an array of {measured} bytes"
        raise BlindInstrumentError(msg)
    jax.config.update(_GUARD, "allow")
    return measured


def _uncommitted_on(device: Any, rows: int, columns: int) -> Any:
    with _default_device(device):
        return jnp.zeros((rows, columns), dtype=jnp.uint8)


def _stopped(action: Callable[[], Any]) -> int:
    """Bytes of the array whose transfer the guard stopped while action ran; 0 if none."""
    try:
        jax.block_until_ready(action())
    except RuntimeError as error:
        aval = _AVAL.search(str(error))
        if aval is None:
            raise
        kind, shape = aval.groups()
        return math.prod(map(int, filter(None, shape.split(",")))) * int(jnp.dtype(kind).itemsize)
    return 0


def _copied_by_statistics(run: Run, what: str, act: Callable[[], Any]) -> tuple[Observation, Any]:
    statistics_of = run.accelerator.memory_stats

    before = int(statistics_of()["bytes_in_use"])
    result = jax.block_until_ready(act())
    peak = int(statistics_of()["peak_bytes_in_use"])
    measured = max(0, peak - before)
    # The peak never falls, so only an array larger than it shows that it still rises.
    control = jax.device_put(np.ones(peak + 2**20, dtype=np.int8), run.accelerator)
    jax.block_until_ready(control)
    if int(statistics_of()["peak_bytes_in_use"]) < control.nbytes:
        raise BlindInstrumentError("the accelerator's memory statistics did not see an array")
    observation = Observation(
        instrument="memory_stats()",
        what=f"implicit copy to the accelerator by {what}",
        measured=measured,
        text=f"{measured:,} bytes",
        seen=measured > _SMALL,
        control=f"saw an array of {control.nbytes:,} bytes",
    )
    return observation, result


def raises(action: Callable[[], Any], kind: type[Exception], text: str, what: str) -> Observation:
    """Whether action raises; the sign: `kind` with text in its message. Others pass through."""
    try:
        value = action()
    except kind as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if text not in message:
            raise
        short = message if len(message) <= 100 else f"{message[:97]}..."
        return _raised(what, short, seen=True)
    return _raised(what, f"returned {value!r}, nothing raised", seen=False)


def _raised(what: str, text: str, *, seen: bool) -> Observation:
    return Observation(
        instrument="exception",
        what=what,
        measured=text,
        text=text,
        seen=seen,
        control="any other exception fails the proof",
    )


def median_seconds(action: Callable[[], Any], *, repeat: int) -> float:
    """Median wall time of action, its result awaited."""
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        jax.block_until_ready(action())
        times.append(time.perf_counter() - started)
    return statistics.median(times)


class PeakMemory:
    """By how much this process grows at most, from when this is made on (Linux only).

    Sees the hidden copy of a whole array although it is freed at once.
    """

    def __init__(self) -> None:
        self._before: int | None = None
        try:
            before = _settled_rss()
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            if _status("VmHWM") <= before + _RSS_NOISE:
                self._before = before
        except OSError:
            # This system does not say, or does not let a process begin again: nothing is known.
            return

    def bytes(self) -> int | None:
        """Bytes of growth until now; None where `/proc` cannot say."""
        return None if self._before is None else max(0, _status("VmHWM") - self._before)


def peak_rss(action: Callable[[], Any]) -> int | None:
    """Bytes by which this process grew at most while action ran; None where /proc cannot say."""
    peak = PeakMemory()
    jax.block_until_ready(action())
    return peak.bytes()


def _settled_rss() -> int:
    """Resident bytes once earlier garbage is gone.

    XLA frees some buffers a little later, and malloc keeps what is freed: a copy that fits into
    such memory would not show.
    """
    gc.collect()
    now = _status("VmRSS")
    for _ in range(20):
        time.sleep(0.03)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        before, now = now, _status("VmRSS")
        if abs(now - before) <= _RSS_NOISE:
            break
    return now


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    msg = f"/proc/self/status has no {name}"
    raise OSError(msg)
