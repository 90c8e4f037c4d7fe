"""The programs of `causes.txt`: causes of disagreements that were found and mended, by JAX."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.differential.analysis import analyse
from tests.differential.compare import compare
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from tests.differential.oracle_client import OracleClient

pytestmark = [pytest.mark.fuzz, *RUNS_PROGRAMS]

HEAD = """\
import collections, contextlib, dataclasses, functools
import jax
import jax.numpy as jnp
import numpy as np
import inputs
"""
SEEDS = [0, 1, 2, 3]
"""All inputs yes, all no, and two that vary."""

_CASE = re.compile(
    r"^# case: (\S+)(?: \[(\d+) unknown\])?\n(.*?)(?=^# case: |\Z)", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"^# file: (\S+)\n", re.MULTILINE)
CAUSES = {
    name: (text, int(unknown or 0))
    for name, unknown, text in _CASE.findall((Path(__file__).parent / "causes.txt").read_text())
}


def modules_of(text: str) -> dict[str, str]:
    """Give the modules of a case, by name."""
    first, *rest = _FILE.split(text)
    parts = dict(zip(rest[::2], rest[1::2], strict=True)) if rest else {"main": first}
    return {name: HEAD + body for name, body in parts.items()}


@pytest.mark.parametrize("name", CAUSES)
def test_jax_agrees(oracle: OracleClient, name: str) -> None:
    text, unknown = CAUSES[name]
    modules = modules_of(text)
    comparison = compare(modules, analyse(modules), oracle.run(modules, SEEDS))
    assert comparison.disagreements == []
    assert comparison.uses > 0
    assert comparison.unknown <= unknown
