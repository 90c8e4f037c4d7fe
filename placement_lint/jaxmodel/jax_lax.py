"""What the functions of jax.lax do, and of its linalg."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import DeviceParameter, Effect, Gives, rows

_COMPUTE = """
abs acos acosh add argmax argmin asin asinh associative_scan atan atan2 atanh batch_matmul
bessel_i0e bessel_i1e betainc bitcast_convert_type bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_in_dim broadcast_like>=0.10.2
cbrt ceil clamp clz complex cond conj conv conv_general_dilated conv_general_dilated_local
conv_general_dilated_patches conv_transpose conv_with_general_padding cos cosh cumlogsumexp cummax
cummin cumprod cumsum custom_linear_solve custom_root digamma div dot dot_general
dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim
dynamic_update_slice dynamic_update_slice_in_dim eq erf erf_inv erfc exp exp2 expand_dims expm1 fft floor
fori_loop gather ge gt igamma igamma_grad_a igammac imag index_in_dim index_take integer_pow
is_finite le lgamma log log1p log2>=0.12.0.1 logistic lt map max min mul mulhi>=0.10.2 ne neg
nextafter one_minus_square>=0.12.0.1 optimization_barrier>=0.5.3 pad
polygamma polynomial>=0.12.0.1 population_count pow ragged_dot random_gamma_grad real reciprocal
reduce reduce_and>=0.5.3 reduce_max>=0.5.3 reduce_min>=0.5.3 reduce_or>=0.5.3 reduce_precision
reduce_prod>=0.5.3 reduce_sum>=0.5.3 reduce_window reduce_xor>=0.5.3 rem rev round rsqrt
rng_uniform scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub>=0.5.3 select
select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice slice_in_dim sort
sqrt square stack>=0.10.2 sub switch tan tanh tile>=0.10.2 while_loop zeta
"""
_COMPUTE_SEVERAL = """
approx_max_k approx_min_k rng_bit_generator scan sort_key_val split>=0.5.3 top_k unstack>=0.10.2
"""
_COMPUTE_MAYBE = """
broadcast>=0.5.3 broadcast_to_rank>=0.5.3 collapse concatenate convert_element_type reshape
squeeze transpose
"""
_PLAIN = """
broadcast_shapes conv_dimension_numbers conv_general_permutations conv_general_shape_tuple
conv_shape_tuple conv_transpose_shape_tuple dtype padtype_to_pads reduce_window_shape_tuple
"""
_LINALG = "cholesky cholesky_update>=0.5.3 householder_product triangular_solve tridiagonal_solve"
_LINALG_SEVERAL = "eig eigh hessenberg lu qdwh qr schur svd tridiagonal"

ROWS = [
    *rows("jax.lax", _COMPUTE, Effect.COMPUTE),
    *rows("jax.lax", _COMPUTE_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.lax", "platform_dependent", Effect.COMPUTE, keeps_numpy=True),
    *rows("jax.lax", "broadcast<=0.4.30 broadcast_to_rank<=0.4.30", Effect.COMPUTE),
    *rows("jax.lax", _COMPUTE_MAYBE, Effect.COMPUTE, certain=False),
    *rows("jax.lax", _PLAIN, Effect.PLAIN),
    *rows("jax.lax", "stop_gradient", Effect.IDENTITY),
    *rows("jax.lax", "full iota broadcasted_iota empty>=0.7.2", Effect.CREATE),
    *rows("jax.lax", "zeros_like_array<=0.7.2", Effect.CREATE, follows=True),
    *rows("jax.lax", "full_like", Effect.CREATE, follows=True, device=DeviceParameter(stages=True)),
    *rows("jax.lax", "with_sharding_constraint<=0.6.2", Effect.COMMIT, certain=False),
    *rows("jax.lax", "with_sharding_constraint>=0.7.2", Effect.COMMIT),
    *rows("jax.lax.linalg", _LINALG, Effect.COMPUTE),
    *rows("jax.lax.linalg", _LINALG_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.lax.linalg", "lu_pivots_to_permutation", Effect.COMPUTE),
    *rows("jax.lax.linalg", "ormqr>=0.10.2 symmetric_product>=0.5.3", Effect.COMPUTE),
]
