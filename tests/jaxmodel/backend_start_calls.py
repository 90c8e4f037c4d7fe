"""Calls that may start the backend, by the name of what is called.

In an expression `f` is what the name names; the others are as in
`placement_lint/verify/transfers/calls.py`, but every operand is NumPy's, `folder` is empty but for
a few files, and `port` is free.
"""

from __future__ import annotations

_PLAIN = """
jax.clear_backends jax.clear_caches jax.default_backend jax.device_count jax.devices
jax.distributed.is_initialized jax.distributed.shutdown jax.effects_barrier
jax.ensure_compile_time_eval jax.extend.backend.backends jax.extend.backend.clear_backends
jax.extend.backend.get_backend jax.host_count jax.host_id jax.host_ids
jax.lib.xla_bridge.default_backend jax.lib.xla_bridge.get_backend jax.live_arrays
jax.local_device_count jax.local_devices jax.numpy.get_printoptions jax.print_environment_info
jax.process_count jax.process_index jax.process_indices jax.profiler.device_memory_profile
jax.nn.initializers.glorot_normal jax.nn.initializers.glorot_uniform jax.nn.initializers.he_normal
jax.nn.initializers.he_uniform jax.nn.initializers.kaiming_normal
jax.nn.initializers.kaiming_uniform jax.nn.initializers.lecun_normal
jax.nn.initializers.lecun_uniform jax.nn.initializers.normal jax.nn.initializers.orthogonal
jax.nn.initializers.truncated_normal jax.nn.initializers.uniform
jax.nn.initializers.xavier_normal jax.nn.initializers.xavier_uniform
"""
_OF_FUNCTIONS = """
jax.checkpoint jax.custom_gradient jax.custom_jvp jax.custom_vjp jax.grad jax.hessian jax.jacfwd
jax.jacobian jax.jacrev jax.jit jax.named_call jax.numpy.vectorize jax.pmap
jax.profiler.annotate_function jax.remat jax.tree_util.Partial jax.value_and_grad jax.vmap
"""
_OF_ARRAYS = """
jax.block_until_ready jax.device_get jax.experimental.multihost_utils.broadcast_one_to_all
jax.experimental.multihost_utils.process_allgather jax.numpy.ndim jax.numpy.result_type
jax.dlpack.from_dlpack jax.numpy.from_dlpack jax.numpy.shape jax.typeof jax.device_put
jax.numpy.asarray
"""
_OF_OPTIONS = """
jax.default_device jax.default_matmul_precision jax.transfer_guard_device_to_device
jax.transfer_guard_device_to_host jax.transfer_guard_host_to_device
"""
_CLASS = "type('A', (), {})"

CALLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_PLAIN.split(), ("f()",)),
    **dict.fromkeys(_OF_FUNCTIONS.split(), ("f(lambda a: a * 2)",)),
    **dict.fromkeys(_OF_ARRAYS.split(), ("f(x)",)),
    **dict.fromkeys(_OF_OPTIONS.split(), ("f(None)", "f(None).__enter__()")),
    "jax.ShapeDtypeStruct": ("f((3,), 'float32')",),
    "jax.checking_leaks": ("f().__enter__()",),
    "jax.closure_convert": ("f(lambda a: a * 2, v)",),
    "jax.config.update": (
        "f('jax_platforms', 'cpu')", "f('jax_default_device', None)", "f('jax_enable_x64', True)",
        "f('jax_disable_jit', True)", "f('jax_transfer_guard', 'log')",
    ),
    "jax.debug.callback": ("f(lambda: None)",),
    "jax.debug.print": ("f('text')",),
    "jax.default_prng_impl": ("f('rbg')", "f('rbg').__enter__()"),
    "jax.disable_jit": ("f()", "f().__enter__()"),
    "jax.distributed.initialize": ("f(f'localhost:{port}', 1, 0)",),
    "jax.numpy.frompyfunc": ("f(lambda a: a * 2, 1, 1)",),
    "jax.dtypes.canonicalize_dtype": ("f('float64')",),
    "jax.enable_x64": ("f(True)", "f(True).__enter__()"),
    "jax.eval_shape": ("f(lambda a: a * 2, v)",),
    "jax.experimental.disable_x64": ("f()", "f().__enter__()"),
    "jax.experimental.enable_x64": ("f()", "f().__enter__()"),
    "jax.experimental.mesh_utils.create_device_mesh": ("f((1,))",),
    "jax.experimental.mesh_utils.create_hybrid_device_mesh": ("f((1,), (1,))",),
    "jax.experimental.multihost_utils.sync_global_devices": ("f('name')",),
    "jax.jvp": ("f(lambda a: a * 2, (v,), (v,))",),
    "jax.linearize": ("f(lambda a: a * 2, v)",),
    "jax.make_jaxpr": ("f(lambda a: a * 2)(v)",),
    "jax.make_mesh": ("f((1,), ('a',))",),
    "jax.monitoring.record_event": ("f('name')",),
    "jax.named_scope": ("f('name')", "f('name').__enter__()"),
    "jax.nn.initializers.constant": ("f(1.0)",),
    "jax.nn.initializers.variance_scaling": ("f(1.0, 'fan_in', 'normal')",),
    "jax.numpy.dtype": ("f('float32')",),
    "jax.numpy.finfo": ("f('float32')",),
    "jax.numpy.iinfo": ("f('int32')",),
    "jax.numpy.isdtype": ("f(np.dtype('float32'), 'real floating')",),
    "jax.numpy.issubdtype": ("f(np.float32, np.floating)",),
    "jax.numpy.set_printoptions": ("f(precision=3)",),
    "jax.profiler.save_device_memory_profile": ("f(folder / 'profile')",),
    "jax.profiler.start_server": ("f(port)",),
    "jax.profiler.start_trace": ("f(folder / 'trace')",),
    "jax.profiler.trace": ("f(folder / 'trace')", "f(folder / 'trace').__enter__()"),
    "jax.random.PRNGKey": ("f(0)",),
    "jax.random.key": ("f(0)",),
    "jax.sharding.AbstractMesh": ("f((1,), ('a',))",),
    "jax.sharding.PartitionSpec": ("f('a')",),
    "jax.transfer_guard": ("f('log')", "f('log').__enter__()"),
    "jax.tree_util.register_dataclass": (f"f({_CLASS}, [], [])",),
    "jax.tree_util.register_pytree_node": (f"f({_CLASS}, lambda a: ((), None), lambda *a: None)",),
    "jax.tree_util.register_pytree_node_class": (
        "f(type('A', (), {'tree_flatten': lambda self: ((), None), 'tree_unflatten': "
        "classmethod(lambda *a: None)}))",
    ),
    "jax.tree_util.register_pytree_with_keys": (
        f"f({_CLASS}, lambda a: ((), None), lambda *a: None)",
    ),
    "jax.vjp": ("f(lambda a: a * 2, v)",),
}  # fmt: skip
"""Beside the rows of the transfer table."""

OF_JITTED: dict[str, str] = {
    "__call__": "jax.jit(lambda a: a * 2)(v)",
    "lower": "jax.jit(lambda a: a * 2).lower(v)",
    "trace": "jax.jit(lambda a: a * 2).trace(v)",
    "eval_shape": "jax.jit(lambda a: a * 2).eval_shape(v)",
}
"""What is done with a function that jax.jit gave."""
CALLS["jax.jit"] += tuple(OF_JITTED.values())
