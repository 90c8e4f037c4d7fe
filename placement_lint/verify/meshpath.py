"""The mesh path: one training step on eight devices, three ways to place what it is given.

Written to be read and copied. A step is given parameters and a batch:

    mesh = Mesh(np.array(jax.devices()), ("data",))
    params = jax.device_put(params, NamedSharding(mesh, P()))      # on every device, once
    for batch in batches:
        batch = jax.device_put(batch, NamedSharding(mesh, P("data")))
        loss = step(params, batch)

* `unsharded`     neither is put anywhere: one device has all of it, and does all the work.
* `half-sharded`  only the batch is split: each call copies all parameters to all devices first.
* `sharded`       as above: nothing is copied but the batch.

Times are in seconds, sizes in bytes. Use a fresh process with several devices.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

VOCABULARY, WIDTH, CLASSES = 16_384, 1024, 64
ROWS, LENGTH = 64, 32
_CALLS = 4
"""Calls that are timed, after one that compiles."""

Placed = tuple[Any, Any]
"""The parameters, a tree of arrays, and the batch."""


def _made() -> Placed:
    params = {"table": jnp.ones((VOCABULARY, WIDTH)), "head": jnp.ones((WIDTH, CLASSES))}
    return params, np.zeros((ROWS, LENGTH), np.int32)


def unsharded(mesh: Mesh) -> Placed:  # noqa: ARG001 - one of several ways
    """Put nothing anywhere."""
    params, batch = _made()
    return params, jnp.asarray(batch)


def half_sharded(mesh: Mesh) -> Placed:
    """Split the batch; leave the parameters on the device that they were made on."""
    params, batch = _made()
    return params, jax.device_put(batch, NamedSharding(mesh, P("data")))


def sharded(mesh: Mesh) -> Placed:
    """Split the batch, and give each device the parameters, before the first call."""
    params, batch = _made()
    return (
        jax.device_put(params, NamedSharding(mesh, P())),
        jax.device_put(batch, NamedSharding(mesh, P("data"))),
    )


WAYS: Mapping[str, Callable[[Mesh], Placed]] = {
    "unsharded": unsharded,
    "half-sharded": half_sharded,
    "sharded": sharded,
}


def step(params: Any, batch: Any) -> Any:
    """Train the head of a network of which the rest is frozen: return its new weights."""

    def loss(head: Any) -> Any:
        return jnp.mean(jax.nn.logsumexp(params["table"][batch].mean(1) @ head, axis=-1))

    return params["head"] - 0.1 * jax.grad(loss)(params["head"])


def measure(way: str) -> dict[str, Any]:
    """Call the step on what was placed in one way, and say what it cost.

    Keys: `fastest_call_seconds`; `first_call_seconds`, with what is compiled; `bytes`, of the
    parameters; `copies_parameters`, whether a call copies them from one device to others;
    `bytes_by_device`, of the parameters and the batch that the step is given; `devices_at_work`,
    on how many the new weights are. The guard sees such a copy in the first call only.
    """
    mesh = Mesh(np.array(jax.devices()), ("data",))
    params, batch = WAYS[way](mesh)
    jax.block_until_ready((params, batch))
    compiled = jax.jit(step)
    copies = _is_stopped(lambda: compiled(params, batch))
    started = time.perf_counter()
    head = jax.block_until_ready(compiled(params, batch))
    first = time.perf_counter() - started
    seconds = []
    for _ in range(_CALLS):
        started = time.perf_counter()
        jax.block_until_ready(compiled(params, batch))
        seconds.append(time.perf_counter() - started)
    return {
        "way": way,
        "first_call_seconds": first,
        "fastest_call_seconds": min(seconds),
        "bytes": sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(params)),
        "copies_parameters": copies,
        "bytes_by_device": _bytes_by_device((params, batch)),
        "devices_at_work": len(head.sharding.device_set),
    }


def _is_stopped(call: Callable[[], Any]) -> bool:
    """Return whether the guard stops a call, because it copies between devices unasked."""
    with jax.transfer_guard_device_to_device("disallow"):
        try:
            jax.block_until_ready(call())
        except Exception as error:
            if "isallowed" not in str(error):
                raise
            return True
    return False


def _bytes_by_device(tree: Any) -> list[int]:
    """Return how much of a tree each device has."""
    held = dict.fromkeys(jax.devices(), 0)
    for leaf in jax.tree_util.tree_leaves(tree):
        for shard in leaf.addressable_shards:
            held[shard.device] += shard.data.nbytes
    return list(held.values())
