"""Operations that compute nothing: what they give are elements of what they are given.

Where such an operation runs changes no number and costs no arithmetic. A test runs each of them.
"""

from __future__ import annotations

_LAX_TAKING = """
dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim index_in_dim slice slice_in_dim
"""
_LAX_REARRANGING = "concatenate expand_dims reshape rev squeeze transpose"
_NUMPY_REARRANGING = """
array_split atleast_1d atleast_2d atleast_3d broadcast_to column_stack concat concatenate copy
dsplit dstack expand_dims flip fliplr flipud hsplit hstack matrix_transpose moveaxis permute_dims
ravel repeat reshape roll rollaxis rot90 split squeeze stack swapaxes tile transpose unstack vsplit
vstack
"""


def _named(prefix: str, names: str) -> frozenset[str]:
    return frozenset(f"{prefix}.{name}" for name in names.split())


TAKING = (
    _named("jax.lax", _LAX_TAKING)
    | _named("jax.numpy", "take take_along_axis")
    | _named("numpy", "take take_along_axis")
)
"""Functions that give a part of their first argument, as an index does."""

TAKING_METHODS = frozenset({"take"})

REARRANGING = (
    _named("jax.lax", _LAX_REARRANGING)
    | _named("jax.numpy", _NUMPY_REARRANGING)
    | _named("numpy", "moveaxis reshape squeeze swapaxes transpose")
)
"""Functions that give all elements of their operands in another order, shape or number."""

REARRANGING_METHODS = frozenset({
    "copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose",
})  # fmt: skip
REARRANGING_ATTRIBUTES = frozenset({"T", "mT"})
"""Methods and attributes of an array that do so."""
