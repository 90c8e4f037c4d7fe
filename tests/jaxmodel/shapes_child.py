"""Calls the functions that are said to keep the size of an array, or its shape and type.

Run by test_shapes.py, since a process in which JAX has started should not be forked. Prints JSON.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.shapes import ALIKE, BROADCASTING, MOSTLY_ALIKE, SIZE_KEEPING

if TYPE_CHECKING:
    from types import ModuleType

    from jax import ShapeDtypeStruct

_MORE = {"squeeze": ((),), "transpose": ((1, 0),)}
"""What those of `jax.lax` must be given besides the array."""
_MORE_OF_ANY = {"maximum": (0.0,), "minimum": (0.0,), "roll": (1,)}


def main() -> None:
    """Print how many numbers each function gives of 15, and for 5 and 3, by module and name; and
    which of those that are to keep shape and type do not.
    """
    import jax
    import jax.numpy as jnp

    kept = {
        f"{module.__name__}.{name}": _given(module, name)[1].size
        for module in (jnp, jax.nn, jax.lax)
        for name in sorted(SIZE_KEEPING & {*dir(module)})
    }
    others = [
        f"{module.__name__}.{name}"
        for module in (jnp, jax.nn, jax.lax)
        for name in sorted(ALIKE & {*dir(module)})
        if not _are_alike(*_given(module, name))
    ]
    mostly = {name: _are_alike(*_given_mostly(name)) for name in sorted(MOSTLY_ALIKE)}
    wide, tall = jax.ShapeDtypeStruct((1, 5), int), jax.ShapeDtypeStruct((3, 1), int)
    spread = {
        name: jax.eval_shape(getattr(jnp, name), wide, tall).size for name in sorted(BROADCASTING)
    }
    json.dump({"kept": kept, "others": others, "mostly": mostly, "spread": spread}, sys.stdout)


def _are_alike(given: ShapeDtypeStruct, made: ShapeDtypeStruct) -> bool:
    return (given.shape, given.dtype) == (made.shape, made.dtype)


def _given(module: ModuleType, name: str) -> tuple[ShapeDtypeStruct, ShapeDtypeStruct]:
    """Return what a function is given, and what it gives."""
    import jax
    import jax.numpy as jnp

    is_complex = module is jax.lax and name in {"conj", "imag", "real"}
    array = jax.ShapeDtypeStruct((3, 5), jnp.complex64 if is_complex else jnp.float32)
    more = _MORE.get(name, ()) if module is jax.lax else ()
    return array, jax.eval_shape(lambda x: getattr(module, name)(x, *more), array)


def _given_mostly(name: str) -> tuple[ShapeDtypeStruct, ShapeDtypeStruct]:
    import jax
    import jax.numpy as jnp

    array = jax.ShapeDtypeStruct((3, 5), jnp.float32)
    if name == "with_sharding_constraint":
        more = (jax.sharding.SingleDeviceSharding(jax.devices()[0]),)
        return array, jax.eval_shape(lambda x: jax.lax.with_sharding_constraint(x, *more), array)
    if name in {"pmean", "psum"}:
        mapped = jax.vmap(lambda x: getattr(jax.lax, name)(x, "i"), axis_name="i")
        return array, jax.eval_shape(mapped, array)
    others = _MORE_OF_ANY.get(name, ())
    return array, jax.eval_shape(lambda x: getattr(jnp, name)(x, *others), array)


if __name__ == "__main__":
    main()
