"""What NumPy's functions do with an array of JAX: most convert it, some call its own method.

Measured with NumPy 2.2 to 2.5.
"""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, rows

_DISPATCHING = """
all amax amin any argmax argmin around choose compress cumprod cumsum flip max mean min moveaxis
prod real repeat rollaxis round searchsorted squeeze std sum swapaxes take take_along_axis
trim_zeros var
"""
_DISPATCHING_MAYBE = "imag isreal permute_dims reshape transpose"
_DISPATCHING_SEVERAL = "array_split dsplit hsplit nonzero split unstack vsplit"
_THROUGH_METHODS = "histogramdd argwhere array2string array_repr array_str poly roots"
_CONVERTING = """
abs absolute acos acosh add allclose angle append arccos arccosh arcsin arcsinh arctan arctan2
arctanh array array_equal array_equiv asanyarray asarray asarray_chkfinite ascontiguousarray
asfortranarray asin asinh atan atan2 atanh atleast_1d atleast_2d atleast_3d average bincount
bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor block broadcast_arrays broadcast_to can_cast cbrt ceil clip
column_stack common_type concat concatenate conj conjugate convolve copy copysign corrcoef
correlate cos cosh count_nonzero cov cumulative_prod cumulative_sum deg2rad degrees delete diag
diagflat diagonal diff digitize divide divmod dot dstack ediff1d einsum empty_like equal exp exp2
expand_dims expm1 extract fabs flatnonzero fliplr flipud float_power floor floor_divide fmax fmin
fmod frexp full_like gcd geomspace gradient greater greater_equal heaviside histogram histogram2d
histogram_bin_edges hstack hypot i0 inner insert interp intersect1d invert isclose iscomplex
isfinite isin isinf isnan isneginf isposinf isscalar ix_ kron lcm ldexp left_shift less less_equal
linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
logspace matmul matrix_transpose maximum median meshgrid minimum mod modf multiply nan_to_num
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
nanquantile nanstd nansum nanvar ndim negative nextafter not_equal ones_like outer packbits pad
partition percentile polyadd polyder polydiv polyint polymul polysub polyval positive pow power
quantile rad2deg radians ravel real_if_close reciprocal remainder result_type right_shift rint roll
rot90 save setdiff1d setxor1d shape sign signbit sin sinc sinh size sort sort_complex spacing sqrt
square stack subtract tan tanh tensordot tile trace trapezoid tril triu true_divide trunc
union1d unique unwrap vander vdot vecdot vstack where zeros_like testing.assert_allclose
linalg.cholesky linalg.cond linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals
linalg.eigvalsh linalg.inv linalg.lstsq linalg.matmul linalg.matrix_norm linalg.matrix_power
linalg.matrix_rank linalg.matrix_transpose linalg.norm linalg.outer linalg.pinv linalg.qr
linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot
linalg.vector_norm fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn
fft.ifftshift fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
apply_along_axis apply_over_axes argpartition argsort>=0.5.3 diag_indices_from fix
from_dlpack iscomplexobj isrealobj lexsort matvec may_share_memory min_scalar_type
piecewise polyfit ptp ravel_multi_index require resize savetxt savez savez_compressed select
shares_memory tril_indices_from triu_indices_from unique_all unique_counts unique_inverse
unique_values unpackbits unravel_index vecmat linalg.multi_dot linalg.tensorinv
linalg.tensorsolve
"""
_LOADERS = "fromfile genfromtxt lib.format.open_memmap load loadtxt memmap"

ROWS = [
    *rows("numpy", "argsort<=0.4.30", Effect.COMPUTE),
    *rows("numpy", _DISPATCHING, Effect.COMPUTE),
    *rows("numpy", _DISPATCHING_MAYBE, Effect.COMPUTE, certain=False),
    *rows("numpy", _DISPATCHING_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("numpy", _THROUGH_METHODS, Effect.COMPUTE, gives=Gives.NOTHING),
    *rows("numpy", _CONVERTING, Effect.HOST),
]
LOADER_ROWS = rows("numpy", _LOADERS, Effect.HOST)
"""Functions that give all of what a file holds."""

JOINING = "column_stack concat concatenate dstack hstack stack vstack"
"""Functions that give all of the arrays in a list."""

METHOD_ROWS = rows(
    "numpy.ndarray", "astype copy ravel reshape squeeze swapaxes transpose view", Effect.HOST
)
"""Methods of a NumPy array whose result is as large as the array."""

NEW_ARRAYS = frozenset(
    f"numpy.{name}"
    for name in """
    arange array bartlett blackman block column_stack concatenate copy dstack empty eye fft.fftfreq
    fft.rfftfreq fromfile fromfunction fromiter full genfromtxt geomspace hamming hanning hstack
    identity indices kaiser linspace loadtxt logspace ones outer stack tile tri tril triu vander
    vstack zeros
    """.split()
)
"""Functions that always give an array, and one that shares its memory with no other."""
