"""What the functions of jax.nn do, and of its initializers."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, rows

_COMPUTE = """
celu dot_product_attention>=0.5.3 elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh
identity>=0.6.2 leaky_relu log1mexp>=0.7.2 log_sigmoid log_softmax logmeanexp>=0.7.2 logsumexp
mish one_hot relu relu6 selu sigmoid silu soft_sign
softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh
"""
_SAMPLERS = """
delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal
kaiming_uniform lecun_normal lecun_uniform normal orthogonal truncated_normal uniform
variance_scaling xavier_normal xavier_uniform
"""

ROWS = [
    *rows("jax.nn", _COMPUTE, Effect.COMPUTE),
    *rows("jax.nn.initializers", "zeros ones", Effect.CREATE),
    *rows("jax.nn.initializers", "constant", Effect.INITIALISE),
    *rows("jax.nn.initializers", _SAMPLERS, Effect.SAMPLER),
]
