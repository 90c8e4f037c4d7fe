"""What tests need that not every environment has."""

from __future__ import annotations

import importlib.util
import sys

import pytest

NEEDS_JAX = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None,
    reason='needs JAX: pip install "placement-lint[verify]"',
)

COLUMNS = sys.version_info >= (3, 11)
"""Whether Python says in which column of its line an instruction is."""

RUNS_PROGRAMS = [
    NEEDS_JAX,
    pytest.mark.skipif(
        importlib.util.find_spec("safetensors") is None,
        reason='needs safetensors: pip install "placement-lint[verify]"',
    ),
    pytest.mark.skipif(not COLUMNS, reason="instructions have no columns before Python 3.11"),
]
"""For a test that runs programs under the oracle of `tests/differential`."""
