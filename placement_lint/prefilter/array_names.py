"""The names by which code makes arrays: apart, for the table that has them takes time to import."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.libraries.safetensors import OPENERS
from placement_lint.jaxmodel.transfer import ROWS
from placement_lint.prefilter.conditions import Uses

_LEAVING_AS_IT_IS = frozenset({
    Effect.HOST, Effect.IDENTITY, Effect.ITERATE, Effect.PLAIN, Effect.REDUCE, Effect.REGROUP,
    Effect.TREE_MAP, Effect.TREE_MAP_WITH_PATH,
})  # fmt: skip

MAKES_ARRAYS = Uses(
    "equinox.tree_deserialise_leaves",
    "jax.Array",
    "jax.numpy.ndarray",
    "optax.*",
    "pickle.loads",
    *OPENERS,
    # NumPy's functions compute on the device only what is an array of JAX already.
    *sorted(
        row.name
        for row in ROWS
        if row.effect not in _LEAVING_AS_IT_IS and not row.name.startswith("numpy.")
    ),
)
"""Code by which anything can be known to be an array: what is not interpreted makes none."""
