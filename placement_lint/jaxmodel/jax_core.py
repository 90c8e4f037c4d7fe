"""What the functions of jax itself do, of its trees, and of the arguments of jit."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, rows

_TRANSFORM = """
checkpoint grad hessian jacfwd jacobian jacrev jit remat vmap
"""
_COMMIT = """
device_put_replicated<=0.7.2 device_put_sharded<=0.7.2 make_array_from_callback
make_array_from_process_local_data make_array_from_single_device_arrays
"""
_PLAIN = """
clear_caches default_backend device_count effects_barrier eval_shape host_count host_id host_ids
live_arrays local_device_count make_jaxpr process_count process_index process_indices>=0.5.3
print_environment_info typeof>=0.5.3 ShapeDtypeStruct
"""

_PUT = (
    "without a device an array comes back as it is, all else goes to the default device, "
    "uncommitted: jax/_src/dispatch.py:570 and :591 of 0.12"
)
_CONSTANT = "measured: it needs no data of the argument, so it does not follow it"

ROWS = [
    *rows("jax", _TRANSFORM, Effect.TRANSFORM),
    *rows("jax", "value_and_grad", Effect.TRANSFORM, gives=Gives.ARRAYS),
    *rows(
        "jax",
        "custom_gradient custom_jvp custom_vjp named_call",
        Effect.TRANSFORM,
        keeps_numpy=True,
    ),
    *rows("jax", "jvp vjp linearize linear_transpose", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax", "pure_callback", Effect.COMPUTE),
    *rows("jax.experimental", "io_callback", Effect.COMPUTE),
    *rows("jax.debug", "print callback", Effect.PLAIN),
    *rows("jax", "device_put", Effect.COMMIT, source=_PUT),
    *rows("jax", _COMMIT, Effect.COMMIT),
    *rows("jax", "device_get", Effect.HOST),
    *rows("jax", "block_until_ready copy_to_host_async>=0.5.3", Effect.IDENTITY),
    *rows("jax", _PLAIN, Effect.PLAIN),
    *rows("jax", "pmap shard_map>=0.6.2", Effect.DISTRIBUTE),
    *rows("jax.experimental.shard_map", "shard_map", Effect.DISTRIBUTE),
    *rows("jax.experimental.pjit", "pjit", Effect.DISTRIBUTE),
    *rows("jax.dlpack", "from_dlpack", Effect.COMMIT),
    *rows("jax.dlpack", "to_dlpack<=0.6.2 is_supported_dtype>=0.7.2", Effect.PLAIN),
    *rows("jax.flatten_util", "ravel_pytree", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.ad_checkpoint", "checkpoint_name", Effect.IDENTITY),
    *rows("jax.tree", "map", Effect.TREE_MAP, gives=Gives.ARRAYS),
    *rows("jax", "tree_map<=0.5.3", Effect.TREE_MAP, gives=Gives.ARRAYS),
    *rows("jax.tree_util", "tree_map", Effect.TREE_MAP, gives=Gives.ARRAYS),
    *rows("jax.tree", "map_with_path>=0.5.3", Effect.TREE_MAP_WITH_PATH, gives=Gives.ARRAYS),
    *rows("jax.tree_util", "tree_map_with_path", Effect.TREE_MAP_WITH_PATH, gives=Gives.ARRAYS),
    *rows("jax.tree", "reduce reduce_associative>=0.7.2", Effect.REDUCE),
    *rows("jax.tree_util", "tree_reduce tree_reduce_associative>=0.7.2", Effect.REDUCE),
    *rows(
        "jax.tree",
        "broadcast>=0.6.2 flatten flatten_with_path>=0.5.3 leaves leaves_with_path>=0.5.3 "
        "transpose unflatten",
        Effect.REGROUP,
        gives=Gives.ARRAYS,
    ),
    *rows(
        "jax.tree_util",
        "Partial build_tree<=0.6.2 flatten_one_level>=0.10.2 tree_broadcast>=0.6.2 tree_flatten tree_flatten_with_path tree_leaves "
        "tree_leaves_with_path tree_transpose tree_unflatten",
        Effect.REGROUP,
        gives=Gives.ARRAYS,
    ),
    *rows("jax.tree", "structure", Effect.PLAIN),
    *rows(
        "jax.tree_util",
        "all_leaves is_tree_node>=0.10.2 keystr tree_structure treedef_children treedef_is_leaf "
        "treedef_tuple",
        Effect.PLAIN,
    ),
    *rows("jax.tree", "all", Effect.PLAIN),
    *rows("jax.tree_util", "tree_all", Effect.PLAIN),
    *rows("copy", "copy deepcopy", Effect.COMPUTE, keeps_numpy=True),
    *rows("pickle", "loads", Effect.UNPICKLE),
    *rows("pickle", "dumps", Effect.PLAIN),
]

JIT_ARGUMENT_ROWS = [
    *rows("jax.jit", "out_shardings in_shardings device backend", Effect.COMMIT),
    *rows("jax.jit", "donate_argnums static_argnums keep_unused inline", Effect.COMPUTE),
]
"""The arguments of jit: which of them place what the function gives."""

DERIVATIVE_ROWS = [
    *rows("jax.grad", "of_linear<=0.4.30", Effect.COMPUTE),
    *rows("jax.grad", "of_linear>=0.5.3", Effect.COMPUTE, loses=True, source=_CONSTANT),
    *rows("jax.hessian", "of_quadratic<=0.7.2", Effect.COMPUTE),
    *rows("jax.hessian", "of_quadratic>=0.10.2", Effect.COMPUTE, loses=True, source=_CONSTANT),
    *rows("jax.jit", "of_grad_of_linear", Effect.CREATE, source=_CONSTANT),
]
"""Derivatives that are constants."""
