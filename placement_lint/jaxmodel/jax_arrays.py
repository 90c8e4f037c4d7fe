"""What the methods, attributes and operators of an array do, and the builtins that use them."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, rows

_METADATA = """
addressable_shards aval committed>=0.5.3 device>=0.5.3 dtype format>=0.6.2 global_shards
is_fully_addressable is_fully_replicated itemsize layout<=0.6.2 nbytes ndim shape sharding size
traceback weak_type _committed
"""
_HOST_METHODS = """
__array__ __array_namespace__>=0.5.3 __dlpack_device__ __reduce__ copy_to_host_async delete devices is_deleted is_ready item on_device_size_in_bytes platform tobytes
tolist unsafe_buffer_pointer
"""
_COMPUTING_METHODS = """
all any argmax argmin argpartition<=0.4.30 argpartition>=0.10.2 argsort byteswap>=0.10.2 choose clip compress conj conjugate copy
cumprod cumsum diagonal dot flatten max mean min prod ptp ravel repeat round searchsorted sort
squeeze std sum swapaxes take trace transpose var view
"""
_OPERATORS = """
__abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __invert__ __le__ __lshift__
__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__
__rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rshift__
__rsub__ __rtruediv__ __rxor__ __sub__ __truediv__ __xor__ __round__ __copy__ __deepcopy__
"""
_HOST_OPERATORS = """
__bool__ __complex__ __float__ __format__ __index__ __int__ __len__ __repr__ __str__
"""
_UPDATES = "add apply divide get max min mul multiply power set subtract>=0.5.3"

ATTRIBUTE_ROWS = [
    *rows("jax.Array", _METADATA, Effect.PLAIN),
    *rows("jax.Array", "T mT imag real", Effect.COMPUTE),
]
METHOD_ROWS = [
    *rows("jax.Array", _HOST_METHODS, Effect.HOST),
    *rows("jax.Array", "addressable_data block_until_ready clone", Effect.IDENTITY),
    *rows("jax.Array", "to_device>=0.5.3", Effect.COMMIT),
    *rows("jax.Array", _COMPUTING_METHODS, Effect.COMPUTE),
    *rows("jax.Array", "nonzero", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.Array", "astype reshape", Effect.COMPUTE, certain=False),
    *rows("jax.Array.at", _UPDATES, Effect.COMPUTE),
]
OPERATOR_ROWS = [
    *rows("jax.Array", _OPERATORS, Effect.COMPUTE),
    *rows("jax.Array", "__contains__>=0.10.2", Effect.COMPUTE, gives=Gives.NOTHING),
    *rows(
        "jax.Array",
        "__divmod__ __rdivmod__ __iter__ __reversed__>=0.12.0.1",
        Effect.COMPUTE,
        gives=Gives.ARRAYS,
    ),
    *rows("jax.Array", _HOST_OPERATORS, Effect.PLAIN),
]

_ITERATING = """
enumerate filter iter list map reversed sorted tuple zip
"""
_PLAIN_BUILTINS = """
bool callable complex float format hasattr id int isinstance len print repr str type
"""

BUILTIN_ROWS = [
    *rows("builtins", "abs pow round", Effect.COMPUTE),
    *rows("builtins", "divmod", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("builtins", "max min sum", Effect.ITERATE),
    *rows("builtins", "all any", Effect.ITERATE, gives=Gives.NOTHING),
    *rows("builtins", _ITERATING, Effect.ITERATE, gives=Gives.ARRAYS),
    *rows("builtins", _PLAIN_BUILTINS, Effect.PLAIN),
    *rows("math", "ceil exp floor isfinite isnan log sqrt", Effect.PLAIN),
    *rows("functools", "reduce", Effect.ITERATE),
    *rows(
        "itertools", "accumulate chain islice pairwise starmap", Effect.ITERATE, gives=Gives.ARRAYS
    ),
    *rows("itertools", "cycle", Effect.ITERATE),
]
