"""Functions of JAX that ask for something, and compute nothing."""

from __future__ import annotations

DEVICE_QUERIES = frozenset({
    "jax.default_backend", "jax.device_count", "jax.devices", "jax.local_device_count",
    "jax.local_devices",
})  # fmt: skip
"""What devices there are, or which backend is the default."""

PROCESS_QUERIES = frozenset({
    "jax.distributed.is_initialized", "jax.host_count", "jax.host_id", "jax.process_count",
    "jax.process_index",
})  # fmt: skip
"""How many processes the program runs in, or which of them this one is."""
