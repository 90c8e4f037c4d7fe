"""Every row of the calls that trace, executed on the JAX that is installed."""

import json
import subprocess
import sys
from typing import Any

import pytest

from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS
from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.tracing import (
    LIFTING,
    TRACING_WORDS,
    TRACINGS,
    TraceKind,
    Tracing,
)
from placement_lint.jaxmodel.transfer import TABLE
from tests.marks import NEEDS_JAX

# How each is called with a function `body` of one array; by default `call(body)(x)`.
CALLS = {
    "jax.pmap": "call(body)(x[:1])",
    "jax.lax.scan": "call(lambda c, a: (c, body(a)), 0.0, x)",
    "jax.lax.map": "call(body, x)",
    "jax.lax.fori_loop": "call(0, 2, lambda i, a: body(a), x)",
    "jax.lax.while_loop": "call(lambda a: a.sum() < 0, body, x)",
    "jax.lax.cond": "call(True, body, body, x)",
    "jax.lax.switch": "call(0, [body, body], x)",
    "jax.shard_map": "call(body, mesh=mesh, in_specs=spec, out_specs=spec)(x)",
    "jax.experimental.shard_map.shard_map": (
        "call(body, mesh=mesh, in_specs=spec, out_specs=spec)(x)"
    ),
    "jax.closure_convert": "call(body, x)[0](x)",
    "jax.experimental.checkify.checkify": "call(body)(x)[1]",
    "jax.lax.custom_linear_solve": "call(body, x, solve=lambda matvec, b: body(b))",
    "jax.numpy.frompyfunc": "call(lambda a, b: body(a), 2, 1)(x, x)",
    "jax.grad": "call(lambda a: body(a).sum())(x)",
    "jax.value_and_grad": "call(lambda a: body(a).sum())(x)",
    "jax.hessian": "call(lambda a: body(a).sum())(x)",
    "jax.jvp": "call(body, (x,), (x,))[0]",
    "jax.vjp": "call(body, x)[0]",
    "jax.linearize": "call(body, x)[0]",
    "jax.linear_transpose": "call(lambda a: body(a) - body(a * 0), x) and None",
    "jax.custom_gradient": "call(lambda a: (body(a), lambda g: (g,)))(x)",
    "jax.custom_vjp": "with_rule(call(body))(x)",
    "jax.custom_jvp": "with_jvp(call(body))(x)",
    "jax.lax.associative_scan": "call(lambda a, b: a + body(b), x)",
    "jax.eval_shape": "call(body, x) and None",
    "jax.make_jaxpr": "call(body)(x) and None",
}
RENAMED = {("jax.experimental.pallas.pallas_call", "kernel"): "f"}
"""What parameters were called in the oldest version."""
NOT_CALLED = {"jax.experimental.pallas.pallas_call": "its kernel takes references, not arrays"}

PROGRAM = """
import functools, importlib, inspect, json, os, sys, warnings
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec

warnings.simplefilter("ignore")
calls, callbacks = json.load(sys.stdin)
d0, d1 = jax.devices()
x = jnp.ones(4)
mesh, spec = Mesh(np.array(jax.devices()), ("a",)), PartitionSpec("a")

def with_rule(function):
    function.defvjp(lambda a: (a, None), lambda _, g: (g,))
    return function

def with_jvp(function):
    function.defjvp(lambda p, t: (p[0], t[0]))
    return function

def entering(seen):
    def body(a):
        with jax.default_device(d1):
            made = jnp.arange(3.0)
        seen.append(not isinstance(made, jax.core.Tracer) and made.devices() == {d1})
        return a * 2 + made.sum()
    return body

def putting(a):
    return jax.device_put(a * 2, d1)

def attempt(work):
    try:
        return work()
    except Exception as error:
        return f"raises {type(error).__name__}"

def found(name):
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (AttributeError, ModuleNotFoundError):
        return None

def run(name, how):
    call = found(name)
    if call is None:
        return None
    result = {"parameters": list(inspect.signature(call).parameters)}
    if how is not None:
        seen = []
        names = {**globals(), "call": call}
        attempt(lambda: eval(how, {**names, "body": entering(seen)}))
        put = attempt(lambda: eval(how, {**names, "body": putting}))
        leaves = [leaf for leaf in jax.tree.leaves(put) if isinstance(leaf, jax.Array)]
        result["entered"] = seen
        result["put"] = put if isinstance(put, str) else (
            any(leaf.devices() == {d1} or leaf._committed for leaf in leaves) if leaves else None
        )
        result["moved"] = any(leaf.devices() == {d1} for leaf in leaves)
    return result

json.dump({name: run(name, how) for name, how in calls.items()} | {
    name: {"parameters": list(inspect.signature(found(name)).parameters)} for name in callbacks
}, sys.stdout)
"""

