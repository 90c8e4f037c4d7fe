"""The transfer table: what a call does with the arrays that it is given and gives.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, with the same outcome on all six
unless a row says otherwise. The rows are data of one module for each part of JAX; every one is
executed by a test. `since` and `until` are versions among the six: a row with `since` "0.7.2" was
seen there, and not on 0.6.2.
"""

from __future__ import annotations

from placement_lint.jaxmodel import (
    jax_arrays,
    jax_core,
    jax_lax,
    jax_nn,
    jax_numpy,
    jax_random,
    jax_scipy,
    numpy_calls,
)
from placement_lint.jaxmodel.effects import UNINTERPRETED, DeviceParameter, Effect, Gives, Row
from placement_lint.jaxmodel.libraries import libraries

__all__ = [
    "COMPUTING_ATTRIBUTES",
    "COMPUTING_BUILTINS",
    "COMPUTING_METHODS",
    "HOST_METHODS",
    "IDENTITY_METHODS",
    "ITERATING_BUILTINS",
    "LIKE_CREATORS",
    "METADATA_ATTRIBUTES",
    "METHODS_OF_ONE_ARRAY",
    "NUMPY_DISPATCHING",
    "NUMPY_JOINING",
    "NUMPY_LOADERS",
    "NUMPY_MOVING_TO_HOST",
    "PLACING_JIT_ARGUMENTS",
    "ROWS",
    "SAME_WHEN_EQUAL_METHODS",
    "SCALAR_FUNCTIONS",
    "SHAPE_PRESERVING_WHEN_EQUAL",
    "SIZE_KEEPING_METHODS",
    "TABLE",
    "DeviceParameter",
    "Effect",
    "Gives",
    "Row",
]

_CALLS = [
    *jax_core.ROWS,
    *jax_lax.ROWS,
    *jax_nn.ROWS,
    *jax_numpy.ROWS,
    *jax_random.ROWS,
    *jax_scipy.ROWS,
    *(row for library in libraries() for row in library.rows),
]

ROWS: tuple[Row, ...] = (
    *_CALLS,
    *(row for library in libraries() for row in library.method_rows),
    *jax_core.JIT_ARGUMENT_ROWS,
    *jax_core.DERIVATIVE_ROWS,
    *jax_numpy.ARGUMENT_ROWS,
    *jax_arrays.ATTRIBUTE_ROWS,
    *jax_arrays.METHOD_ROWS,
    *jax_arrays.OPERATOR_ROWS,
    *jax_arrays.BUILTIN_ROWS,
    *numpy_calls.ROWS,
    *numpy_calls.LOADER_ROWS,
    *numpy_calls.METHOD_ROWS,
)
"""Every row, those of older versions before those of newer ones."""

TABLE: dict[str, Row] = {row.name: row for row in _CALLS if row.effect not in UNINTERPRETED}
"""The calls that the interpreter applies, by qualified name: as the newest version treats them."""


def _short(rows: list[Row], *effects: Effect, certain: bool = True) -> frozenset[str]:
    """Return the last part of the names of rows with one of the effects."""
    return frozenset(
        row.name.rpartition(".")[2]
        for row in rows
        if row.effect in effects and row.certain is certain
    )


LIKE_CREATORS = frozenset(row.name for row in TABLE.values() if row.follows)
"""Creators that follow a committed first argument to its device, but not an uncommitted one."""

SHAPE_PRESERVING_WHEN_EQUAL = frozenset(row.name for row in TABLE.values() if not row.certain)
"""These hand back the same array where shape or type already is as asked, and move it otherwise."""

PLACING_JIT_ARGUMENTS = _short(jax_core.JIT_ARGUMENT_ROWS, Effect.COMMIT)
"""Arguments of jit that say where the function runs, so that its results are committed."""

_NUMPY_MOVING = [
    row for row in numpy_calls.ROWS if row.effect is Effect.COMPUTE and row.until is None
]

NUMPY_DISPATCHING = frozenset(r.name for r in _NUMPY_MOVING if r.gives is not Gives.NOTHING)
"""NumPy functions that call the array's own method, so that a JAX array moves and stays JAX's."""

NUMPY_MOVING_TO_HOST = frozenset(r.name for r in _NUMPY_MOVING if r.gives is Gives.NOTHING)
"""NumPy functions that call the array's own methods, so that it moves, but give NumPy arrays or
text. All others convert to NumPy first and move nothing."""

NUMPY_LOADERS = frozenset(row.name for row in numpy_calls.LOADER_ROWS)
"""NumPy functions that give all of what a file holds."""

NUMPY_JOINING = frozenset(f"numpy.{name}" for name in numpy_calls.JOINING.split())
"""NumPy functions that give all of the arrays in a list."""

SIZE_KEEPING_METHODS = _short(numpy_calls.METHOD_ROWS, Effect.HOST)
"""Methods of a NumPy array whose result is as large as the array."""

METADATA_ATTRIBUTES = _short(jax_arrays.ATTRIBUTE_ROWS, Effect.PLAIN)
"""Attributes of an array that are read without touching its data."""

COMPUTING_ATTRIBUTES = _short(jax_arrays.ATTRIBUTE_ROWS, Effect.COMPUTE)
"""Attributes of an array that run an operation."""

HOST_METHODS = _short(jax_arrays.METHOD_ROWS, Effect.HOST)
"""Methods of an array that read it to the host, or read what is known of it: nothing moves."""

IDENTITY_METHODS = _short(jax_arrays.METHOD_ROWS, Effect.IDENTITY)
"""Methods of an array that hand it back where it is."""

COMPUTING_METHODS = frozenset(
    row.name.removeprefix("jax.Array.")
    for row in jax_arrays.METHOD_ROWS
    if row.effect is Effect.COMPUTE and row.certain and ".at." not in row.name
)
"""Methods of an array that run an operation on it."""

SAME_WHEN_EQUAL_METHODS = _short(jax_arrays.METHOD_ROWS, Effect.COMPUTE, certain=False)

METHODS_OF_ONE_ARRAY = SAME_WHEN_EQUAL_METHODS | COMPUTING_METHODS - {
    "choose", "clip", "compress", "dot", "repeat", "searchsorted", "take",
}  # fmt: skip
"""Methods whose arguments by position are types, shapes and axes, and so no arrays that say where
the result is."""
"""Methods that hand back the same array where type or shape already is as asked."""

ITERATING_BUILTINS = frozenset(
    row.name
    for row in jax_arrays.BUILTIN_ROWS
    if row.effect is Effect.ITERATE and row.name.startswith("builtins.")
)
"""Builtins that iterate over their argument, which indexes it."""

COMPUTING_BUILTINS = frozenset(
    row.name for row in jax_arrays.BUILTIN_ROWS if row.effect is Effect.COMPUTE
)
"""Builtins that run an operator of their argument."""

SCALAR_FUNCTIONS = frozenset(
    row.name for row in jax_arrays.BUILTIN_ROWS if row.name.startswith("math.")
)
"""Functions of Python's `math` that take a number: of an array they read it on the host."""
