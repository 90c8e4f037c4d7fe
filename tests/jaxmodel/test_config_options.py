"""Every option of the JAX that is installed, assigned to as an attribute."""

import functools
import json
import subprocess
import sys

from placement_lint.jaxmodel.config_options import (
    CONFIG_FLAGS,
    CONFIG_OPTIONS,
    CONFIG_PROPERTIES,
)
from tests.marks import NEEDS_JAX

PROGRAM = """
import json, sys
import jax

def assign(name):
    before = jax.config.values.get(name)
    try:
        setattr(jax.config, name, "changed")
    except AttributeError:
        return "raises"
    return "accepted" if jax.config.values.get(name) == before else "set"

json.dump([jax.__version__, {name: assign(name) for name in jax.config.values}], sys.stdout)
"""

pytestmark = NEEDS_JAX


@functools.cache
def measured() -> tuple[tuple[int, ...], dict[str, str]]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    version, outcomes = json.loads(run.stdout)
    return tuple(int(part) for part in version.split(".")[:3]), outcomes


def test_assigning_sets_no_option() -> None:
    _, outcomes = measured()
    assert len(outcomes) > 80
    assert set(outcomes.values()) == {"raises", "accepted"}


def test_each_option_is_where_it_belongs() -> None:
    version, outcomes = measured()
    for name, outcome in outcomes.items():
        if version > (0, 12, 0) and name not in CONFIG_OPTIONS:
            # One that is newer than the table.
            continue
        assert name in CONFIG_OPTIONS
        if version >= (0, 5, 3):
            assert (name in CONFIG_PROPERTIES) is (outcome == "raises"), name


def test_the_tables_are_apart() -> None:
    assert not CONFIG_PROPERTIES & CONFIG_FLAGS
    assert "jax_platform_name" in CONFIG_FLAGS
    assert "jax_default_device" in CONFIG_PROPERTIES
