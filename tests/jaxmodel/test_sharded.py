"""What compiled code does with shardings, executed on the JAX that is installed."""

import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from placement_lint.jaxmodel.sharded import IGNORING, SHARDING_ROWS, ShardingRow, Spread
from placement_lint.jaxmodel.sharded_operations import (
    OPERATIONS,
    SAME,
    SPLIT_ALIKE,
    SPLIT_ALIKE_METHODS,
)
from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS, PER_DEVICE, TRACINGS, TraceKind
from tests.jaxmodel.test_tracing import CALLS
from tests.marks import NEEDS_JAX

PROGRAM = """
import copy, importlib, json, os, pickle, sys, warnings
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax import device_put
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding, PartitionSpec

warnings.simplefilter("ignore")
placings, tracings, operations = json.load(sys.stdin)
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
s = NamedSharding(mesh, PartitionSpec("data"))
x, y = jnp.ones((8, 4)), np.ones((8, 4))

def extent(array):
    if len(array.devices()) == 1:
        return "ALONE"
    return "WHOLE" if array.addressable_shards[0].data.shape == array.shape else "SPLIT"

def scope(x):
    return {**vars(jnp), **globals(), "x": x}

found = {}
for name, call in placings:
    eager = extent(eval(call, scope(x)))
    found[name] = [eager, extent(jax.jit(lambda x: eval(call, scope(x)))(x))]

def putting(a):
    return device_put(a * 2.0, s) if a.shape == x.shape else a

for name, call in tracings:
    module, _, last = name.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), last)
    except (AttributeError, ImportError):
        continue
    names = {**globals(), "call": function, "body": putting}
    found[name] = [extent(jax.tree.leaves(eval(call, names))[0])]

split, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (["data"], []))
other = NamedSharding(mesh, PartitionSpec("model"))
n, u, c = y, x, device_put(x, jax.devices()[3])
S, R, by_other_axis = device_put(y, split), device_put(y, whole), device_put(y, other)
half = device_put(y, NamedSharding(Mesh(np.array(jax.devices()[:4]), ("data",)), split.spec))
reversed_mesh = Mesh(np.array(jax.devices()[::-1]).reshape(4, 2), ("data", "model"))
reversed_order = device_put(y, NamedSharding(reversed_mesh, split.spec))

def outcome(call):
    try:
        got = eval(call, {**globals(), "copy": copy, "pickle": pickle})
    except ValueError:
        return "ValueError"
    if not isinstance(got, jax.Array):
        return "NumPy"
    if len(got.devices()) == 1:
        return "elsewhere" if got.committed else "the default device"
    parts = [[] if p is None else [p] if isinstance(p, str) else list(p) for p in got.sharding.spec]
    while parts and not parts[-1]:
        parts.pop()
    return [["x" if axis == "data" else axis for axis in part] for part in parts]

outcomes = [outcome(call) for call in operations]
print(json.dumps([found, outcomes, list(jax.__version_info__)]))
"""
GIVEN = {"astype": "jnp.int32", "clip": "0, 1"}
ALIKE = [
    *(f"{name}(S)" for name in sorted(SPLIT_ALIKE)),
    *(f"S.{name}({GIVEN.get(name, '')})" for name in sorted(SPLIT_ALIKE_METHODS)),
]
WITHOUT = {
    "jax.lax.map": "gives its function the rows",
    "jax.lax.scan": "gives its function the rows, or a carry: below",
}
SCAN = "call(lambda c, _: (body(c), None), x, None, length=2)"
WHILE = "call(lambda a: a.sum() < 40, body, x)"


@pytest.fixture(scope="module")
def executed() -> tuple[dict[str, list[str]], list[Any], tuple[int, ...]]:
    placings = [(each.name, each.call) for each in SHARDING_ROWS]
    calls = {name: CALLS.get(name, "call(body)(x)") for name in OVER_WHOLE_ARRAYS - set(WITHOUT)}
    calls |= {"jax.lax.scan": SCAN, "jax.lax.while_loop": WHILE}
    tracings = [(name, call) for name, call in sorted(calls.items()) if name.startswith("jax.")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([placings, tracings, [*(row.call for row in OPERATIONS), *ALIKE]]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, outcomes, version = json.loads(done.stdout)
    return found, outcomes, tuple(version)


@pytest.fixture(scope="module")
def measured(
    executed: tuple[dict[str, list[str]], list[Any], tuple[int, ...]],
) -> dict[str, list[str]]:
    return executed[0]


@NEEDS_JAX
def test_what_operations_do_with_arrays_on_a_mesh(
    executed: tuple[dict[str, list[str]], list[Any], tuple[int, ...]],
) -> None:
    _, outcomes, version = executed
    wrong = {
        row.call: (outcome, row.outcome)
        for row, outcome in zip(OPERATIONS, outcomes, strict=False)
        if row.since <= version
        and (row.until is None or version < row.until)
        and outcome != (row.outcome if isinstance(row.outcome, str) else [*map(list, row.outcome)])
    }
    assert wrong == {}


@NEEDS_JAX
def test_what_is_computed_element_by_element_is_split_alike(
    executed: tuple[dict[str, list[str]], list[Any], tuple[int, ...]],
) -> None:
    outcomes = executed[1][len(OPERATIONS) :]
    same = [*map(list, SAME)]
    assert {call: got for call, got in zip(ALIKE, outcomes, strict=True) if got != same} == {}


def test_the_versions_of_an_operation_do_not_overlap() -> None:
    for one, other in itertools.combinations(OPERATIONS, 2):
        if one.call == other.call:
            assert one.until == other.since or other.until == one.since


@NEEDS_JAX
@pytest.mark.parametrize("placing", SHARDING_ROWS, ids=lambda placing: placing.name)
def test_what_becomes_of_a_sharding(placing: ShardingRow, measured: dict[str, list[str]]) -> None:
    assert measured[placing.name] == [Spread.SPLIT.name, placing.compiled.name]


@NEEDS_JAX
@pytest.mark.parametrize("name", sorted(OVER_WHOLE_ARRAYS - {"jax.lax.map"}))
def test_compiled_code_does_not_split(name: str, measured: dict[str, list[str]]) -> None:
    if name not in measured:
        pytest.skip("not of JAX, or not in this version")
    assert measured[name] == [Spread.WHOLE.name]


def test_every_call_that_stages_is_one_or_the_other() -> None:
    staged = {row.name for row in TRACINGS.values() if row.kind is TraceKind.STAGED}
    assert staged == OVER_WHOLE_ARRAYS | PER_DEVICE
    assert not OVER_WHOLE_ARRAYS & PER_DEVICE
    assert "jax.device_put" in IGNORING
