"""The small programs of `tests/placement/shapes.txt` under JAX: they move what is said there."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest

from tests.differential.analysis import analyse
from tests.differential.compare import compare
from tests.placement.test_shapes import HEAD, SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.oracle_client import OracleClient

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(
        sys.version_info < (3, 11), reason="instructions have no columns before Python 3.11"
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("jax") is None or importlib.util.find_spec("safetensors") is None,
        reason='needs JAX: pip install "placement-lint[verify]"',
    ),
]


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleClient]:
    from tests.differential.oracle_client import OracleClient

    client = OracleClient()
    yield client
    client.close()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_jax_agrees(oracle: OracleClient, shape: str) -> None:
    modules = {"main": HEAD + shape}
    comparison = compare(modules, analyse(modules), oracle.run(modules, [0]))
    assert not comparison.errors
    assert comparison.disagreements == []
