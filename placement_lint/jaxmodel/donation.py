"""What JAX does with buffers that a call donates: who shares one, who copies, and who reads it.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, on the CPU, which donates since
jaxlib 0.3.24.
"""

from __future__ import annotations

DONATING = frozenset({
    "equinox.filter_jit", "equinox.filter_pmap", "flax.nnx.jit", "flax.nnx.pmap",
    "jax.experimental.pjit.pjit", "jax.jit", "jax.pmap",
})  # fmt: skip
"""What compiles a function that may take the buffers of its arguments."""

WRITING_BACK = frozenset({"flax.nnx.jit", "flax.nnx.pmap"})
"""Those that give the objects which they are given new arrays."""

FILTERING = frozenset({"equinox.filter_jit", "equinox.filter_pmap"})
"""Those that are told what they donate by a word: `donate="all"`."""

EVERY = {"all": 0, "warn": 0, "all-except-first": 1, "warn-except-first": 1}
"""From which argument on such a word donates."""

SHARING = frozenset({
    "equinox.filter",
    "flax.core.freeze", "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze",
    "flax.core.unfreeze", "flax.nnx.state", "flax.serialization.to_state_dict",
    "flax.traverse_util.flatten_dict", "flax.traverse_util.unflatten_dict",
    "jax.block_until_ready", "jax.numpy.asarray", "jax.tree.flatten", "jax.tree.leaves",
    "jax.tree_util.tree_flatten", "jax.tree_util.tree_leaves",
})  # fmt: skip
"""What gives its first argument, or a tree of the same arrays: their buffers are shared."""

FILTERS_OF_ARRAYS = frozenset(
    f"equinox.is_{kind}" for kind in ("array", "array_like", "inexact_array", "inexact_array_like")
)
"""What `equinox.filter` is given to keep the arrays: then it shares them."""

HANDING_ON: dict[str, frozenset[int | str]] = {
    "functools.update_wrapper": frozenset({0, "wrapper"}),
    "typing.assert_type": frozenset({0, "val"}),
    "typing.cast": frozenset({1, "val"}),
    "typing_extensions.assert_type": frozenset({0, "val"}),
    "typing_extensions.cast": frozenset({1, "val"}),
}
"""What gives one of its arguments itself, perhaps a function, with that argument."""

REGROUPING = frozenset({
    "builtins.dict", "builtins.list", "builtins.reversed", "builtins.tuple",
})  # fmt: skip
"""What gives the things in a container in another one, and of an array its rows."""

TREE_MAPS = frozenset({
    "jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "optax.tree.map",
    "optax.tree_utils.tree_map",
})  # fmt: skip

KEEPING = frozenset({"jax.device_put", "jax.numpy.asarray"})
"""What gives an array back as it is, where a tree is mapped by it."""

TRANSPOSED = frozenset({"T", "mT"})
"""Attributes of arrays that are other arrays, with buffers of their own."""

COPYING = frozenset({"copy.deepcopy", "jax.numpy.array", "jax.numpy.copy"})

MAKING_RECORDS = frozenset({"flax.training.train_state.TrainState.create"})
"""Class methods that make an object whose fields are what they are given by keyword."""

STATIC_FIELDS = {"flax.training.train_state.TrainState": frozenset({"apply_fn", "tx"})}
"""Fields of classes of libraries that are no part of the tree."""

WITHOUT_DATA = frozenset({
    "builtins.callable", "builtins.dict", "builtins.enumerate", "builtins.getattr",
    "builtins.hasattr", "builtins.id", "builtins.isinstance", "builtins.iter", "builtins.len",
    "builtins.list", "builtins.reversed", "builtins.set", "builtins.setattr", "builtins.tuple",
    "builtins.type", "builtins.vars", "builtins.zip", "dataclasses.fields", "dataclasses.replace",
    "functools.partial", "gc.collect", "jax.ShapeDtypeStruct",
    "jax.ShapeDtypeStruct.like", "jax.eval_shape",
    "jax.make_jaxpr", "jax.numpy.empty_like", "jax.numpy.full_like", "jax.numpy.isscalar",
    "jax.numpy.issubdtype", "jax.numpy.iscomplexobj", "jax.numpy.ndim", "jax.numpy.ones_like",
    "jax.numpy.promote_types", "jax.numpy.reshape", "jax.numpy.result_type", "jax.numpy.shape",
    "jax.numpy.size", "jax.numpy.zeros_like", "jax.tree.structure", "jax.tree_util.tree_structure",
    "jax.typeof", "numpy.iscomplexobj", "numpy.issubdtype", "numpy.ndim", "numpy.result_type",
    "numpy.shape", "numpy.size", "operator.attrgetter", "weakref.ref",
})  # fmt: skip
"""What takes no more of an array than its shape and type: of a deleted one, too."""

READING = ("jax.lax.", "jax.nn.", "jax.numpy.", "jax.random.", "jax.scipy.", "numpy.", "optax.")
"""Where functions are that read the arrays which they are given."""

READING_FUNCTIONS = frozenset({
    "builtins.abs", "builtins.complex", "builtins.float", "builtins.int", "builtins.print",
    "builtins.repr", "builtins.str", "builtins.sum", "copy.copy", "copy.deepcopy",
    "flax.jax_utils.replicate",
    "flax.jax_utils.unreplicate", "flax.serialization.to_bytes", "jax.block_until_ready",
    "jax.device_get", "jax.device_put", "jax.experimental.multihost_utils.process_allgather",
    "jax.tree.reduce", "jax.tree_util.tree_reduce", "pickle.dump", "pickle.dumps",
})  # fmt: skip

READING_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "block_until_ready", "clip", "conj", "cumprod",
    "cumsum", "dot", "item", "max", "mean", "min", "prod", "ravel", "round", "std", "sum",
    "to_device", "tolist", "trace", "var",
})  # fmt: skip
"""Methods of arrays that raise where the array was deleted."""

UPDATES = frozenset({
    "add", "apply", "divide", "get", "max", "min", "mul", "multiply", "power", "set",
})  # fmt: skip
"""Of `x.at[i]`."""

METADATA = frozenset({
    "aval", "committed", "delete", "dtype", "is_deleted", "is_fully_addressable",
    "is_fully_replicated", "itemsize", "nbytes", "ndim", "shape", "sharding", "size", "weak_type",
})  # fmt: skip
"""Attributes that a deleted array still has."""

ARRAYS = frozenset({
    "arange", "array", "empty", "eye", "full", "full_like", "identity", "linspace", "logspace",
    "ones", "ones_like", "tri", "zeros", "zeros_like",
})  # fmt: skip
"""Functions of `jax.numpy` that surely make an array, as all of `jax.random` that draw one."""