jax_rows = [row for row in TRACINGS.values() if row.name.startswith("jax.")]


def measured() -> dict[str, dict[str, Any] | None]:
    calls = {
        row.name: None if row.name in NOT_CALLED else CALLS.get(row.name, "call(body)(x)")
        for row in jax_rows
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([calls, sorted(HOST_CALLBACKS)]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    results: dict[str, dict[str, Any] | None] = json.loads(run.stdout)
    return results


@NEEDS_JAX
@pytest.mark.every
def test_the_rows_are_as_jax_does_it(subtests: pytest.Subtests) -> None:
    """All rows that are in this JAX, which is started once for them."""
    results = measured()
    for row in jax_rows:
        result = results[row.name]
        if result is None:
            continue
        with subtests.test(f"where the functions of {row.name} are"):
            check_parameters(row, result["parameters"])
        if row.name not in NOT_CALLED:
            with subtests.test(f"what is left of placements inside {row.name}"):
                check_placements(row, result)
    for name in HOST_CALLBACKS:
        with subtests.test(f"{name} takes its function first"):
            callback = results[name]
            assert callback is not None
            assert callback["parameters"][0] == "callback"
    left_out = [row.name for row in jax_rows if results[row.name] is None]
    assert len(left_out) < len(jax_rows) / 2, left_out


def check_parameters(row: Tracing, parameters: list[str]) -> None:
    for position, keyword in row.parameters:
        assert parameters[position] in {keyword, RENAMED.get((row.name, keyword))}


def check_placements(row: Tracing, result: dict[str, Any]) -> None:
    assert result["entered"], "the function was not called"
    if row.kind is TraceKind.VARYING:
        return
    assert all(result["entered"]) is (row.kind is TraceKind.EAGER)
    if row.kind is TraceKind.STAGED:
        assert result["moved"] is False
    elif row.kind is TraceKind.SHARDED:
        assert result["put"] == "raises ValueError"
    elif row.kind is TraceKind.REPLAYED:
        assert result["moved"] is True
    elif row.kind is TraceKind.ABSTRACT:
        assert result["put"] is None


def test_every_transformation_of_the_transfer_table_is_here() -> None:
    transforming = {Effect.TRANSFORM, Effect.DISTRIBUTE}
    assert {row.name for row in TABLE.values() if row.effect in transforming} <= set(TRACINGS)


def test_the_words_are_those_of_the_rows() -> None:
    assert b"jit" in TRACING_WORDS
    assert b"scan" in TRACING_WORDS
    assert b"vmap" not in TRACING_WORDS


LIFTED = """
import json, os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import flax.linen as nn, jax, jax.numpy as jnp

other, found = jax.devices()[1], {}
for name in json.load(sys.stdin):
    lift = getattr(nn, name)
    more = {"length": 2} if name == "scan" else {}

    class Entering(nn.Module):
        def __call__(self, x, *_):
            with jax.default_device(other):
                made = jnp.ones(3) * 2.0
            return (made, None) if more else made

    class Putting(nn.Module):
        def __call__(self, x, *_):
            put = jax.device_put(x, other) * 2.0
            return (put, None) if more else put

    moved = []
    for cls in (Entering, Putting):
        given = lift(cls, **more)().apply({}, jnp.ones(3))
        moved.append(jax.tree.leaves(given)[0].devices() == {other})
    found[name] = moved
json.dump(found, sys.stdout)
"""


@NEEDS_JAX
@pytest.mark.every
def test_classes_are_lifted_as_flax_does_it() -> None:
    """A block of a default device has no effect in any, `jax.device_put` where it is replayed."""
    pytest.importorskip("flax")
    names = {name.rpartition(".")[2]: row.kind for name, row in LIFTING.items()}
    run = subprocess.run(
        [sys.executable, "-c", LIFTED],
        input=json.dumps(sorted(names)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        name: [False, kind is TraceKind.REPLAYED] for name, kind in names.items()
    }
