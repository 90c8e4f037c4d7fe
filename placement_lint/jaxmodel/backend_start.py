"""Which calls start the backend: choose the platform for good, and take the accelerators' memory.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, with the same outcome wherever
the name is there: after the call, `jax._src.xla_bridge.backends_are_initialized()`. All is said of
calls that run: in a function that JAX traces, the backend has started already.
"""

from __future__ import annotations

from placement_lint.jaxmodel.transfer import ROWS, Effect, Gives

_ASKING = """
jax.default_backend jax.device_count jax.device_put jax.devices jax.host_count jax.host_id
jax.host_ids jax.live_arrays jax.local_device_count jax.local_devices jax.make_mesh
jax.print_environment_info jax.process_count jax.process_index jax.process_indices
jax.experimental.mesh_utils.create_device_mesh
jax.experimental.mesh_utils.create_hybrid_device_mesh
jax.experimental.multihost_utils.broadcast_one_to_all
jax.experimental.multihost_utils.process_allgather
jax.experimental.multihost_utils.sync_global_devices
jax.extend.backend.backends jax.extend.backend.get_backend
jax.lib.xla_bridge.default_backend jax.lib.xla_bridge.get_backend
jax.profiler.device_memory_profile jax.profiler.save_device_memory_profile
jax.profiler.start_server jax.profiler.start_trace
jax.debug.callback jax.debug.print jax.dlpack.from_dlpack jax.numpy.from_dlpack
jax.jvp jax.linearize jax.vjp
"""
"""Beside those that make or compute arrays."""

_HARMLESS = """
jax.ShapeDtypeStruct jax.block_until_ready jax.checkpoint jax.checking_leaks
jax.clear_backends jax.clear_caches jax.closure_convert
jax.config.update jax.custom_jvp jax.custom_vjp jax.default_device jax.default_matmul_precision
jax.default_prng_impl jax.device_get jax.disable_jit jax.distributed.initialize
jax.distributed.is_initialized jax.distributed.shutdown jax.dtypes.canonicalize_dtype
jax.effects_barrier jax.enable_x64 jax.ensure_compile_time_eval jax.eval_shape
jax.experimental.disable_x64 jax.experimental.enable_x64
jax.extend.backend.clear_backends jax.make_jaxpr jax.monitoring.record_event
jax.named_call jax.named_scope jax.nn.initializers.constant
jax.nn.initializers.glorot_normal jax.nn.initializers.glorot_uniform
jax.nn.initializers.he_normal jax.nn.initializers.he_uniform jax.nn.initializers.kaiming_normal
jax.nn.initializers.kaiming_uniform jax.nn.initializers.lecun_normal
jax.nn.initializers.lecun_uniform jax.nn.initializers.normal jax.nn.initializers.orthogonal
jax.nn.initializers.truncated_normal jax.nn.initializers.uniform
jax.nn.initializers.variance_scaling jax.nn.initializers.xavier_normal
jax.nn.initializers.xavier_uniform jax.numpy.dtype jax.numpy.finfo
jax.numpy.get_printoptions jax.numpy.iinfo jax.numpy.isdtype jax.numpy.issubdtype
jax.numpy.ndim jax.numpy.result_type jax.numpy.set_printoptions jax.numpy.shape jax.pmap
jax.profiler.annotate_function jax.sharding.AbstractMesh jax.sharding.PartitionSpec
jax.transfer_guard jax.transfer_guard_device_to_device jax.transfer_guard_device_to_host
jax.transfer_guard_host_to_device jax.tree_util.Partial jax.tree_util.register_dataclass
jax.tree_util.register_pytree_node jax.tree_util.register_pytree_node_class
jax.tree_util.register_pytree_with_keys jax.typeof
"""
"""Besides those that only read shapes, or only make a function."""

_STARTING = frozenset({
    Effect.CREATE, Effect.COMPUTE, Effect.COPY, Effect.CONVERT, Effect.KEY, Effect.SAMPLE,
    Effect.LOAD,
})  # fmt: skip
_IDLE = frozenset({Effect.PLAIN, Effect.TRANSFORM})
_TAKES_JAX_VALUES = frozenset(
    {"jax.dlpack.to_dlpack", "jax.random.key_dtype", "jax.random.key_impl"}
)
"""Their arguments cannot be made without a backend."""

_CALLS = [
    row
    for row in ROWS
    if row.name.startswith(("jax.", "safetensors.flax."))
    and not row.name.startswith(("jax.Array.", "jax.jit.", "jax.grad.", "jax.hessian."))
    and row.name not in _TAKES_JAX_VALUES
]

STARTS_BACKEND: frozenset[str] = frozenset(_ASKING.split()) | {
    row.name
    for row in _CALLS
    if row.effect in _STARTING and row.gives is not Gives.NOTHING and not row.keeps_numpy
}
"""Functions of which every call starts the backend: their qualified names."""

DOES_NOT_START_BACKEND: frozenset[str] = (
    frozenset(_HARMLESS.split()) | {row.name for row in _CALLS if row.effect in _IDLE}
) - STARTS_BACKEND
"""Functions of which no call does so, whatever the functions do that they make or are given. What
is in neither set is not known."""

ENTERING_STARTS_BACKEND: frozenset[str] = frozenset({"jax.profiler.trace"})
"""Context managers: calling one does nothing, entering it starts the backend."""

JITTED_METHODS_THAT_START: frozenset[str] = frozenset({"__call__", "lower"})
"""What starts the backend of a function that jax.jit gave; `trace` and `eval_shape` do not."""


def starts_backend(name: str) -> bool | None:
    """Return whether calling a function starts the backend; None where that is not known."""
    if name in STARTS_BACKEND:
        return True
    return False if name in DOES_NOT_START_BACKEND else None
