"""How large the arrays are that functions of `jax.numpy`, `jax.nn`, `jax.lax` and NumPy give.

`tests/jaxmodel/test_shapes.py` calls each in every module that has it.
"""

from __future__ import annotations

SIZE_KEEPING = frozenset(
    """
abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh argsort around asin asinh
atan atanh atleast_2d cbrt ceil celu conj conjugate copy cos cosh cumprod cumsum deg2rad degrees elu
erf erf_inv erfc exp exp2 expm1 fabs flip fliplr flipud floor gelu hard_sigmoid hard_silu hard_swish
hard_tanh i0 imag isfinite isinf isnan leaky_relu log log10 log1p log2 log_sigmoid log_softmax
logical_not logistic matrix_transpose mish nan_to_num neg negative positive rad2deg radians ravel
real reciprocal relu relu6 rint rot90 round rsqrt selu sigmoid sign silu sin sinc sinh soft_sign
softmax softplus sort sqrt square squeeze standardize stop_gradient swish tan tanh transpose tril
triu trunc
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
