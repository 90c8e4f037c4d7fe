"""Functions that compute with all of their operands."""

from __future__ import annotations

_JNP = """
add append allclose arctan2 array average bernoulli block clip column_stack concatenate convolve
copysign correlate cross digitize divide dot dstack einsum equal float_power floor_divide fmax fmin
fmod gcd greater greater_equal heaviside hstack hypot inner interp intersect1d isclose isin kron lcm
ldexp less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum
mod multiply nextafter not_equal outer polyadd polymul polyval power quantile remainder searchsorted
setdiff1d setxor1d stack subtract take take_along_axis tensordot true_divide union1d vdot vecdot
vstack where linalg.solve
"""
_LAX = """
add atan2 concatenate div dot dot_general dynamic_slice dynamic_update_slice eq gt lt max min mul
pow rem select sub
"""
_RANDOM = "bernoulli categorical choice fold_in permutation uniform"
COMBINING = frozenset({
    "builtins.sum",
    *(f"jax.numpy.{name}" for name in _JNP.split()),
    *(f"jax.lax.{name}" for name in _LAX.split()),
    *(f"jax.random.{name}" for name in _RANDOM.split()),
    "builtins.divmod", "builtins.pow",
})  # fmt: skip
"""Functions that compute with all of their operands. Each was seen to refuse two devices (0.4.30,
0.10.2); `repeat`, `tile`, `split` and `roll` were seen to take theirs."""
COMBINING_TREES = frozenset({"equinox.apply_updates", "optax.apply_updates"})
"""Functions that compute with each leaf of a tree, and the same leaf of the others."""
