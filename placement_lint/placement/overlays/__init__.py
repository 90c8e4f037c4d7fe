"""Overlays: models of the functions of JAX, of the standard library and of other libraries.

`registry` says how one is written, `dispatch` leads a call to its model. `python -m
tests.new_overlay NAME` begins a new one.

- JAX: `jax_transfer` (the transfer table), `jax_transformations` (such as `jax.jit`),
  `jax_devices`, `jax_sharding`, `jax_control_flow`, `like_creators`, `trees_of_shardings`.
- Python: `builtins` (and NumPy), `stdlib`, `heaps`, `higher_order`, `namespaces`, `records`,
  `copies`, `files`, `context_variables`.
- Other libraries: `equinox`, `flax`, `nnx`, `haiku`, `optax`, `optax_trees`, `torch`,
  `loaders`, `parameters`.
- Methods, of whatever object: `methods`, `tree_methods`; of lists and dicts: `container_methods`;
  of contexts: `context_methods`; of NumPy arrays: `host_arrays`.
"""
