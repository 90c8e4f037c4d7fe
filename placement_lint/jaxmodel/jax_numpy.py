"""What the functions of jax.numpy do, and of its linalg and fft."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import DeviceParameter, Effect, Gives, rows

_COMPUTE = """
abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis
apply_over_axes arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition
argsort argwhere around array_equal array_equiv asin asinh atan atan2 atanh atleast_1d
atleast_2d atleast_3d average bincount
bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor block cbrt ceil choose clip column_stack compress conj conjugate
convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
cumulative_prod>=0.5.3 cumulative_sum deg2rad degrees delete diag diagflat diagonal diff digitize
divide dot dstack ediff1d einsum equal exp exp2 expand_dims expm1 extract fabs fill_diagonal
fix<=0.7.2 flatnonzero flip fliplr flipud float_power floor floor_divide fmax fmin fmod gcd greater
greater_equal heaviside histogram_bin_edges hstack hypot i0 inner insert interp intersect1d
invert isclose isfinite isin isinf isnan isneginf isposinf kron lcm ldexp
left_shift less less_equal lexsort log log10 log1p log2 logaddexp logaddexp2 logical_and
logical_not logical_or logical_xor matmul matrix_transpose matvec>=0.5.3 max maximum mean median
min minimum mod moveaxis multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax
nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar negative nextafter
not_equal outer packbits pad partition percentile piecewise place poly polyadd polyder polyfit
polyint polymul polysub polyval positive pow power prod ptp put put_along_axis>=0.5.3 quantile
rad2deg radians ravel ravel_multi_index real reciprocal remainder repeat resize right_shift rint
roll rollaxis roots rot90 round round_<=0.4.30 searchsorted select setdiff1d setxor1d sign signbit
sin sinc sinh sort sort_complex spacing>=0.5.3 sqrt square squeeze stack std subtract sum swapaxes
take take_along_axis tan tanh tensordot tile trace trapezoid tril trim_zeros triu true_divide
trunc union1d unique unique_values unpackbits unwrap vander var vdot vecdot vecmat>=0.5.3 vstack
where
"""
_COMPUTE_SEVERAL = """
array_split broadcast_arrays divmod dsplit frexp gradient histogram histogram2d histogramdd hsplit
ix_ meshgrid minmax>=0.12.0.1 modf nonzero polydiv split top_k>=0.12.0.1 unique_all unique_counts
unique_inverse unravel_index unstack vsplit
"""
_COMPUTE_MAYBE = """
astype broadcast_to concat concatenate imag iscomplex isreal
permute_dims transpose
"""
_CREATE = """
bartlett blackman frombuffer fromfunction fromstring geomspace hamming hanning identity kaiser
logspace tri
"""
_CREATE_SEVERAL = """
diag_indices diag_indices_from mask_indices tril_indices tril_indices_from triu_indices
triu_indices_from
"""
_PLAIN = """
broadcast_shapes can_cast dtype einsum_path finfo
get_printoptions iinfo iscomplexobj isdtype isrealobj isscalar issubdtype iterable ndim
printoptions promote_types result_type save savez set_printoptions shape size
"""
_SCALAR_TYPES = """
bfloat16 bool bool_ cdouble complex128 complex64 complex_ csingle double float16 float32
float4_e2m1fn>=0.5.3 float64 float8_e3m4>=0.5.3 float8_e4m3>=0.5.3 float8_e4m3b11fnuz
float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu>=0.5.3 float_ int16
int2>=0.5.3 int32 int4 int64 int8 int_ single uint uint16 uint2>=0.5.3 uint32 uint4 uint64 uint8
"""
_LINALG = """
cholesky cond cross det diagonal eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose multi_dot norm outer pinv solve svdvals tensordot tensorinv tensorsolve trace
vecdot vector_norm
"""
_LINALG_SEVERAL = "eig eigh lstsq qr slogdet svd"
_FFT = """
fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
"""

_STAGED = DeviceParameter(stages=True)
_STAGED_AT_FIRST = DeviceParameter(stages=True, stages_until="0.10.2")
_DIRECT = DeviceParameter(since="0.5.3")
_RESHAPE = (
    "calls the argument's own method, jax/_src/numpy/lax_numpy.py:1995 of 0.12; of an array, "
    "lax.reshape hands it back where the shape already is as asked, jax/_src/lax/lax.py:3106"
)
_FILL = "lax.full fills on D, then make_array_from_callback: jax/_src/lax/lax.py:3678 of 0.12"

ARGUMENT_ROWS = rows("jax.numpy.asarray", "on_its_device>=0.5.3", Effect.IDENTITY)
"""`jnp.asarray(x, device=d)` of an array that is on d already commits nothing."""

ROWS = [
    *rows("jax.numpy", _COMPUTE, Effect.COMPUTE),
    *rows("jax.numpy", _COMPUTE_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.numpy", _COMPUTE_MAYBE, Effect.COMPUTE, certain=False),
    *rows("jax.numpy", "reshape", Effect.COMPUTE, certain=False, keeps_numpy=True, source=_RESHAPE),
    *rows("jax.numpy", "array_repr array_str", Effect.COMPUTE, gives=Gives.NOTHING),
    *rows("jax.numpy", "frompyfunc vectorize", Effect.TRANSFORM),
    *rows("jax.numpy", _CREATE, Effect.CREATE),
    *rows("jax.numpy", _CREATE_SEVERAL, Effect.CREATE, gives=Gives.ARRAYS),
    *rows("jax.numpy", "indices", Effect.CREATE),
    *rows("jax.numpy", "zeros ones full", Effect.CREATE, device=_STAGED, source=_FILL),
    *rows("jax.numpy", "empty", Effect.CREATE, device=_STAGED_AT_FIRST, source=_FILL),
    *rows("jax.numpy", "arange linspace eye", Effect.CREATE, device=_DIRECT),
    *rows(
        "jax.numpy",
        "zeros_like ones_like full_like empty_like",
        Effect.CREATE,
        follows=True,
        device=_STAGED,
        source=_FILL,
    ),
    *rows("jax.numpy", "array", Effect.COPY, device=_DIRECT),
    *rows("jax.numpy", _SCALAR_TYPES, Effect.COPY, certain=False),
    *rows("jax.numpy", "asarray", Effect.CONVERT, device=_DIRECT),
    *rows("jax.numpy", "load", Effect.LOAD),
    *rows("jax.numpy", "from_dlpack", Effect.COMMIT),
    *rows("jax.numpy", _PLAIN, Effect.PLAIN),
    *rows("jax.numpy.linalg", _LINALG, Effect.COMPUTE),
    *rows("jax.numpy.linalg", _LINALG_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.numpy.fft", _FFT, Effect.COMPUTE),
    *rows("jax.numpy.fft", "fftfreq rfftfreq", Effect.CREATE),
]
