"""What the functions of JAX and NumPy give that are said to keep the size of an array."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.numpy_calls import NEW_ARRAYS
from placement_lint.jaxmodel.shapes import BROADCASTING, MOSTLY_ALIKE, SIZE_KEEPING
from tests.jaxmodel.environments import run_module
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from pathlib import Path


@NEEDS_JAX
def test_functions_of_jax_give_as_many_numbers() -> None:
    found = json.loads(run_module(sys.executable, "tests.jaxmodel.shapes_child", time_limit=200))
    assert {name: size for name, size in found["kept"].items() if size != 15} == {}
    assert {name.rpartition(".")[2] for name in found["kept"]} == SIZE_KEEPING
    assert found["others"] == []
    assert found["mostly"] == dict.fromkeys(MOSTLY_ALIKE, True)
    assert found["spread"] == dict.fromkeys(BROADCASTING, 15)


@NEEDS_JAX
def test_functions_of_numpy_give_as_many_numbers() -> None:
    import numpy as np

    for name in sorted(SIZE_KEEPING & {*dir(np)}):
        number = 1.5 if name in {"acosh", "arccosh"} else 0.5
        assert getattr(np, name)(np.full((3, 5), number)).size == 15, name
    for name in sorted(BROADCASTING):
        assert getattr(np, name)(np.full((1, 5), 2), np.full((3, 1), 1)).shape == (3, 5), name


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


@NEEDS_JAX
def test_functions_of_numpy_that_always_give_an_array(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "a.bin"
    np.zeros(3).tofile(path)
    assert {f"numpy.{name}" for name in _CALLS} == NEW_ARRAYS
    for name, arguments in _CALLS.items():
        given = eval(f"np.{name}({arguments})", {"np": np, "path": path})  # noqa: S307
        assert type(given) is np.ndarray, name
