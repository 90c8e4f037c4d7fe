"""The data path: a token file, four ways of loading it, and what an item then costs.

Written to be read and copied. The accelerator trains; the dataset does not fit on it, so it must
stay on the host and only the items travel. Of the four ways people load it, one does that:

* `as-is`      load_file(path): all of it goes to the accelerator.
* `assigned`   after `jax.default_device = host`: the assignment does nothing, so the same.
* `in-block`   in `with jax.default_device(host)`: on the host, but uncommitted, so each item
               copies all of it to the accelerator first.
* `committed`  the same with `jax.device_put(tokens, host)`: on the host, and it stays there.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.flax import load_file

from placement_lint.verify.instruments import is_committed, peak_rss

CONTEXT = 1024
_CHUNK = 32 * 2**20
_ITEM_BYTES = 2 * CONTEXT
_MOST_ITEMS = 24
_FEWEST_ITEMS = 5
_LONG_ENOUGH = 6.0  # seconds
# malloc keeps freed blocks of up to 32 MB (glibc), and a copy into one does not show in the RSS.
_RSS_SEES_FROM = 64 * 2**20


def write_tokens(path: str | os.PathLike[str], size: int) -> int:
    """Write a safetensors file with one uint16 tensor `tokens` of about size bytes.

    Returns how many items (rows of CONTEXT tokens) it has. Never holds more than a chunk.
    """
    items = max(2, size // _ITEM_BYTES)
    length = items * _ITEM_BYTES
    tensor = {"dtype": "U16", "shape": [items, CONTEXT], "data_offsets": [0, length]}
    header = json.dumps({"tokens": tensor}).encode()
    # safetensors aligns the data by padding the header with spaces.
    header += b" " * (-len(header) % 8)
    random = np.random.default_rng(0)
    with Path(path).open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.writelines(
            random.bytes(min(_CHUNK, length - start)) for start in range(0, length, _CHUNK)
        )
    return items


def load_as_is(path: str | os.PathLike[str], host: Any) -> Any:
    """Load all of it to the default device, the accelerator."""
    # placement-lint: ignore[JDP401] this is the hazard that is measured
    return load_file(path)["tokens"]


def load_assigned(path: str | os.PathLike[str], host: Any) -> Any:
    """Assign, which replaces the context manager and places nothing."""
    # placement-lint: ignore[JDP101] this is the hazard that is measured
    jax.default_device = host
    # placement-lint: ignore[JDP401] this is the hazard that is measured
    return load_file(path)["tokens"]


def load_in_block(path: str | os.PathLike[str], host: Any) -> Any:
    """Load to the host but uncommitted: the next computation outside the block copies it."""
    with jax.default_device(host):
        return load_file(path)["tokens"]


def load_committed(path: str | os.PathLike[str], host: Any) -> Any:
    """Load to the host to stay: committing an array where it already is copies nothing."""
    with jax.default_device(host):
        return jax.device_put(load_file(path)["tokens"], host)


WAYS: Mapping[str, Callable[[str | os.PathLike[str], Any], Any]] = {
    "as-is": load_as_is,
    "assigned": load_assigned,
    "in-block": load_in_block,
    "committed": load_committed,
}


def items_on(accelerator: Any, tokens: Any) -> Iterator[Any]:
    """Give each item of the dataset, put on the accelerator: what a training loop iterates."""
    for index in range(len(tokens)):
        yield jax.device_put(tokens[index], accelerator)


def measure(way: str, path: str | os.PathLike[str], accelerator: Any, host: Any) -> dict[str, Any]:
    """Load the file in one way, iterate items, and return what it cost. Use a fresh process.

    Seconds for loading, for the first item and for an item (median); the bytes that fetching one
    item moves; the bytes that the dataset takes on the accelerator; where the dataset is.
    """
    started = time.perf_counter()
    tokens = jax.block_until_ready(WAYS[way](path, host))
    load_seconds = time.perf_counter() - started

    items = items_on(accelerator, tokens)

    def next_item() -> float:
        begun = time.perf_counter()
        item = jax.block_until_ready(next(items))
        seconds = time.perf_counter() - begun
        if item.devices() != {accelerator}:
            msg = f"an item is on {item.devices()}, not on the accelerator"
            raise RuntimeError(msg)
        return seconds

    memory_before = _memory(accelerator)
    first_seconds = next_item()
    memory_after = _memory(accelerator)
    if memory_before is None or memory_after is None:
        moved = peak_rss(next_item) if tokens.nbytes >= _RSS_SEES_FROM else None
    else:
        moved = max(0, memory_after["peak_bytes_in_use"] - memory_before["bytes_in_use"])

    times: list[float] = []
    most = min(_MOST_ITEMS, len(tokens) - 2)
    while len(times) < most and (len(times) < _FEWEST_ITEMS or sum(times) < _LONG_ENOUGH):
        times.append(next_item())
    on_accelerator = tokens.devices() == {accelerator}
    return {
        "way": way,
        "on": "accelerator" if on_accelerator else "host",
        "committed": is_committed(tokens),
        "bytes": int(tokens.nbytes),
        "bytes_on_accelerator": int(tokens.nbytes) if on_accelerator else 0,
        "bytes_moved_by_an_item": moved,
        "load_seconds": load_seconds,
        "first_item_seconds": first_seconds,
        "item_seconds": statistics.median(times),
        "items_timed": len(times),
    }


def _memory(accelerator: Any) -> dict[str, int] | None:
    """Give the accelerator's memory statistics; CPU devices have none."""
    statistics_of: dict[str, int] | None = accelerator.memory_stats()
    return statistics_of or None
