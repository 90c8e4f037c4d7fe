"""The environment variables of JAX: which version reads which, and when.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, in a process for each case. What
JAX looks up in `os.environ` while it is imported was watched. Each variable was set before `import
jax`, between that and the start of the backend, and after it, and the options of `jax.config`, the
number of devices, and what the GPU plugin would receive were examined. The dates are therefore
those of the first of these six that has a variable, and of the first that no longer has it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Read(enum.Enum):
    """When a variable is read; what is set later has no effect."""

    IMPORT = enum.auto()
    """While JAX is imported, once and for all."""
    START = enum.auto()
    """When the backend starts, or when the one is started that stands in for it."""


@dataclass(frozen=True)
class Variable:
    """One variable."""

    name: str
    read: Read
    since: str | None = None
    """The first version that reads it; None: all that were measured."""
    until: str | None = None
    """The first version that no longer does; None: the newest still does."""
    source: str = "measured"
    """How it is known."""


_AT_IMPORT: dict[tuple[str | None, str | None], str] = {
    (None, None): """
        BACKEND_TARGET BCOO_CUSPARSE_LOWERING CHECK_TRACER_LEAKS COMPILATION_CACHE_DIR
        COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY COMPILATION_CACHE_MAX_SIZE
        COMPILER_DETAILED_LOGGING_MIN_OPS DEBUG_INFS DEBUG_KEY_REUSE DEBUG_LOG_MODULES DEBUG_NANS
        DEFAULT_DEVICE DEFAULT_MATMUL_PRECISION DEFAULT_PRNG_IMPL DISABLE_JIT
        DISABLE_MOST_OPTIMIZATIONS DISTRIBUTED_DEBUG DUMP_IR_TO ENABLE_CHECKS
        ENABLE_COMPILATION_CACHE ENABLE_CUSTOM_PRNG ENABLE_PGLE ENABLE_X64
        EXPERIMENTAL_UNSAFE_XLA_RUNTIME_ERRORS EXPLAIN_CACHE_MISSES
        EXPORT_CALLING_CONVENTION_VERSION HLO_SOURCE_FILE_CANONICALIZATION_REGEX
        INCLUDE_DEBUG_INFO_IN_DUMPS INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS LEGACY_PRNG_KEY
        LOG_CHECKPOINT_RESIDUALS LOG_COMPILES NUMPY_DTYPE_PROMOTION NUMPY_RANK_PROMOTION
        PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES
        PGLE_AGGREGATION_PERCENTILE PGLE_PROFILING_RUNS PJRT_CLIENT_CREATE_OPTIONS PLATFORMS
        PLATFORM_NAME PPRINT_USE_COLOR RAISE_PERSISTENT_CACHE_ERRORS RANDOM_SEED_OFFSET
        SERIALIZATION_VERSION SHARE_BINARY_BETWEEN_HOSTS SHARE_BINARY_BETWEEN_HOSTS_TIMEOUT_MS
        SOFTMAX_CUSTOM_JVP THREEFRY_GPU_KERNEL_LOWERING THREEFRY_PARTITIONABLE TRACEBACK_FILTERING
        TRACEBACK_IN_LOCATIONS_LIMIT TRACER_ERROR_NUM_TRACEBACK_FRAMES TRANSFER_GUARD
        TRANSFER_GUARD_DEVICE_TO_DEVICE TRANSFER_GUARD_DEVICE_TO_HOST
        TRANSFER_GUARD_HOST_TO_DEVICE XLA_PROFILE_VERSION
        """,
    (None, "0.5.3"): "ENABLE_MEMORIES SHARE_AUTOTUNE_CONFIG_BETWEEN_HOSTS",
    (None, "0.6.2"): "EAGER_PMAP REMAT_OPT_BARRIER SPMD_MODE",
    (None, "0.10.2"): """
        CUSTOM_VJP_DISABLE_SHAPE_CHECK DEFAULT_DTYPE_BITS DYNAMIC_SHAPES
        ENABLE_CUSTOM_VJP_BY_CUSTOM_TRANSPOSE PMAP_NO_RANK_REDUCTION PMAP_SHMAP_MERGE
        """,
    ("0.5.3", None): """
        ARRAY_GARBAGE_COLLECTION_GUARD COMPILATION_CACHE_EXPECT_PGLE COMPILER_ENABLE_REMAT_PASS
        CPU_COLLECTIVES_IMPLEMENTATION DISABLE_VMAP_SHMAP_ERROR DISALLOW_MESH_CONTEXT_MANAGER
        EXPORT_IGNORE_FORWARD_COMPATIBILITY HIGH_DYNAMIC_RANGE_GUMBEL LOGGING_LEVEL
        MEMORY_FITTING_LEVEL MUTABLE_ARRAY_CHECKS NO_TRACING NUM_CPU_DEVICES OPTIMIZATION_LEVEL
        PERSISTENT_CACHE_ENABLE_XLA_CACHES REMOVE_CUSTOM_PARTITIONING_PTR_FROM_CACHE_KEY
        USE_DIRECT_LINEARIZE USE_MAGMA USE_SHARDY_PARTITIONER
        """,
    ("0.5.3", "0.6.2"): "DATA_DEPENDENT_TRACING_FALLBACK VARYING_AXES_IN_TYPES",
    ("0.5.3", "0.7.2"): "ENABLE_EMPTY_ARRAYS",
    ("0.5.3", "0.12.0.1"): "EXEC_TIME_OPTIMIZATION_EFFORT MEMORY_FITTING_EFFORT",
    ("0.6.2", None): """
        CAPTURED_CONSTANTS_REPORT_FRAMES CAPTURED_CONSTANTS_WARN_BYTES
        ERROR_CHECKING_BEHAVIOR_DIVIDE ERROR_CHECKING_BEHAVIOR_NAN ERROR_CHECKING_BEHAVIOR_OOB
        """,
    ("0.7.2", None): """
        CPU_GET_GLOBAL_TOPOLOGY_TIMEOUT_MINUTES CPU_GET_LOCAL_TOPOLOGY_TIMEOUT_MINUTES DUMP_IR_MODES
        ENABLE_RECOVERABILITY NO_EXECUTION RAGGED_DOT_USE_RAGGED_DOT_INSTRUCTION
        REMOVE_SIZE_ONE_MESH_AXIS_FROM_TYPE USE_SIMPLIFIED_JAXPR_CONSTANTS
        """,
    ("0.7.2", "0.10.2"): "SAFER_RANDINT VJP3",
    ("0.10.2", None): """
        ALLOW_F16_REDUCTIONS AUTO_PCAST CHECK_STATIC_INDICES COMPILATION_CACHE_CHECK_CONTENTS
        CUSTOM_VJP3 DEBUG_LEAKED_CLIENTS_ON_CLEAR_BACKENDS DISABLE_BWD_CHECKS
        EMBEDDED_CONSTANTS_MAX_BYTES ENABLE_PREEMPTION_SERVICE EXPLICIT_X64_DTYPES MOSAIC_ALLOW_HLO
        PALLAS_ENABLE_DEBUG_CHECKS PALLAS_POISON_BUFFERS PALLAS_VERBOSE_ERRORS REMAT3 SCAN3
        SEND_TRACEBACK_TO_RUNTIME SOURCE_URL_SCHEMA THREAD_GUARD USE_EMIT_PIPELINE_PRIMITIVE
        """,
    ("0.10.2", "0.12.0.1"): """
        PALLAS_USE_MOSAIC_GPU RAGGED_DOT_USE_GPU_PALLAS_TRITON_LOWERING REFS_TO_PINS
        """,
    ("0.12.0.1", None): """
        ACCURATE_ERF_INV CUSTOM_JVP3 DISTRIBUTED_VERIFY_SECURE_CREDENTIALS
        EXPORT_DESERIALIZE_EXPIRED_VERSIONS MOSAIC_UNZIP_DEBUG_LOCATIONS MTLS_CA_FILE MTLS_CERT_FILE
        MTLS_KEY_FILE MTLS_PEER_URI_PREFIX PALLAS_AUTO_ASSIGN_COLLECTIVE_IDS
        PALLAS_AUTO_ASSIGN_COLLECTIVE_IDS_LIMIT RAISE_ON_PPERMUTE_SORT_DIFF
        REMAT_BARRIER_NO_COTANGENTS USE_CPP_SHARD_ARGS USE_RGV3
        """,
}

_PLUGIN = (
    "measured: jaxlib's `xla_client.generate_pjrt_gpu_plugin_options` reads it when it is called; "
    "the CUDA plugin calls that in its `initialize`, at the first `backends()`"
)
_AT_START = (
    Variable("XLA_FLAGS", Read.START),
    Variable("XLA_PYTHON_CLIENT_ALLOCATOR", Read.START, source=_PLUGIN),
    Variable("XLA_PYTHON_CLIENT_MEM_FRACTION", Read.START, source=_PLUGIN),
    Variable("XLA_PYTHON_CLIENT_PREALLOCATE", Read.START, source=_PLUGIN),
    Variable("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", Read.START, source=_PLUGIN),
    Variable("XLA_CLIENT_MEM_FRACTION", Read.START, "0.5.3", source=_PLUGIN),
    Variable(
        "CUDA_VISIBLE_DEVICES",
        Read.START,
        source="CUDA C++ Programming Guide, Environment Variables: the driver reads it when it is "
        "initialised for the process, which the start of the backend does",
    ),
)

VARIABLES: dict[str, Variable] = {
    each.name: each
    for each in (
        *(
            Variable(f"JAX_{name}", Read.IMPORT, since, until)
            for (since, until), names in _AT_IMPORT.items()
            for name in names.split()
        ),
        *_AT_START,
    )
}
"""The variables that are read, each once, by name."""

UNREAD_OPTIONS: frozenset[str] = frozenset(
    f"JAX_{name}"
    for name in """
    CHECK_PROXY_ENVS CPU_ENABLE_ASYNC_DISPATCH CROSS_HOST_TRANSFER_SOCKET_ADDRESS
    CROSS_HOST_TRANSPORT_ADDRESSES CUDA_VISIBLE_DEVICES MOCK_GPU_TOPOLOGY ONEAPI_VISIBLE_DEVICES
    ROCM_VISIBLE_DEVICES
    """.split()
)
"""Variables that are not read, by any of the six versions, although there is an option of the name:
these options are flags, which `jax.config.update` sets."""
