"""What the functions of other packages do with arrays.

Measured with safetensors 0.8, optax 0.2.5 and 0.2.8, and, from JAX 0.4.30 to 0.12.0.1, flax 0.8.5
to 0.12.12, orbax-checkpoint 0.6.4 to 0.12.8 and equinox 0.11.10 to 0.13.8: the newest that each JAX
takes.
"""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, rows

_ACTIVATIONS = """
celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax
logsumexp one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish tanh
"""
_LOSSES = """
cosine_distance cosine_similarity hinge_loss huber_loss kl_divergence l2_loss log_cosh
sigmoid_binary_cross_entropy smooth_labels softmax_cross_entropy
softmax_cross_entropy_with_integer_labels squared_error
"""
_EQUINOX_TRANSFORM = """
filter_checkpoint filter_grad filter_hessian filter_jacfwd filter_jacrev filter_jit filter_vmap
"""

_SAFETENSORS = [
    *rows("safetensors.flax", "load load_file", Effect.LOAD, gives=Gives.ARRAYS),
    *rows("safetensors.flax", "save save_file", Effect.HOST),
    *rows("safetensors.numpy", "load load_file", Effect.HOST),
]
_FLAX = [
    *rows("flax.linen", _ACTIVATIONS, Effect.COMPUTE),
    *rows("flax.linen.Module", "init", Effect.INITIALISE, gives=Gives.ARRAYS),
    *rows("flax.linen.Module", "apply", Effect.COMPUTE),
    *rows("flax.nnx", _ACTIVATIONS, Effect.COMPUTE),
    *rows("flax.nnx", "grad jit remat vmap", Effect.TRANSFORM),
    *rows("flax.nnx", "value_and_grad", Effect.TRANSFORM, gives=Gives.ARRAYS),
    *rows("flax.nnx", "Linear", Effect.INITIALISE, gives=Gives.ARRAYS),
    *rows("flax.nnx", "state split", Effect.REGROUP, gives=Gives.ARRAYS),
    *rows("flax.core", "freeze unfreeze", Effect.REGROUP, gives=Gives.ARRAYS),
    *rows("flax.traverse_util", "flatten_dict unflatten_dict", Effect.REGROUP, gives=Gives.ARRAYS),
    *rows(
        "flax.serialization", "from_state_dict to_state_dict", Effect.REGROUP, gives=Gives.ARRAYS
    ),
    *rows(
        "flax.serialization", "from_bytes msgpack_restore msgpack_serialize to_bytes", Effect.HOST
    ),
]
_OPTAX = [
    *rows("optax", _LOSSES, Effect.COMPUTE),
    *rows("optax", "global_norm", Effect.COMPUTE),
    *rows("optax", "apply_updates incremental_update", Effect.COMPUTE, gives=Gives.ARRAYS),
]
_OPTAX_METHODS = [
    *rows("optax.GradientTransformation", "init", Effect.STATE, gives=Gives.ARRAYS),
    *rows("optax.GradientTransformation", "update", Effect.COMPUTE, gives=Gives.ARRAYS, loses=True),
]
_EQUINOX = [
    *rows("equinox", _EQUINOX_TRANSFORM, Effect.TRANSFORM),
    *rows("equinox", "filter_value_and_grad", Effect.TRANSFORM, gives=Gives.ARRAYS),
    *rows("equinox", "apply_updates", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("equinox", "combine filter partition tree_at", Effect.REGROUP, gives=Gives.ARRAYS),
    *rows("equinox", "filter_eval_shape", Effect.PLAIN),
    *rows("equinox", "tree_serialise_leaves", Effect.HOST),
    *rows("equinox", "tree_deserialise_leaves", Effect.LOAD, gives=Gives.ARRAYS),
    *rows("equinox.nn", "Linear", Effect.INITIALISE, gives=Gives.ARRAYS),
]
_ORBAX_METHODS = [
    *rows("orbax.checkpoint.PyTreeCheckpointer", "restore", Effect.RESTORE, gives=Gives.ARRAYS),
    *rows("orbax.checkpoint.PyTreeCheckpointer", "save", Effect.HOST),
    *rows("orbax.checkpoint.StandardCheckpointer", "restore", Effect.RESTORE, gives=Gives.ARRAYS),
]

ROWS = [*_SAFETENSORS, *_FLAX, *_OPTAX, *_EQUINOX]
METHOD_ROWS = [
    *rows("safetensors.safe_open", "get_tensor get_slice", Effect.LOAD),
    *rows("safetensors.safe_open", "get_tensors", Effect.LOAD, gives=Gives.ARRAYS),
    *rows("safetensors.safe_open", "keys metadata offset_keys", Effect.HOST),
    *_OPTAX_METHODS,
    *_ORBAX_METHODS,
]
"""Methods of these packages' objects."""

_WITH_MOMENTS = """
adabelief adagrad adam adamax adamaxw adamw amsgrad lamb lion nadam nadamw novograd radam rmsprop
scale_by_adam trace yogi
"""
OPTIMIZERS_WITH_MOMENTS = frozenset(f"optax.{name}" for name in _WITH_MOMENTS.split())
"""Functions whose `init` makes zeros of the shapes of all parameters (read in optax 0.2.8)."""
