"""equinox: measured with 0.11.10 to 0.13.8, the newest that each JAX takes (0.4.30 to 0.12.0.1).

The models of what its modules make were executed with 0.13.8, on JAX 0.6.2 and 0.10.2.
"""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

_TRANSFORM = """
filter_checkpoint filter_grad filter_hessian filter_jacfwd filter_jacrev filter_jit filter_vmap
"""

LAYERS = tuple(
    """
    Conv Conv1d Conv2d Conv3d ConvTranspose ConvTranspose1d ConvTranspose2d ConvTranspose3d
    Embedding GRUCell GroupNorm LSTMCell LayerNorm Linear MLP MultiheadAttention RMSNorm
    """.split()
)
"""Modules of `equinox.nn`, whose parameters are arrays."""

LIBRARY = Library(
    rows=[
        *rows("equinox", _TRANSFORM, Effect.TRANSFORM),
        *rows("equinox", "filter_value_and_grad", Effect.TRANSFORM, gives=Gives.ARRAYS),
        *rows("equinox", "apply_updates", Effect.COMPUTE, gives=Gives.ARRAYS),
        *rows("equinox", "combine filter partition tree_at", Effect.REGROUP, gives=Gives.ARRAYS),
        *rows("equinox", "filter_eval_shape", Effect.PLAIN),
        *rows("equinox", "tree_serialise_leaves", Effect.HOST),
        *rows("equinox", "tree_deserialise_leaves", Effect.LOAD, gives=Gives.ARRAYS),
        *rows("equinox.nn", "Linear", Effect.INITIALISE, gives=Gives.ARRAYS),
    ],
    classes={"equinox.Module": frozenset({"__call__"})},
    # As of 0.13.8: all fields of its layers that are arrays.
    array_attributes={
        "equinox.Module": dict.fromkeys(("bias", "bias_n", "weight", "weight_hh", "weight_ih"), "")
    },
    without_others=frozenset({"equinox.Module"}),
    taking_apart=frozenset({"equinox.filter_shard"}),
)
