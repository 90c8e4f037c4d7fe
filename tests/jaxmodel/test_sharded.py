"""What compiled code does with shardings, executed on the JAX that is installed."""

import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.jaxmodel.sharded import IGNORING, SHARDING_ROWS, ShardingRow, Spread
from placement_lint.jaxmodel.sharded_operations import (
    OPERATIONS,
    SAME,
    SPLIT_ALIKE,
    SPLIT_ALIKE_METHODS,
    OperationRow,
    Outcome,
)
from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS, PER_DEVICE, TRACINGS, TraceKind
from tests.jaxmodel.environments import Environment, each_environment, environment
from tests.jaxmodel.test_tracing import CALLS
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = """
import copy, functools, importlib, json, os, pickle, sys, warnings
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax import device_put
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# As tests/jaxmodel/transfer_child.py does, for the same reason: one context for all programs.
mlir = importlib.import_module("jax._src.interpreters.mlir")
mlir.make_ir_context = functools.cache(mlir.make_ir_context)
jax.config.update("jax_traceback_in_locations_limit", 0)
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
def attempt(act, *given):
    try:
        return extent(act(*given))
    except TypeError:
        return "TypeError"

for name, call in placings:
    compiled = jax.jit(lambda x: eval(call, scope(x)))
    found[name] = [attempt(eval, call, scope(x)), attempt(compiled, x)]

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
        committed = got.committed if hasattr(got, "committed") else got._committed
        return "elsewhere" if committed else "the default device"
    if hasattr(got.sharding, "spec"):
        spec = got.sharding.spec
    else:  # a GSPMDSharding has none: 4 parts are those of "data", 2 of "model"
        named = {1: None, 2: "model", 4: "data", 8: ("data", "model")}
        parts = got.sharding.shard_shape(got.shape)
        spec = [named[whole // part] for whole, part in zip(got.shape, parts)]
    parts = [[] if p is None else [p] if isinstance(p, str) else list(p) for p in spec]
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


@dataclass(frozen=True)
class Executed:
    """What one JAX gave."""

    spreads: dict[str, list[str]]
    outcomes: list[Any]
    version: tuple[int, ...]

    def has(self, row: ShardingRow | OperationRow) -> bool:
        """Return whether a row is about this version."""
        return row.since <= self.version and (row.until is None or self.version < row.until)

    def wrong_operations(self) -> dict[str, Any]:
        """Give the operations with another outcome than their row says."""
        return {
            row.call: (outcome, row.outcome)
            for row, outcome in zip(OPERATIONS, self.outcomes, strict=False)
            if self.has(row) and outcome != _listed(row.outcome)
        }

    def wrong_alike(self) -> dict[str, Any]:
        """Give what does not keep the split of an array, and is said to."""
        outcomes = self.outcomes[len(OPERATIONS) :]
        given = zip(ALIKE, outcomes, strict=True)
        return {call: got for call, got in given if got != _listed(SAME)}

    def wrong_placings(self) -> dict[str, Any]:
        """Give the calls with a sharding that does not become what their row says."""
        return {
            row.name: (self.spreads[row.name], row.compiled)
            for row in SHARDING_ROWS
            if self.has(row) and self.spreads[row.name] != [Spread.SPLIT.name, row.compiled.name]
        }

    def wrong_tracings(self) -> dict[str, Any]:
        """Give the calls in the functions of which a `device_put` is not ignored."""
        (put,) = [row for row in SHARDING_ROWS if row.name == "jax.device_put" and self.has(row)]
        return {
            name: self.spreads[name]
            for name in OVER_WHOLE_ARRAYS - {"jax.lax.map"}
            if name in self.spreads and self.spreads[name] != [put.compiled.name]
        }


def _listed(outcome: Outcome) -> Any:
    return outcome if isinstance(outcome, str) else [*map(list, outcome)]


def execute(python: str) -> Executed:
    """Execute all rows with the JAX of a Python."""
    placings = sorted({(each.name, each.call) for each in SHARDING_ROWS})
    calls = {name: CALLS.get(name, "call(body)(x)") for name in OVER_WHOLE_ARRAYS - set(WITHOUT)}
    calls |= {"jax.lax.scan": SCAN, "jax.lax.while_loop": WHILE}
    tracings = [(name, call) for name, call in sorted(calls.items()) if name.startswith("jax.")]
    done = subprocess.run(
        [python, "-c", PROGRAM],
        input=json.dumps([placings, tracings, [*(row.call for row in OPERATIONS), *ALIKE]]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    spreads, outcomes, version = json.loads(done.stdout)
    return Executed(spreads, outcomes, tuple(version))


@pytest.fixture(scope="module")
def executed() -> Executed:
    return execute(sys.executable)


@pytest.mark.every
@NEEDS_JAX
def test_what_operations_do_with_arrays_on_a_mesh(executed: Executed) -> None:
    assert executed.wrong_operations() == {}


@pytest.mark.every
@NEEDS_JAX
def test_what_is_computed_element_by_element_is_split_alike(executed: Executed) -> None:
    assert executed.wrong_alike() == {}


@pytest.mark.every
@NEEDS_JAX
def test_what_becomes_of_a_sharding(executed: Executed) -> None:
    assert executed.wrong_placings() == {}


@pytest.mark.every
@NEEDS_JAX
def test_compiled_code_does_not_split(executed: Executed) -> None:
    assert executed.wrong_tracings() == {}


@pytest.mark.matrix
@each_environment
def test_each_version_agrees_with_every_row(wanted: Environment) -> None:
    there = execute(str(environment(wanted)))
    wrong = [
        there.wrong_operations(),
        there.wrong_alike(),
        there.wrong_placings(),
        there.wrong_tracings(),
    ]
    assert wrong == [{}, {}, {}, {}]


@pytest.mark.parametrize("key", ["call", "name"])
def test_the_versions_of_a_row_do_not_overlap(key: str) -> None:
    rows: Sequence[Any] = OPERATIONS if key == "call" else SHARDING_ROWS
    for one, other in itertools.combinations(rows, 2):
        if getattr(one, key) == getattr(other, key):
            assert one.until == other.since or other.until == one.since


def test_every_call_that_stages_is_one_or_the_other() -> None:
    staged = {row.name for row in TRACINGS.values() if row.kind is TraceKind.STAGED}
    assert staged == OVER_WHOLE_ARRAYS | PER_DEVICE
    assert not OVER_WHOLE_ARRAYS & PER_DEVICE
    assert "jax.device_put" in IGNORING
