"""What a transformed function gives, by what the function gives and is given.

Measured on JAX 0.4.30, 0.6.2 and 0.10.2, with equinox 0.13.8 and flax 0.12.8 on the last.
"""

from __future__ import annotations

import enum


class Structure(enum.Enum):
    """How the structure of what a transformed function gives follows from the function."""

    SAME = enum.auto()
    """As that of what the function gives."""
    MAPPED = enum.auto()
    """The same, each leaf an array: a stack of what the function gives."""
    GRADIENT = enum.auto()
    """As that of the arguments that it is differentiated by. With `has_aux`, a pair of that and
    of what the function gives second."""
    VALUE_AND_GRADIENT = enum.auto()
    """A pair of the value and of that. With `has_aux`, the value is a pair itself."""

    DERIVATIVE = enum.auto()
    """For each array that the function gives a tree like what it is differentiated by."""


STRUCTURES: dict[str, Structure] = {
    **dict.fromkeys(
        ("jax.jit", "jax.checkpoint", "jax.remat", "jax.custom_jvp", "jax.custom_vjp",
         "jax.named_call", "equinox.filter_jit", "equinox.filter_checkpoint", "flax.nnx.jit",
         "flax.nnx.remat"),
        Structure.SAME,
    ),
    **dict.fromkeys(("jax.vmap", "equinox.filter_vmap"), Structure.MAPPED),
    **dict.fromkeys(("jax.grad", "equinox.filter_grad"), Structure.GRADIENT),
    **dict.fromkeys(
        ("jax.value_and_grad", "equinox.filter_value_and_grad"), Structure.VALUE_AND_GRADIENT
    ),
    **dict.fromkeys(
        ("jax.hessian", "jax.jacfwd", "jax.jacobian", "jax.jacrev", "equinox.filter_hessian",
         "equinox.filter_jacfwd", "equinox.filter_jacrev"),
        Structure.DERIVATIVE,
    ),
}  # fmt: skip
"""The transformations of which this is known; of all others, what they give is."""

SEQUENCES = frozenset({
    *(f"jax.numpy.{name}" for name in (
        "array_split", "broadcast_arrays", "divmod", "dsplit", "frexp", "hsplit", "ix_", "meshgrid",
        "modf", "nonzero", "split", "top_k", "unravel_index", "unstack", "vsplit",
    )),
    *(f"jax.lax.{name}" for name in (
        "approx_max_k", "approx_min_k", "rng_bit_generator", "sort_key_val", "split", "top_k",
        "unstack",
    )),
    *(f"jax.scipy.special.{name}" for name in ("fresnel", "sici")),
})  # fmt: skip
"""Operations that give a list or a tuple of arrays, whatever they are asked for."""

SEQUENCES_UNASKED = frozenset({
    *(f"jax.numpy.linalg.{name}" for name in ("eig", "eigh", "qr", "slogdet", "svd")),
    *(f"jax.lax.linalg.{name}" for name in ("eig", "eigh", "lu", "qr", "schur", "svd")),
    *(f"jax.scipy.linalg.{name}" for name in (
        "eigh", "lu", "lu_factor", "polar", "qr", "rsf2csf", "schur", "svd",
    )),
    *(f"jax.numpy.{name}" for name in (
        "histogram", "histogram2d", "minmax", "unique_all", "unique_counts", "unique_inverse",
    )),
})  # fmt: skip
"""Those that may be asked for one array, `svd(x, compute_uv=False)`, and are not where they are
given nothing but arrays."""

NUMPY_SEQUENCES = frozenset(
    name.removeprefix("jax.") for name in SEQUENCES if name.startswith("jax.numpy.")
)
"""NumPy's functions that give a list or a tuple of arrays, as JAX's of the same name do."""
