"""What the functions of JAX and NumPy give that are said to keep the size of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from placement_lint.jaxmodel.numpy_calls import NEW_ARRAYS
from placement_lint.jaxmodel.shapes import BROADCASTING, SIZE_KEEPING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

_MODULES = (jnp, jax.nn, jax.lax)
_MORE = {"squeeze": ((),), "transpose": ((1, 0),)}
"""What those of `jax.lax` must be given besides the array."""


def test_each_is_somewhere() -> None:
    assert [
        name for name in SIZE_KEEPING if not any(hasattr(each, name) for each in _MODULES)
    ] == []


@pytest.mark.parametrize("module", _MODULES)
def test_functions_of_jax_give_as_many_numbers(module: ModuleType) -> None:
    for name in sorted(SIZE_KEEPING & {*dir(module)}):
        is_complex = module is jax.lax and name in {"conj", "imag", "real"}
        array = jax.ShapeDtypeStruct((3, 5), jnp.complex64 if is_complex else jnp.float32)
        more = _MORE.get(name, ()) if module is jax.lax else ()
        function = getattr(module, name)
        given = jax.eval_shape(lambda x, call=function, rest=more: call(x, *rest), array)
        assert given.size == 15, name


def test_functions_of_numpy_give_as_many_numbers() -> None:
    for name in sorted(SIZE_KEEPING & {*dir(np)}):
        assert (
            getattr(np, name)(np.full((3, 5), 1.5 if name in {"acosh", "arccosh"} else 0.5)).size
            == 15
        ), name


@pytest.mark.parametrize("module", [jnp, np])
def test_operations_give_as_many_numbers_as_a_sum(module: ModuleType) -> None:
    wide, tall = module.full((1, 5), 2), module.full((3, 1), 1)
    for name in sorted(BROADCASTING):
        assert getattr(module, name)(wide, tall).shape == (3, 5), name


_CALLS = {
    "arange": "3", "array": "[1]", "bartlett": "4", "blackman": "4", "block": "[1, 2]",
    "column_stack": "[[1], [2]]", "concatenate": "[[1], [2]]", "copy": "[1]",
    "dstack": "[[1], [2]]", "empty": "3", "eye": "3", "fft.fftfreq": "4", "fft.rfftfreq": "4",
    "fromfile": "path, float", "fromfunction": "lambda i: i, (2,)", "fromiter": "[1, 2], float",
    "full": "2, 3", "genfromtxt": "['1']", "geomspace": "1, 2", "hamming": "4", "hanning": "4",
    "hstack": "[[1], [2]]", "identity": "3", "indices": "(2, 2)", "kaiser": "4, 3",
    "linspace": "0, 1", "loadtxt": "['1']", "logspace": "0, 1", "ones": "()", "outer": "1, 2",
    "stack": "[1, 2]", "tile": "1, 2", "tri": "3", "tril": "[[1]]", "triu": "[[1]]",
    "vander": "[1]", "vstack": "[1, 2]", "zeros": "()",
}  # fmt: skip


def test_functions_of_numpy_that_always_give_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    np.zeros(3).tofile(path)
    assert {f"numpy.{name}" for name in _CALLS} == NEW_ARRAYS
    for name, arguments in _CALLS.items():
        given = eval(f"np.{name}({arguments})", {"np": np, "path": path})  # noqa: S307
        assert type(given) is np.ndarray, name
