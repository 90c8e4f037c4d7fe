"""How large the arrays are that functions of `jax.numpy`, `jax.nn`, `jax.lax` and NumPy give.

`tests/jaxmodel/test_shapes.py` calls each in every module that has it.
"""

from __future__ import annotations

ALIKE = frozenset(
    """
abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh around asin asinh atan atanh
cbrt ceil celu conj conjugate copy cos cosh deg2rad degrees elu erf erf_inv erfc exp exp2 expm1 fabs
flip fliplr flipud floor gelu hard_sigmoid hard_silu hard_swish hard_tanh i0 leaky_relu log log10
log1p log2 log_sigmoid log_softmax logistic mish nan_to_num neg negative positive rad2deg radians
reciprocal relu relu6 rint round rsqrt selu sigmoid sign silu sin sinc sinh soft_sign softmax
softplus sort sqrt square standardize stop_gradient swish tan tanh tril triu trunc
""".split()
)
"""Functions that give an array of the shape and the type of their first argument, where that is
one of floating point numbers.
"""

MOSTLY_ALIKE = frozenset(
    "clip maximum minimum ones_like pmean psum roll with_sharding_constraint zeros_like".split()
)
"""Functions of JAX that do so too, if nothing else that they are given asks for more."""

SIZE_KEEPING = ALIKE | frozenset(
    """
angle argsort atleast_2d cumprod cumsum imag isfinite isinf isnan logical_not matrix_transpose ravel
real rot90 squeeze transpose
""".split()
)
"""Functions that give as many numbers as their first argument has, whatever else they are given."""

BROADCASTING = frozenset(
    """
add arctan2 divide floor_divide hypot logaddexp maximum minimum mod multiply power remainder
subtract true_divide
""".split()
)
"""Functions that give as many numbers as `x + y`."""
