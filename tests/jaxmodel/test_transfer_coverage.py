"""Every public name is a row of the transfer table, or left out for a reason that is written."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from placement_lint.jaxmodel.transfer import ROWS
from tests.jaxmodel.environments import Environment, each_environment, environment, run_module
from tests.jaxmodel.transfer_unmodelled import REASONS, reason_for
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {row.name for row in ROWS}


def uncovered(python: Path | str) -> list[str]:
    report = json.loads(run_module(python, "tests.jaxmodel.names_child", time_limit=120))
    found = {f"{space}.{name}" for space, names in report["names"].items() for name in names}
    assert len(found) > 1000
    assert len(found & NAMES) > 800
    return sorted(name for name in found - NAMES if reason_for(name) is None)


@NEEDS_JAX
def test_every_public_name_is_covered() -> None:
    assert uncovered(sys.executable) == []


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@each_environment
def test_every_public_name_is_covered_on_other_versions(wanted: Environment) -> None:
    assert uncovered(environment(wanted)) == []


def test_no_row_is_said_to_be_left_out() -> None:
    assert NAMES & REASONS.keys() == set()
