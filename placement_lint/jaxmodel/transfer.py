"""The transfer table: what a call does with the arrays that it is given and gives.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, with the same outcome on all six
unless a row says otherwise. D is the default device where the call runs.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Effect(enum.Enum):
    """The ways in which a call treats arrays."""

    CREATE = enum.auto()
    """Makes an array from nothing, from Python values or from NumPy arrays: on D, uncommitted.
    A `device=` argument commits it there."""
    COMPUTE = enum.auto()
    """Runs on D, or where a committed operand is: every uncommitted operand that is elsewhere is
    copied whole, each time."""
    IDENTITY = enum.auto()
    """Hands back the first argument: same device, same commitment, no copy."""
    CONVERT = enum.auto()
    """Makes an array of anything: an array that is already one comes back as it is, all else is
    put on D, uncommitted."""
    COPY = enum.auto()
    """As CONVERT, but an array is computed upon: it moves."""
    HOST = enum.auto()
    """Reads an array into NumPy, or never touches JAX: nothing moves."""
    PLAIN = enum.auto()
    """Looks at shapes and types only, or gives a Python value: nothing moves."""
    COMMIT = enum.auto()
    """Gives an array that is committed where the arguments say."""
    KEY = enum.auto()
    """Makes or derives a PRNG key: on D, uncommitted, and a few bytes, so that its moves do not
    count."""
    SAMPLE = enum.auto()
    """Draws random numbers: on D, uncommitted; with a committed key, where the key is."""
    LOAD = enum.auto()
    """Reads a file of arrays: each on D, uncommitted."""
    TRANSFORM = enum.auto()
    """Makes a function that computes (COMPUTE) from a function."""
    DISTRIBUTE = enum.auto()
    """Makes a function that spreads its arguments over devices on purpose."""
    TREE_MAP = enum.auto()
    """Applies the first argument to every leaf of the others."""


@dataclass(frozen=True)
class Row:
    """One function of the table."""

    name: str
    effect: Effect
    device: int | None = None
    """The position of the `device` parameter; None: keyword only, or there is none."""
    source: str = ""


def _rows(prefix: str, names: str, effect: Effect) -> dict[str, Row]:
    return {f"{prefix}.{name}": Row(f"{prefix}.{name}", effect) for name in names.split()}


_NUMPY_COMPUTE = """
abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis
apply_over_axes arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition
argsort argwhere around array_equal array_equiv array_split asin asinh astype atan atan2 atanh
atleast_1d atleast_2d atleast_3d average bincount bitwise_and bitwise_count bitwise_invert
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor block broadcast_arrays
broadcast_to cbrt ceil choose clip column_stack compress concat concatenate conj conjugate
convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
cumulative_prod cumulative_sum deg2rad degrees delete diag diagflat diagonal diff digitize
divide divmod dot dsplit dstack ediff1d einsum equal exp exp2 expand_dims expm1 extract fabs
flatnonzero flip fliplr flipud float_power floor floor_divide fmax fmin fmod frexp gcd gradient
greater greater_equal heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit
hstack hypot i0 imag inner insert interp intersect1d invert isclose iscomplex isfinite isin
isinf isnan isneginf isposinf isreal kron lcm ldexp left_shift less less_equal lexsort log log10
log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul
matrix_transpose matvec max maximum mean median min minimum mod modf moveaxis multiply
nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
nanpercentile nanprod nanquantile nanstd nansum nanvar negative nextafter nonzero not_equal
outer packbits pad partition percentile permute_dims piecewise polyadd polyder polydiv polyfit
polyint polymul polysub polyval positive pow power prod ptp put_along_axis quantile rad2deg
radians ravel real reciprocal remainder repeat reshape resize right_shift rint roll rollaxis
roots rot90 round searchsorted select setdiff1d setxor1d sign signbit sin sinc sinh sort
sort_complex split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan
tanh tensordot tile trace transpose trapezoid tril trim_zeros triu true_divide trunc union1d
unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index unstack
unwrap vander var vdot vecdot vecmat vsplit vstack where
"""
_NUMPY_CREATE = """
arange bartlett blackman empty eye frombuffer fromfunction fromstring full geomspace hamming
hanning identity indices kaiser linspace logspace meshgrid ones tri tril_indices triu_indices
zeros zeros_like ones_like full_like empty_like
"""
_NUMPY_PLAIN = """
array_repr array_str broadcast_shapes can_cast dtype einsum_path finfo iinfo iscomplexobj
isdtype isrealobj isscalar issubdtype iterable ndim promote_types result_type save savez shape
size
"""
_LAX_COMPUTE = """
abs acos acosh add approx_max_k approx_min_k argmax argmin asin asinh associative_scan atan
atan2 atanh batch_matmul bessel_i0e bessel_i1e betainc bitcast_convert_type bitwise_and
bitwise_not bitwise_or bitwise_xor broadcast broadcast_in_dim broadcast_to_rank cbrt ceil clamp
clz collapse complex concatenate cond conj conv conv_general_dilated conv_general_dilated_local
conv_general_dilated_patches conv_transpose conv_with_general_padding convert_element_type cos
cosh cumlogsumexp cummax cummin cumprod cumsum digamma div dot dot_general dynamic_index_in_dim
dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice
dynamic_update_slice_in_dim eq erf erf_inv erfc exp exp2 expand_dims expm1 fft floor fori_loop
gather ge gt igamma igammac imag index_in_dim index_take integer_pow is_finite le lgamma log
log1p logistic lt map max min mul ne neg nextafter pad polygamma population_count pow real
reciprocal reduce reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod
reduce_sum reduce_window reduce_xor rem reshape rev round rsqrt scan scatter scatter_add
scatter_apply scatter_max scatter_min scatter_mul select select_n shift_left
shift_right_arithmetic shift_right_logical sign sin sinh slice slice_in_dim sort sort_key_val
split sqrt square squeeze sub switch tan tanh top_k transpose while_loop zeta
"""
_NN_COMPUTE = """
celu dot_product_attention elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu
log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu sigmoid silu
soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh
"""
_RANDOM_SAMPLE = """
ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet
double_sided_maxwell exponential f gamma generalized_normal geometric gumbel laplace loggamma
logistic lognormal maxwell multinomial multivariate_normal normal orthogonal pareto permutation
poisson rademacher randint rayleigh t triangular truncated_normal uniform wald weibull_min
"""
_LINALG_COMPUTE = """
cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm
matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals
tensordot tensorinv tensorsolve trace vecdot vector_norm
"""
_FFT_COMPUTE = """
fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2
rfftn
"""
_SCALAR_TYPES = """
bfloat16 bool_ complex128 complex64 float16 float32 float64 int16 int32 int64 int8 uint16 uint32
uint64 uint8
"""

_EXACT = (
    Row("jax.numpy.array", Effect.COPY),
    Row("jax.numpy.asarray", Effect.CONVERT),
    Row("jax.numpy.load", Effect.LOAD),
    Row("jax.numpy.from_dlpack", Effect.COMMIT, source="JAX-FACTS 1c"),
    Row("jax.dlpack.from_dlpack", Effect.COMMIT),
    Row("jax.lax.stop_gradient", Effect.IDENTITY),
    Row("jax.lax.full", Effect.CREATE),
    Row("jax.lax.full_like", Effect.CREATE),
    Row("jax.lax.iota", Effect.CREATE),
    Row("jax.lax.broadcasted_iota", Effect.CREATE),
    Row("jax.lax.with_sharding_constraint", Effect.COMMIT),
    Row("jax.nn.one_hot", Effect.COMPUTE),
    Row("jax.nn.identity", Effect.COMPUTE),
    Row("jax.random.PRNGKey", Effect.KEY),
    Row("jax.random.key", Effect.KEY),
    Row("jax.random.split", Effect.KEY),
    Row("jax.random.fold_in", Effect.KEY),
    Row("jax.random.clone", Effect.KEY),
    Row("jax.random.wrap_key_data", Effect.KEY),
    Row("jax.random.key_data", Effect.KEY),
    Row("jax.device_put", Effect.COMMIT, device=1),
    Row("jax.device_get", Effect.HOST),
    Row("jax.block_until_ready", Effect.IDENTITY),
    Row("jax.make_array_from_callback", Effect.COMMIT),
    Row("jax.make_array_from_single_device_arrays", Effect.COMMIT),
    Row("jax.make_array_from_process_local_data", Effect.COMMIT),
    Row("jax.eval_shape", Effect.PLAIN),
    Row("jax.make_jaxpr", Effect.PLAIN),
    Row("jax.typeof", Effect.PLAIN),
    Row("jax.jit", Effect.TRANSFORM),
    Row("jax.vmap", Effect.TRANSFORM),
    Row("jax.grad", Effect.TRANSFORM),
    Row("jax.value_and_grad", Effect.TRANSFORM),
    Row("jax.jacfwd", Effect.TRANSFORM),
    Row("jax.jacrev", Effect.TRANSFORM),
    Row("jax.hessian", Effect.TRANSFORM),
    Row("jax.checkpoint", Effect.TRANSFORM),
    Row("jax.remat", Effect.TRANSFORM),
    Row("jax.pmap", Effect.DISTRIBUTE),
    Row("jax.shard_map", Effect.DISTRIBUTE),
    Row("jax.experimental.shard_map.shard_map", Effect.DISTRIBUTE),
    Row("jax.experimental.pjit.pjit", Effect.DISTRIBUTE),
    Row("jax.tree.map", Effect.TREE_MAP),
    Row("jax.tree_map", Effect.TREE_MAP),
    Row("jax.tree_util.tree_map", Effect.TREE_MAP),
    Row("safetensors.flax.load_file", Effect.LOAD),
    Row("safetensors.flax.load", Effect.LOAD),
    Row("copy.copy", Effect.COMPUTE),
    Row("copy.deepcopy", Effect.COMPUTE),
)

TABLE: dict[str, Row] = {
    **_rows("jax.numpy", _NUMPY_COMPUTE, Effect.COMPUTE),
    **_rows("jax.numpy", _NUMPY_CREATE, Effect.CREATE),
    **_rows("jax.numpy", _NUMPY_PLAIN, Effect.PLAIN),
    **_rows("jax.numpy", _SCALAR_TYPES, Effect.COPY),
    **_rows("jax.numpy.linalg", _LINALG_COMPUTE, Effect.COMPUTE),
    **_rows("jax.numpy.fft", _FFT_COMPUTE, Effect.COMPUTE),
    **_rows("jax.numpy.fft", "fftfreq rfftfreq", Effect.CREATE),
    **_rows("jax.lax", _LAX_COMPUTE, Effect.COMPUTE),
    **_rows("jax.nn", _NN_COMPUTE, Effect.COMPUTE),
    **_rows("jax.random", _RANDOM_SAMPLE, Effect.SAMPLE),
    **{row.name: row for row in _EXACT},
}

LIKE_CREATORS = frozenset({
    "jax.numpy.zeros_like", "jax.numpy.ones_like", "jax.numpy.full_like", "jax.numpy.empty_like",
    "jax.lax.full_like",
})  # fmt: skip
"""Creators that follow a committed first argument to its device, but not an uncommitted one."""

SHAPE_PRESERVING_WHEN_EQUAL = frozenset({
    "jax.numpy.reshape", "jax.numpy.broadcast_to", "jax.numpy.astype", "jax.numpy.transpose",
    "jax.numpy.permute_dims", "jax.lax.convert_element_type", "jax.lax.reshape",
})  # fmt: skip
"""These hand back the same array where shape or type already is as asked, and move it otherwise."""

NUMPY_DISPATCHING = frozenset(
    f"numpy.{name}"
    for name in (
        "sum mean max min argmax std var any all prod cumsum reshape transpose squeeze round "
        "repeat nonzero split"
    ).split()
)
"""NumPy functions that call the array's own method, so that a JAX array moves and stays JAX's.
All others convert to NumPy first and move nothing."""

NUMPY_LOADERS = frozenset({
    "numpy.load", "numpy.memmap", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt",
    "numpy.lib.format.open_memmap",
})  # fmt: skip
"""NumPy functions that give all of what a file holds."""

SIZE_KEEPING_METHODS = frozenset({
    "astype", "copy", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "view",
})  # fmt: skip
"""Methods of a NumPy array whose result is as large as the array."""

METADATA_ATTRIBUTES = frozenset({
    "addressable_shards", "aval", "committed", "device", "dtype", "global_shards",
    "is_fully_addressable", "is_fully_replicated", "itemsize", "nbytes", "ndim", "shape",
    "sharding", "size", "weak_type", "_committed",
})  # fmt: skip
"""Attributes of an array that are read without touching its data."""

COMPUTING_ATTRIBUTES = frozenset({"T", "mT", "real", "imag"})
"""Attributes of an array that run an operation."""

HOST_METHODS = frozenset({
    "__array__", "item", "tobytes", "tolist", "devices", "delete", "is_deleted",
    "copy_to_host_async", "unsafe_buffer_pointer", "on_device_size_in_bytes", "is_ready",
})  # fmt: skip
"""Methods of an array that read it to the host, or look at what is known of it: nothing moves."""

IDENTITY_METHODS = frozenset({"block_until_ready", "addressable_data", "__jax_array__"})
"""Methods of an array that hand it back where it is."""

COMPUTING_METHODS = frozenset(
    """
    all any argmax argmin argpartition argsort choose clip compress conj conjugate copy cumprod
    cumsum diagonal dot flatten max mean min nonzero prod ptp ravel repeat round searchsorted sort
    squeeze std sum swapaxes take trace transpose var view
    """.split()
)
"""Methods of an array that run an operation on it."""

SAME_WHEN_EQUAL_METHODS = frozenset({"astype", "reshape"})
"""Methods that hand back the same array where type or shape already is as asked."""

ITERATING_BUILTINS = frozenset({
    "builtins.all", "builtins.any", "builtins.enumerate", "builtins.filter", "builtins.iter",
    "builtins.list", "builtins.map", "builtins.max", "builtins.min", "builtins.reversed",
    "builtins.set", "builtins.sorted", "builtins.sum", "builtins.tuple", "builtins.zip",
})  # fmt: skip
"""Builtins that iterate over their argument, which indexes it."""

COMPUTING_BUILTINS = frozenset({"builtins.abs", "builtins.divmod", "builtins.pow"})
"""Builtins that run an operator of their argument."""
