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
_ALSO_JNP = """
bitwise_and bitwise_or bitwise_xor broadcast_arrays choose concat corrcoef cov divmod histogram
left_shift lexsort linalg.cross linalg.lstsq linalg.matmul linalg.multi_dot linalg.outer
linalg.tensordot linalg.vecdot matvec polyfit pow put_along_axis right_shift select trapezoid vecmat
"""
_ALSO_LAX = """
batch_matmul bitwise_and bitwise_or clamp complex conv conv_general_dilated dynamic_index_in_dim
dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice_in_dim ge le ne nextafter pad
select_n
"""
_ALSO_RANDOM = "beta dirichlet gamma multivariate_normal poisson randint truncated_normal"
_LOSSES = """
cosine_distance cosine_similarity hinge_loss huber_loss kl_divergence l2_loss
log_cosh sigmoid_binary_cross_entropy smooth_labels softmax_cross_entropy
softmax_cross_entropy_with_integer_labels squared_error
"""
REFUSING = COMBINING | {
    *(f"jax.numpy.{name}" for name in _ALSO_JNP.split()),
    *(f"jax.lax.{name}" for name in _ALSO_LAX.split()),
    *(f"jax.random.{name}" for name in _ALSO_RANDOM.split()),
    *(f"jax.ops.segment_{name}" for name in ("max", "min", "prod", "sum")),
    *(f"jax.scipy.linalg.{name}" for name in ("solve", "solve_triangular")),
    *(f"optax.{name}" for name in _LOSSES.split()),
    "builtins.max", "builtins.min", "builtins.sorted", "jax.nn.dot_product_attention",
    "optax.global_norm",
}  # fmt: skip
"""Functions that refuse operands on two devices, each pair of them (0.10.2, and 0.4.30 with optax
0.2.3, as far as these have them), beside those of which more is known. `array_equal` looks at the
shapes first."""
COMBINING_TREES = frozenset({"equinox.apply_updates", "optax.apply_updates"})
"""Functions that compute with each leaf of a tree, and the same leaf of the others."""
