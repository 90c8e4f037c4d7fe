"""The data path: a file of tokens, five ways to load it, and batches on the accelerator.

Written to be read and copied. A training loop runs on the accelerator; its dataset is larger than
the accelerator's memory, so the dataset must stay on the host and only batches travel:

    tokens = map_tokens("train.safetensors")              # the recommended way
    for batch in prefetched(batches(tokens), accelerator):
        params = step(params, batch)              # where they were: on the accelerator

Four ways of loading are what people write. One of them keeps the dataset on the host:

* `as-is`      load_file(path): all of it goes to the accelerator.
* `assigned`   after `jax.default_device = host`: the assignment does nothing, so the same.
* `in-block`   in `with jax.default_device(host)`: on the host, but uncommitted, so each batch
               copies all of it to the accelerator first.
* `committed`  the same with `jax.device_put(tokens, host)`: on the host, and it stays there.

The recommended one, `mapped`, does not even read the file before its tokens are used.

Shapes: a dataset is uint16[rows, CONTEXT]; a batch, here also called an item, is
uint16[BATCH, CONTEXT]. Sizes are in bytes, times in seconds.
"""

import collections
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.flax import load_file

CONTEXT = 1024
"""Tokens in a row."""
BATCH = 8
"""Rows in a batch."""

_CHUNK = 32 * 2**20
_TOKEN_BYTES = 2
_ROW_BYTES = _TOKEN_BYTES * CONTEXT
BATCH_BYTES = BATCH * _ROW_BYTES

# -- the file -----------------------------------------------------------------------------------


def write_tokens(path: str | os.PathLike[str], size: int) -> int:
    """Write a safetensors file with one tensor, `tokens`: random uint16[rows, CONTEXT].

    size: bytes of the tensor, rounded down to whole batches, two at least. Returns the number of
    rows. Never holds more than 32 MiB.
    """
    rows = max(2, size // BATCH_BYTES) * BATCH
    length = rows * _ROW_BYTES
    tensor = {"dtype": "U16", "shape": [rows, CONTEXT], "data_offsets": [0, length]}
    header = json.dumps({"tokens": tensor}).encode()
    # safetensors aligns the data by padding the header with spaces.
    header += b" " * (-len(header) % 8)
    random = np.random.default_rng(0)
    with Path(path).open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.writelines(
            random.bytes(min(_CHUNK, length - start)) for start in range(0, length, _CHUNK)
        )
    return rows


# -- five ways to load it -----------------------------------------------------------------------


def load_as_is(path: str | os.PathLike[str], host: Any) -> Any:
    """Load all of it to the default device, the accelerator: a jax.Array uint16[rows, CONTEXT]."""
    # placement-lint: ignore[JDP401] this is the hazard that is measured
    return load_file(path)["tokens"]


def load_assigned(path: str | os.PathLike[str], host: Any) -> Any:
    """Assign, which replaces the context manager and places nothing: the same as `load_as_is`."""
    # placement-lint: ignore[JDP101] this is the hazard that is measured
    jax.default_device = host
    # placement-lint: ignore[JDP401] this is the hazard that is measured
    return load_file(path)["tokens"]


def load_in_block(path: str | os.PathLike[str], host: Any) -> Any:
    """Load to the host but uncommitted: what is computed outside the block copies it first.

    Returns a jax.Array uint16[rows, CONTEXT].
    """
    with jax.default_device(host):
        return load_file(path)["tokens"]


def load_committed(path: str | os.PathLike[str], host: Any) -> Any:
    """Load to the host to stay: committing an array where it already is copies nothing.

    Returns a jax.Array uint16[rows, CONTEXT]. What is computed with it is computed on the host, and
    so is what is computed with a batch of it, until that is put on the accelerator: see `put_each`.
    """
    with jax.default_device(host):
        return jax.device_put(load_file(path)["tokens"], host)


def map_tokens(path: str | os.PathLike[str], host: Any = None) -> Any:
    """Map the file into memory: a read-only NumPy array uint16[rows, CONTEXT].

    Takes no time and no memory whatever the size: the system reads what is indexed, when it is
    indexed, and drops it again when memory is short. NumPy arrays are on no JAX device, so no
    default device can drag them anywhere. `host` is not needed.
    """
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))["tokens"]
    if tensor["dtype"] != "U16":
        msg = f"the tokens are {tensor['dtype']}, not U16"
        raise ValueError(msg)
    start, _ = tensor["data_offsets"]
    return np.memmap(
        path, dtype="<u2", mode="r", offset=8 + length + start, shape=tuple(tensor["shape"])
    )


WAYS: Mapping[str, Callable[[str | os.PathLike[str], Any], Any]] = {
    "as-is": load_as_is,
    "assigned": load_assigned,
    "in-block": load_in_block,
    "committed": load_committed,
    "mapped": map_tokens,
}

# -- batches, and the accelerator ---------------------------------------------------------------


def batches(tokens: Any, size: int = BATCH) -> Iterator[Any]:
    """Yield one batch after the other: uint16[size, CONTEXT], where indexing tokens puts it.

    tokens: uint16[rows, CONTEXT], of NumPy or JAX. Rows that fill no batch are left out. For an
    epoch in random order index with an array: `tokens[order[start : start + size]]`.
    """
    for start in range(0, len(tokens) - size + 1, size):
        yield tokens[start : start + size]


def put_each(items: Iterable[Any], accelerator: Any) -> Iterator[Any]:
    """Put each batch on the accelerator when it is asked for.

    Without this a batch of a committed dataset is committed to the host, and pulls the training
    step there, with all parameters. accelerator: a device; on a mesh, the sharding of a batch.
    """
    for item in items:
        yield jax.device_put(item, accelerator)


def prefetched(items: Iterable[Any], accelerator: Any, *, ahead: int = 1) -> Iterator[Any]:
    """Put each batch on the accelerator `ahead` batches before it is asked for.

    `jax.device_put` returns at once, so the transfer of the next batch goes on while the
    accelerator computes with this one. Holds `ahead` batches more than `put_each` there.
    """
    source = iter(items)
    waiting = collections.deque(
        jax.device_put(item, accelerator) for item in itertools.islice(source, ahead)
    )
    for item in source:
        waiting.append(jax.device_put(item, accelerator))
        yield waiting.popleft()
    yield from waiting


def items_of(way: str, tokens: Any, accelerator: Any) -> Iterator[Any]:
    """Yield the batches of a dataset that was loaded in one of WAYS, on the accelerator."""
    feed = prefetched if way == "mapped" else put_each
    return feed(batches(tokens), accelerator)
