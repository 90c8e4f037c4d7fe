"""The small programs of `tests/placement/shapes.txt` under JAX: they move what is said there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.differential.analysis import analyse
from tests.differential.compare import compare
from tests.marks import RUNS_PROGRAMS
from tests.placement.test_shapes import HEAD, SHAPES

if TYPE_CHECKING:
    from tests.differential.oracle_client import OracleClient

pytestmark = [pytest.mark.fuzz, *RUNS_PROGRAMS]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_jax_agrees(oracle: OracleClient, shape: str) -> None:
    modules = {"main": HEAD + shape}
    comparison = compare(modules, analyse(modules), oracle.run(modules, [0]))
    assert not comparison.errors
    assert comparison.disagreements == []
