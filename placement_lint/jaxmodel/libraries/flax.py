"""flax: measured with 0.8.5 to 0.12.12, the newest that each JAX takes (0.4.30 to 0.12.0.1).

The models of what its modules make were executed with 0.11.2 and 0.12.8.
"""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

_ACTIVATIONS = """
celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax
logsumexp one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish tanh
"""

LINEN_LAYERS = tuple(
    """
    BatchNorm Bidirectional ConvLocal ConvTranspose Conv Dense DenseGeneral
    Dropout Einsum Embed GRUCell GroupNorm InstanceNorm LSTMCell LayerNorm MGUCell
    MultiHeadAttention MultiHeadDotProductAttention OptimizedLSTMCell PReLU RMSNorm RNN
    SelfAttention Sequential SimpleCell SpectralNorm WeightNorm
    """.split()
)
"""Classes of Linen that are modules."""

NNX_LAYERS = tuple(
    """
    BatchNorm Conv ConvTranspose Dropout Einsum Embed GRUCell GroupNorm InstanceNorm LSTMCell
    LayerNorm Linear LinearGeneral LoRALinear MultiHeadAttention OptimizedLSTMCell RMSNorm
    SimpleCell
    """.split()
)
"""Modules of nnx."""
NNX_VARIABLES = tuple("BatchStat Cache Intermediate LoRAParam Param Perturbation Variable".split())
VARIABLE = "flax.nnx.Variable"
VARIABLE_VALUES = frozenset({"raw_value", "value"})
"""Attributes of a variable that give the array it holds."""

FREEZING = (
    "flax.core.FrozenDict", "flax.core.freeze", "flax.core.frozen_dict.FrozenDict",
    "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze", "flax.core.unfreeze",
)  # fmt: skip
"""What gives a tree of the same arrays as one of dicts that can be changed, or cannot."""

FLATTENING = ("flax.traverse_util.flatten_dict", "flax.traverse_util.unflatten_dict")

LIBRARY = Library(
    rows=[
        *rows("flax.linen", _ACTIVATIONS, Effect.COMPUTE),
        *rows("flax.linen.Module", "init", Effect.INITIALISE, gives=Gives.ARRAYS),
        *rows("flax.linen.Module", "apply", Effect.COMPUTE),
        *rows("flax.nnx", _ACTIVATIONS, Effect.COMPUTE),
        *rows("flax.nnx", "grad jit remat vmap", Effect.TRANSFORM),
        *rows("flax.nnx", "value_and_grad", Effect.TRANSFORM, gives=Gives.ARRAYS),
        *rows("flax.nnx", "Linear", Effect.INITIALISE, gives=Gives.ARRAYS),
        *rows("flax.nnx", "state split", Effect.REGROUP, gives=Gives.ARRAYS),
        *rows("flax.core", "freeze unfreeze", Effect.REGROUP, gives=Gives.ARRAYS),
        *rows(
            "flax.traverse_util", "flatten_dict unflatten_dict", Effect.REGROUP, gives=Gives.ARRAYS
        ),
        *rows(
            "flax.serialization",
            "from_state_dict to_state_dict",
            Effect.REGROUP,
            gives=Gives.ARRAYS,
        ),
        *rows(
            "flax.serialization",
            "from_bytes msgpack_restore msgpack_serialize to_bytes",
            Effect.HOST,
        ),
    ],
    classes={
        "flax.linen.Module": frozenset(
            {"__call__", "apply", "bind", "init", "init_with_output", "lazy_init"}
        ),
        "flax.nnx.Module": frozenset({"__call__", "eval", "set_attributes", "train"}),
        "flax.nnx.Optimizer": frozenset({"update"}),
        "flax.nnx.Rngs": frozenset({"__call__"}),
        "flax.nnx.State": frozenset({"flat_state", "to_pure_dict"}),
        VARIABLE: frozenset({"get_raw_value", "get_value"}),
        "flax.training.train_state.TrainState": frozenset({"apply_gradients", "create", "replace"}),
    },
    aliases={
        "flax.linen.module.Module": "flax.linen.Module",
        **{f"flax.nnx.{name}": VARIABLE for name in NNX_VARIABLES},
    },
    array_attributes={
        "flax.nnx.Module": {"bias": VARIABLE, "kernel": VARIABLE},
        "flax.nnx.State": dict.fromkeys(VARIABLE_VALUES, ""),
    },
    taking_apart=frozenset({"flax.jax_utils.replicate"}),
)
