"""What happens when a program starts: what imports JAX, what gives its backend up, what is dead.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, where nothing else is said. Which
environment variables are read, and when: `environment.py`.
"""

from __future__ import annotations

IMPORTS_JAX: tuple[str, ...] = (
    "jax", "flax", "optax", "equinox", "haiku", "chex", "safetensors.flax",
)  # fmt: skip
"""Modules that import jax when they are imported: read in their sources."""

RESETTING_CALLS = frozenset({
    "jax.clear_backends", "jax.extend.backend.clear_backends", "jax._src.api.clear_backends",
    "jax._src.xla_bridge._clear_backends", "jax.lib.xla_bridge._clear_backends",
})  # fmt: skip
"""After these what needs the backend next starts it again, and reads its settings again."""

LATE_OPTIONS: dict[str, bool] = {
    "jax_platforms": False,
    "jax_platform_name": False,
    "jax_num_cpu_devices": True,
}
"""Options that mean nothing once the backend has started, and whether setting one of them then
raises RuntimeError; the others are taken and ignored. Measured on the same six versions; the last
one is there from 0.5.1 on."""

PLATFORM_SETTERS = frozenset({"numpyro.set_platform", "numpyro.util.set_platform"})
"""They set `jax_platforms`, or `jax_platform_name` (read in numpyro 0.22)."""

FLAG_SETTERS = frozenset({"numpyro.set_host_device_count", "numpyro.util.set_host_device_count"})
"""They put `--xla_force_host_platform_device_count` into XLA_FLAGS (read in numpyro 0.22)."""

DEAD_VARIABLES: dict[str, str] = {
    f"JAX_TRANSFER_GUARD_{direction}": f"jax_transfer_guard_{direction.lower()}"
    for direction in ("DEVICE_TO_DEVICE", "DEVICE_TO_HOST", "HOST_TO_DEVICE")
}
"""Variables that JAX documents and reads, and overwrites in the same breath with what
`JAX_TRANSFER_GUARD` says (`_update_all_transfer_guard_global` in jax/_src/config.py), and the
options that do what they say. Measured on the same six versions, with and without the other one."""

PLATFORM_NAMES = frozenset({"cpu", "cuda", "gpu", "mps", "oneapi", "proxy", "rocm", "tpu"})
"""What JAX knows platforms by: all in small letters."""

EXPANDED_PLATFORM = "gpu"
"""It means every kind of GPU, each of which must then be there: RuntimeError on every machine
(measured on the same six versions; `expand_platform_alias` in jax/_src/xla_bridge.py)."""

ALLOCATORS = frozenset({"address", "bfc", "cuda_async", "default", "platform", "vmm"})
"""What XLA_PYTHON_CLIENT_ALLOCATOR may be; all else raises ValueError where there is a GPU
(`generate_pjrt_gpu_plugin_options` in jaxlib/xla_client.py of 0.4.30 and 0.12.0.1)."""

NO_PREALLOCATION = frozenset({"", "0", "False", "false"})
"""What turns XLA_PYTHON_CLIENT_PREALLOCATE off, or leaves it alone; all else turns it on, whatever
it says (there too)."""

PREALLOCATION = frozenset({"1", "True", "true", "TRUE", "on", "yes"})
"""What turns it on and is meant to."""
