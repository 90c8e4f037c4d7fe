"""Fixes that are only shown: what they would make of the code."""

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Applicability
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.registry import rule_by_code
from placement_lint.syntax.edits import apply_edits

BLOCK = """\
import jax

@jax.jit
def step(x):
    # on the host
    with jax.default_device(jax.devices("cpu")[0]):
        y = x + 1

        text = '''
    kept'''
    return y, text
"""
WITHOUT_BLOCK = """\
import jax

@jax.jit
def step(x):
    # on the host
    y = x + 1

    text = '''
    kept'''
    return y, text
"""
DECORATED = """\
import jax

@jax.jit
@jax.default_device(jax.devices("cpu")[0])
def step(x):
    return x
"""
WITHOUT_DECORATOR = """\
import jax

@jax.jit
def step(x):
    return x
"""
ITEMS = """\
import jax

@jax.jit
def step(x):
    with jax.named_scope("a"), jax.default_device(jax.devices("cpu")[0]), jax.named_scope("b"):
        return x
"""
WITHOUT_ITEM = """\
import jax

@jax.jit
def step(x):
    with jax.named_scope("a"), jax.named_scope("b"):
        return x
"""
PUT = """\
import jax

@jax.jit
def step(x):
    return jax.device_put(x @ x.T, jax.devices("cpu")[0])
"""
WITHOUT_PUT = """\
import jax

@jax.jit
def step(x):
    return x @ x.T
"""
BACKEND = """\
import jax

fast = jax.jit(step, backend="cpu")
"""
WITH_SHARDING = """\
import jax

fast = jax.jit(
    step, out_shardings=jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
)
"""
CAPTURED = """\
import jax
import numpy as np

table = np.load("table.npy")

@jax.jit
def look_up(
    indices: jax.Array,
):
    return table[indices]
"""
WITH_PARAMETER = """\
import jax
import numpy as np

table = np.load("table.npy")

@jax.jit
def look_up(
    indices: jax.Array, table,
):
    return table[indices]
"""


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        ("JDP105", BLOCK, WITHOUT_BLOCK),
        ("JDP105", DECORATED, WITHOUT_DECORATOR),
        ("JDP105", ITEMS, WITHOUT_ITEM),
        ("JDP403", PUT, WITHOUT_PUT),
        ("JDP404", BACKEND, WITH_SHARDING),
        ("JDP407", CAPTURED, WITH_PARAMETER),
    ],
    ids=["block", "decorator", "item", "call", "argument", "parameter"],
)
def test_what_is_shown(code: str, before: str, after: str) -> None:
    source = Source("example.py", before)
    (finding,) = lint_source(source, FileOptions((rule_by_code(code),))).findings
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.DISPLAY
    assert apply_edits(source, list(finding.fix.edits)) == after
