"""Calls that let a device run a Python function on the host, and what must not run in one.

Measured on 0.5.3, 0.6.2, 0.7.2 and 0.10.2: with 64 steps dispatched, each of a million elements,
everything that runs a computation in the callback stops the program, even `jnp.zeros(3)` and
`jax.random.key(0)`. So does, on 0.10.2, `jnp.asarray` of a NumPy array of as many elements, also
to another type; of three elements, or of a list, it goes through. What hands an array back as it is
(`jnp.asarray` of an array, `jax.device_put`) and what reads it (`np.asarray`, `jax.device_get`,
`np.sin`) goes through. On 0.4.30 and 0.12.0.1 nothing stops in this way.
"""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.transfer import TABLE

HOST_CALLBACKS = frozenset({
    "jax.debug.callback",
    "jax.experimental.io_callback",
    "jax.pure_callback",
})  # fmt: skip
"""The function is their first parameter, `callback`."""

DATA_LOADER = "torch.utils.data.DataLoader"
"""It lets worker processes run what it is given."""

_RUNS = frozenset({Effect.COMPUTE, Effect.COPY, Effect.CREATE, Effect.KEY, Effect.SAMPLE})


_JOINS = frozenset({"jax.numpy.concat", "jax.numpy.concatenate"})
"""They hand a single array back as it is; but nobody joins one array to nothing."""


def runs_on_device(name: str) -> bool:
    """Return whether a call of this qualified name runs a computation, whatever it is given."""
    row = TABLE.get(name)
    if row is None or row.effect not in _RUNS or not name.startswith("jax."):
        return False
    return row.certain or name in _JOINS
