"""safetensors: measured with 0.8."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, Library, rows

JAX_FRAMEWORKS = frozenset({"flax", "jax"})
"""What `safe_open` is given as `framework` for arrays of JAX."""

NUMPY_FRAMEWORKS = frozenset({"np", "numpy"})
TORCH_FRAMEWORKS = frozenset({"pt", "pytorch", "torch"})

OPENERS = (
    "safetensors.flax.safe_open", "safetensors.numpy.safe_open", "safetensors.safe_open",
)  # fmt: skip
"""The names of `safe_open`: modules of the package import it, and so do programs from these."""

LIBRARY = Library(
    rows=[
        *rows("safetensors.flax", "load load_file", Effect.LOAD, gives=Gives.ARRAYS),
        *rows("safetensors.flax", "save save_file", Effect.HOST),
        *rows("safetensors.numpy", "load load_file", Effect.HOST),
    ],
    method_rows=[
        *rows("safetensors.safe_open", "get_tensor get_slice", Effect.LOAD),
        *rows("safetensors.safe_open", "get_tensors", Effect.LOAD, gives=Gives.ARRAYS),
        *rows("safetensors.safe_open", "keys metadata offset_keys", Effect.HOST),
    ],
)
