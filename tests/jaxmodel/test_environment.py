"""Environment variables: each is set at three times, and JAX agrees with the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.jaxmodel.config_options import CONFIG_OPTIONS
from placement_lint.jaxmodel.environment import UNREAD_OPTIONS, VARIABLES, Read, Variable
from placement_lint.jaxmodel.startup import DEAD_VARIABLES
from placement_lint.jaxmodel.versions import parse_version
from tests.jaxmodel.environments import ROOT, Environment, each_environment, environment
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from placement_lint.jaxmodel.versions import Version

# What differs from the default, where that is no boolean and no number.
_VALUES = {
    "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "mpi",
    "JAX_CUDA_VISIBLE_DEVICES": "0",
    "JAX_DEFAULT_DEVICE": "cpu",
    "JAX_DEFAULT_DTYPE_BITS": "32",
    "JAX_DEFAULT_MATMUL_PRECISION": "float32",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE": "raise",
    "JAX_ERROR_CHECKING_BEHAVIOR_NAN": "raise",
    "JAX_ERROR_CHECKING_BEHAVIOR_OOB": "raise",
    "JAX_EXPLICIT_X64_DTYPES": "error",
    "JAX_LEGACY_PRNG_KEY": "error",
    "JAX_LOGGING_LEVEL": "ERROR",
    "JAX_MEMORY_FITTING_LEVEL": "O1",
    "JAX_NUM_CPU_DEVICES": "6",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_NUMPY_RANK_PROMOTION": "warn",
    "JAX_OPTIMIZATION_LEVEL": "O1",
    "JAX_PALLAS_AUTO_ASSIGN_COLLECTIVE_IDS": "yes",
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "all",
    "JAX_PLATFORMS": "cpu",
    "JAX_PLATFORM_NAME": "cpu",
    "JAX_SEND_TRACEBACK_TO_RUNTIME": "full",
    "JAX_SPMD_MODE": "allow_all",
    "JAX_ARRAY_GARBAGE_COLLECTION_GUARD": "log",
    "JAX_THREAD_GUARD": "1",
    "JAX_TRACEBACK_FILTERING": "off",
    "JAX_TRANSFER_GUARD": "log",
    "JAX_USE_MAGMA": "on",
    **dict.fromkeys(DEAD_VARIABLES, "log"),
}
_PLUGIN_VALUES = {
    "XLA_PYTHON_CLIENT_ALLOCATOR": ("platform", "allocator", "'platform'"),
    "XLA_PYTHON_CLIENT_PREALLOCATE": ("false", "preallocate", "False"),
    "XLA_PYTHON_CLIENT_MEM_FRACTION": (".25", "memory_fraction", "0.25"),
    "XLA_CLIENT_MEM_FRACTION": (".25", "memory_fraction", "0.25"),
    "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB": ("7", "collective_memory_size", "7340032"),
}
_FRACTION = "XLA_CLIENT_MEM_FRACTION"
_FLAGS = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
_OURS = {name for name in VARIABLES if name.startswith(("JAX_", "XLA_"))} | UNREAD_OPTIONS


def run(python: str, when: str, variables: dict[str, str]) -> dict[str, Any]:
    """Give what a process sees that sets variables at a time: see `environment_child`."""
    own = {name: value for name, value in os.environ.items() if name not in _OURS}
    finished = subprocess.run(
        [python, "-m", "tests.jaxmodel.environment_child", when, json.dumps(variables)],
        cwd=ROOT,
        env={**own, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    seen: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return seen


def other_value(name: str, default: str) -> str:
    """Give a value for a variable that is not the default of its option."""
    if name in _VALUES:
        return _VALUES[name]
    if default in {"True", "False"}:
        return "0" if default == "True" else "1"
    if default.lstrip("-").replace(".", "", 1).isdigit():
        return str(int(float(default)) + 7)
    return "other"


def is_read_by(variable: Variable, version: Version) -> bool:
    """Tell whether the table says that a version reads a variable."""
    since = parse_version(variable.since) if variable.since else None
    until = parse_version(variable.until) if variable.until else None
    return (since is None or version >= since) and (until is None or version < until)


def check(python: str) -> None:
    """Compare one JAX with the table, whichever it is."""
    plain = run(python, "before", {})
    version = parse_version(plain["version"])
    assert version is not None
    defaults: dict[str, str] = plain["options"]
    read = {
        name for name, variable in VARIABLES.items()
        if variable.read is Read.IMPORT and is_read_by(variable, version)
    }  # fmt: skip
    options = {f"JAX_{name[4:].upper()}" for name in defaults if name.startswith("jax_")}

    # What is looked up is what the table says, and is an option.
    assert read <= set(plain["looked_up"])
    assert read <= options
    unknown = (set(plain["looked_up"]) & options) - read
    known_options = {name.upper() for name in CONFIG_OPTIONS}
    assert not unknown & known_options or version > (0, 12, 0, 1), unknown

    values = {
        name: other_value(name, defaults[name.lower()])
        for name in (read | UNREAD_OPTIONS) & options - DEAD_VARIABLES.keys()
    }
    # Both fractions at once are an error.
    plugin = {name: value for name, (value, _, _) in _PLUGIN_VALUES.items() if name != _FRACTION}
    before = run(python, "before", values | _FLAGS)
    between = run(python, "between", values | _FLAGS | plugin)
    after = run(python, "after", values | _FLAGS | {_FRACTION: _PLUGIN_VALUES[_FRACTION][0]})
    guards = run(python, "before", {name: _VALUES[name] for name in DEAD_VARIABLES})

    def changed(seen: dict[str, Any]) -> set[str]:
        return {
            name
            for name in options & _OURS
            if seen["options"][name.lower()] != defaults[name.lower()]
        }

    # Read at import, by what the options say.
    assert changed(before) - DEAD_VARIABLES.keys() == values.keys() - UNREAD_OPTIONS
    assert changed(between) == changed(after) == changed(guards) == set()

    # Read at the start, by how many devices there are. The option comes before the flag.
    asked = 6 if "JAX_NUM_CPU_DEVICES" in read else 3
    counts = [seen["devices"] for seen in (plain, before, between, after)]
    assert counts == [1, asked, 3, 1]

    # Read by what the plugin calls when it is initialised, neither at import nor at the start.
    for name, (_, option, expected) in _PLUGIN_VALUES.items():
        seen = after if name == _FRACTION else between
        is_taken = is_read_by(VARIABLES[name], version)
        assert (seen["plugin"].get(option) == expected) == is_taken, name
        assert plain["plugin"].get(option) != expected, name


@NEEDS_JAX
@pytest.mark.every
def test_the_installed_jax_reads_what_the_table_says() -> None:
    check(sys.executable)


@pytest.mark.matrix
@pytest.mark.timeout(600)
@each_environment
def test_each_version_reads_what_the_table_says(wanted: Environment) -> None:
    check(str(environment(wanted)))


def test_the_table_is_of_one_piece() -> None:
    assert len(VARIABLES) > 140
    assert not UNREAD_OPTIONS & VARIABLES.keys()
    assert VARIABLES.keys() >= DEAD_VARIABLES.keys()
    for name, variable in VARIABLES.items():
        assert variable.name == name
        assert variable.source
        if variable.read is Read.IMPORT:
            assert name.lower() in CONFIG_OPTIONS
        if variable.since and variable.until:
            since, until = parse_version(variable.since), parse_version(variable.until)
            assert since is not None
            assert until is not None
            assert since < until
    assert {name.lower() for name in UNREAD_OPTIONS} <= CONFIG_OPTIONS
