"""What happens when a program starts: what imports JAX, what gives its backend up, what is read.

The variables were seen to be read: `os.environ` was watched during `import jax` and during the
first `jax.devices()`, on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1.
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
"""After these the backend is started anew by what needs it next, and reads its settings again."""

_READ_AT_IMPORT = """
BACKEND_TARGET CHECK_TRACER_LEAKS COMPILATION_CACHE_DIR CPU_COLLECTIVES_IMPLEMENTATION
DEBUG_INFS DEBUG_NANS DEFAULT_DEVICE DEFAULT_DTYPE_BITS DEFAULT_MATMUL_PRECISION DEFAULT_PRNG_IMPL
DISABLE_JIT DISABLE_MOST_OPTIMIZATIONS ENABLE_CHECKS ENABLE_COMPILATION_CACHE ENABLE_CUSTOM_PRNG
ENABLE_X64 EXPLAIN_CACHE_MISSES LOG_COMPILES LOGGING_LEVEL NUMPY_DTYPE_PROMOTION
NUMPY_RANK_PROMOTION NUM_CPU_DEVICES PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS
PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES PLATFORMS PLATFORM_NAME SPMD_MODE THREEFRY_PARTITIONABLE
TRACEBACK_FILTERING TRANSFER_GUARD TRANSFER_GUARD_DEVICE_TO_DEVICE TRANSFER_GUARD_DEVICE_TO_HOST
TRANSFER_GUARD_HOST_TO_DEVICE TRACEBACK_IN_LOCATIONS_LIMIT PJRT_CLIENT_CREATE_OPTIONS
DEBUG_LOG_MODULES DUMP_IR_TO SOFTMAX_CUSTOM_JVP USE_SHARDY_PARTITIONER DISTRIBUTED_DEBUG
RAISE_PERSISTENT_CACHE_ERRORS PERSISTENT_CACHE_ENABLE_XLA_CACHES COMPILATION_CACHE_MAX_SIZE
"""

READ_AT_IMPORT = frozenset(f"JAX_{name}" for name in _READ_AT_IMPORT.split())
"""Variables that JAX reads while it is imported, and never again. Not all of them: those that
programs set, and that each of the versions reads which has the option."""

READ_AT_START = frozenset({
    "XLA_FLAGS", "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE", "CUDA_VISIBLE_DEVICES",
})  # fmt: skip
"""Variables that are read when the backend starts, and never again (the last one by CUDA, when its
driver is initialised for the process)."""

LATE_OPTIONS: dict[str, bool] = {
    "jax_platforms": False,
    "jax_platform_name": False,
    "jax_num_cpu_devices": True,
}
"""Options that mean nothing once the backend has started, and whether setting one of them then
raises RuntimeError; the others are taken and ignored. Measured on the same six versions; the last
one is there from 0.5.1 on."""

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
"""It stands for every kind of GPU, each of which must then be there: RuntimeError on every machine
(measured on the same six versions; `expand_platform_alias` in jax/_src/xla_bridge.py)."""

ALLOCATORS = frozenset({"address", "bfc", "cuda_async", "default", "platform", "vmm"})
"""What XLA_PYTHON_CLIENT_ALLOCATOR may be; all else raises ValueError where there is a GPU
(`generate_pjrt_gpu_plugin_options` in jaxlib/xla_client.py of 0.4.30 and 0.12.0.1)."""

NO_PREALLOCATION = frozenset({"", "0", "False", "false"})
"""What turns XLA_PYTHON_CLIENT_PREALLOCATE off, or leaves it alone; all else turns it on, whatever
it says (there too)."""

PREALLOCATION = frozenset({"1", "True", "true", "TRUE", "on", "yes"})
"""What turns it on and is meant to."""
