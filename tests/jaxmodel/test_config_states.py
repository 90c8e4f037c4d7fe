"""Every row of the configuration contexts, executed on the JAX that is installed."""

import functools
import json
import subprocess
import sys
from typing import Any

import pytest

from placement_lint.jaxmodel.config_states import (
    CONFIG_CONTEXT_WORDS,
    CONFIG_CONTEXTS,
    ConfigContext,
    ContextKind,
)
from tests.marks import NEEDS_JAX

# Values that the system default is not; for switches, the other way round than they stand.
SAMPLES = {
    "jax_array_garbage_collection_guard": "'log'",
    "jax_default_device": "jax.devices('cpu')[-1]",
    "jax_default_matmul_precision": "'float32'",
    "jax_default_prng_impl": "'rbg'",
    "jax_legacy_prng_key": "'error'",
    "jax_numpy_dtype_promotion": "'strict'",
    "jax_numpy_rank_promotion": "'raise'",
    "jax_spmd_mode": "'allow_all'",
    "jax_transfer_guard": "'log'",
    "jax_transfer_guard_device_to_device": "'log'",
    "jax_transfer_guard_device_to_host": "'log'",
    "jax_transfer_guard_host_to_device": "'log'",
}

# Runs each row both ways, and finds the State objects that the table lacks.
PROGRAM = """
import functools, json, sys, warnings
import jax, jax.experimental

warnings.simplefilter("ignore")
rows, samples = json.load(sys.stdin)

def attempt(work):
    try:
        return repr(work())
    except Exception as error:
        return f"raises {type(error).__name__}"

def run(name, option, takes_value, parameter):
    where = functools.reduce(getattr, name.split(".")[1:-1], jax)
    context = getattr(where, name.split(".")[-1], None)
    if context is None:
        return None
    read = lambda: getattr(jax.config, option)
    before = read()
    value = eval(samples[option]) if option in samples else not before

    def inside(*arguments, **keywords):
        with context(*arguments, **keywords):
            return read()

    def updated(to):
        try:
            jax.config.update(option, to)
            return read()
        finally:
            jax.config.update(option, before)

    return {
        "inside": attempt(lambda: inside(value)) if takes_value else None,
        "by_keyword": attempt(lambda: inside(**{parameter: value})) if takes_value else None,
        "updated": attempt(lambda: updated(value)),
        "without_argument": attempt(inside),
        "updated_to_none": attempt(lambda: updated(None)),
        "before": repr(before),
        "is_state": type(context).__name__ in {"State", "_StateContextManager"},
        "leads_to_generator": hasattr(context, "__wrapped__"),
    }

states = [
    f"jax.{name}" for name in dir(jax)
    if type(getattr(jax, name, None)).__name__ in {"State", "_StateContextManager"}
]
json.dump([jax.__version__, {row[0]: run(*row) for row in rows}, states], sys.stdout)
"""

pytestmark = NEEDS_JAX


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3])


@functools.cache
def measured() -> tuple[str, dict[str, dict[str, Any] | None], list[str]]:
    rows = [(c.name, c.option, c.parameter is not None, c.parameter) for c in TABLE]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([rows, SAMPLES]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found, results, states = json.loads(run.stdout)
    return found, results, states


TABLE = list(CONFIG_CONTEXTS.values())


@pytest.mark.parametrize("context", TABLE, ids=lambda context: context.name)
def test_the_row_holds(context: ConfigContext) -> None:
    installed, results, _ = measured()
    seen = results[context.name]
    if context.since and version(installed) < version(context.since):
        pytest.skip(f"since {context.since} only")
    if context.until and version(installed) > version(context.until):
        assert seen is None
        return
    assert seen is not None, f"{context.name} is not there in JAX {installed}"
    if context.parameter is not None:
        assert seen["inside"] == seen["updated"] == seen["by_keyword"]
        assert seen["inside"] != seen["before"]
    if context.default is None:
        assert seen["without_argument"] == "raises TypeError"
    elif version(installed) >= (0, 8):
        # On 0.5.3 to 0.7.2 the option reads as a marker for "no value", which is true like True.
        assert seen["without_argument"] == context.default
    if version(installed) >= (0, 5):
        # 0.4.30 checks nothing here, and fails at the first use.
        assert seen["updated_to_none"].startswith("raises") is not context.takes_none
    assert seen["is_state"] is (context.kind is ContextKind.STATE)
    if context.kind is ContextKind.GENERATOR:
        assert seen["leads_to_generator"]


def test_no_state_of_jax_is_missing() -> None:
    installed, _, states = measured()
    assert states
    if version(installed) <= (0, 10, 2):
        assert set(states) <= set(CONFIG_CONTEXTS)


def test_the_table_is_in_order() -> None:
    assert len(TABLE) >= 35
    for context in TABLE:
        assert context.name.startswith("jax.")
        assert context.name.rpartition(".")[2].encode() in CONFIG_CONTEXT_WORDS
        assert (context.kind is ContextKind.PRESET) == (context.parameter is None)
        assert context.kind is not ContextKind.PRESET or context.default is not None
