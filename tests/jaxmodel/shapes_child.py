"""Calls the functions that are said to keep the size of an array.

Run by test_shapes.py, since a process in which JAX has started should not be forked. Prints JSON.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.shapes import BROADCASTING, SIZE_KEEPING

if TYPE_CHECKING:
    from types import ModuleType

_MORE = {"squeeze": ((),), "transpose": ((1, 0),)}
"""What those of `jax.lax` must be given besides the array."""


def main() -> None:
    """Print how many numbers each function gives of 15, and for 5 and 3, by module and name."""
    import jax
    import jax.numpy as jnp

    kept = {
        f"{module.__name__}.{name}": _size(module, name)
        for module in (jnp, jax.nn, jax.lax)
        for name in sorted(SIZE_KEEPING & {*dir(module)})
    }
    wide, tall = jax.ShapeDtypeStruct((1, 5), int), jax.ShapeDtypeStruct((3, 1), int)
    spread = {
        name: jax.eval_shape(getattr(jnp, name), wide, tall).size for name in sorted(BROADCASTING)
    }
    json.dump({"kept": kept, "spread": spread}, sys.stdout)


def _size(module: ModuleType, name: str) -> int:
    import jax
    import jax.numpy as jnp

    is_complex = module is jax.lax and name in {"conj", "imag", "real"}
    array = jax.ShapeDtypeStruct((3, 5), jnp.complex64 if is_complex else jnp.float32)
    more = _MORE.get(name, ()) if module is jax.lax else ()
    return int(jax.eval_shape(lambda x: getattr(module, name)(x, *more), array).size)


if __name__ == "__main__":
    main()
