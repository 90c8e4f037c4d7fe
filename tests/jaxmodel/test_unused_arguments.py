"""JAX leaves arguments that a jitted function does not use where they are, however passed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.jaxmodel.environments import Environment, each_environment, environment, run_module
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from pathlib import Path

USED = ["used", "used of *", "kept"]


def moved(python: Path | str) -> list[str]:
    report = json.loads(run_module(python, "tests.jaxmodel.unused_arguments_child", time_limit=200))
    assert len(report["called"]) > len(USED) + 4
    return list(report["moved"])


@NEEDS_JAX
def test_what_is_not_used_is_not_moved() -> None:
    assert moved(sys.executable) == USED


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@each_environment
def test_other_versions_agree(wanted: Environment) -> None:
    assert moved(environment(wanted)) == USED
