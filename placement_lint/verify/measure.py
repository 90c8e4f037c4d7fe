"""What the data path costs: time, copies and memory, for one way of loading. Use a fresh process.

Each number is taken where it can be seen. Copies between virtual devices: the transfer guard
names the array that it stops. Memory of a real accelerator: its own statistics. Memory of the
process: the peak of its resident set, where `/proc` knows it.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from placement_lint.verify.datapath import BATCH, BATCH_BYTES, CONTEXT, WAYS, items_of
from placement_lint.verify.instruments import (
    PeakMemory,
    bytes_copied_by,
    bytes_of_arrays_on,
    is_committed,
    peak_rss,
)

_MOST_ITEMS = 24
_FEWEST_ITEMS = 5
_LONG_ENOUGH = 6.0  # seconds
# malloc keeps freed blocks of up to 32 MB (glibc), and a copy into one does not show in the RSS.
_RSS_SEES_FROM = 64 * 2**20


class NotOnAcceleratorError(RuntimeError):
    """A batch that is not where it should be: nothing that was measured would count."""


def measure(way: str, path: str | os.PathLike[str], accelerator: Any, host: Any) -> dict[str, Any]:
    """Load the file in one way, put batches on the accelerator, and say what it cost.

    Keys, with units: `load_seconds`; `first_item_seconds`, with whatever has to be compiled;
    `item_seconds`, the median of `items_timed` batches; `fastest_item_seconds`, which a busy
    machine disturbs least; `tokens_per_second` over them all;
    `bytes`, of the dataset; `bytes_moved_by_an_item`, beside the batch itself;
    `bytes_on_accelerator`, of the dataset; `peak_bytes_on_accelerator`; `peak_bytes_of_process`,
    which on virtual devices includes the accelerator's. What cannot be known here is None.
    `on` and `committed` say where the dataset is.
    """
    process, statistics_before = PeakMemory(), _statistics(accelerator)
    started = time.perf_counter()
    tokens = WAYS[way](path, host)
    jax.block_until_ready(tokens)
    load_seconds = time.perf_counter() - started

    first_seconds, _ = _timed(items_of(way, tokens, accelerator), accelerator)
    resident = bytes_of_arrays_on(accelerator) if tokens_on(tokens) == {accelerator} else 0
    peak_of_process = process.bytes()
    # Before the memory is filled up, which raises the peak.
    peak_on_accelerator = _peak_since(statistics_before, accelerator)
    moved, peak_of_item = _moved(way, tokens, accelerator, host)
    if peak_on_accelerator is None and moved is not None:
        # A simulated accelerator keeps no account: what is known to be there at a time.
        peak_on_accelerator = resident + moved + _batches(way)

    items = items_of(way, tokens, accelerator)
    # What the guard made JAX forget must not be timed: it is compiled again now.
    _timed(items, accelerator)
    times: list[float] = []
    most = min(_MOST_ITEMS, len(tokens) // BATCH - 1)
    while len(times) < most and (len(times) < _FEWEST_ITEMS or sum(times) < _LONG_ENOUGH):
        times.append(_timed(items, accelerator)[0])
    return {
        "way": way,
        "on": "accelerator" if resident else "host",
        "committed": is_committed(tokens) if isinstance(tokens, jax.Array) else None,
        "bytes": int(tokens.nbytes),
        "load_seconds": load_seconds,
        "first_item_seconds": first_seconds,
        "item_seconds": statistics.median(times),
        "fastest_item_seconds": min(times),
        "items_timed": len(times),
        "tokens_per_second": len(times) * BATCH * CONTEXT / sum(times),
        "bytes_moved_by_an_item": moved,
        "peak_bytes_of_process_by_an_item": peak_of_item,
        "bytes_on_accelerator": resident,
        "peak_bytes_on_accelerator": peak_on_accelerator,
        "peak_bytes_of_process": peak_of_process,
    }


def tokens_on(tokens: Any) -> set[Any]:
    """Devices that a dataset is on: none for a NumPy array."""
    return set(tokens.devices()) if isinstance(tokens, jax.Array) else set()


def _timed(items: Iterator[Any], accelerator: Any) -> tuple[float, Any]:
    """Seconds until the next batch is on the accelerator, and the batch."""
    started = time.perf_counter()
    item = jax.block_until_ready(next(items))
    seconds = time.perf_counter() - started
    if item.devices() != {accelerator} or item.shape != (BATCH, CONTEXT):
        msg = f"a batch is {item.shape} on {item.devices()}, not on the accelerator"
        raise NotOnAcceleratorError(msg)
    return seconds, item


def _moved(way: str, tokens: Any, accelerator: Any, host: Any) -> tuple[int | None, int | None]:
    """Bytes that a batch moves beside itself, and by how many the process then grows at most."""

    def one() -> Any:
        return next(items_of(way, tokens, accelerator))

    moved = _moved_by_statistics(way, one, accelerator)
    if moved is not None:
        return moved, None
    moved = bytes_copied_by(one, host)
    grown = peak_rss(one) if tokens.nbytes >= _RSS_SEES_FROM else None
    return moved, grown


def _moved_by_statistics(way: str, one: Callable[[], Any], accelerator: Any) -> int | None:
    """Return the bytes that `one` takes beside its batches; None where no account is kept.

    The account has the most bytes ever in use, and cannot be set back: what loading took at its
    peak would hide what a batch takes. So the memory is filled up to that mark first.
    """
    before = _statistics(accelerator)
    if before is None:
        return None
    filling = _fill(accelerator, before["peak_bytes_in_use"] - before["bytes_in_use"])
    filled = _statistics(accelerator) or before
    jax.block_until_ready(one())
    after = _statistics(accelerator) or filled
    del filling
    mark = max(filled["bytes_in_use"], before["peak_bytes_in_use"])
    return max(0, after["peak_bytes_in_use"] - mark - _batches(way))


def _fill(accelerator: Any, size: int) -> Any:
    """Return an array that takes so many bytes there, rounded up as JAX's allocator does."""
    return jax.block_until_ready(jax.device_put(np.zeros(size, np.uint8), accelerator))


def _batches(way: str) -> int:
    """Return the bytes of the batches that are on the accelerator at a time."""
    return BATCH_BYTES * (2 if way == "mapped" else 1)


def _peak_since(before: dict[str, int] | None, accelerator: Any) -> int | None:
    """Return the most bytes in use at a time since then; None where no account is kept."""
    after = _statistics(accelerator)
    if before is None or after is None:
        return None
    return max(0, after["peak_bytes_in_use"] - before["bytes_in_use"])


def _statistics(accelerator: Any) -> dict[str, int] | None:
    """Return the accelerator's memory statistics; CPU devices have none."""
    found: dict[str, int] | None = accelerator.memory_stats()
    return found or None
