"""Trace says what a call on a mesh copies to all of its devices, and joins it with JDP707.

JAX is started for each program: `pytest -m every tests/trace`.
"""

from __future__ import annotations

from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.trace.recorder import size_on
from tests.marks import NEEDS_JAX
from tests.trace.running import trace

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("data",))
    step = jax.jit(lambda params, batch: batch @ params)


    def main():
        params = jnp.ones((512, 512))
        for _ in range(3):
            batch = jax.device_put(np.ones((64, 512), np.float32), NamedSharding(mesh, P("data")))
            print(step(params, batch).shape)


    main()
"""
EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}


def sharding(devices: str, part: tuple[int, ...] = ()) -> Any:
    """Give a sharding over devices with names of one letter, each of which gets such a part."""
    return SimpleNamespace(device_set={*devices}, shard_shape=lambda _: part)


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (sharding("b"), 4096),
        (sharding("abcd", (8, 128)), 3 * 4096),
        (sharding("bcd", (8, 128)), 3 * 4096),
        (sharding("abcd", (2, 128)), 3 * 1024),
    ],
)
def test_the_bytes_that_come_to_others(wanted: Any, size: int) -> None:
    array = SimpleNamespace(shape=(8, 128), nbytes=4096, sharding=sharding("a"))
    assert size_on(array, wanted) == size


def test_an_empty_array_takes_nothing() -> None:
    array = SimpleNamespace(shape=(0, 128), nbytes=0, sharding=sharding("a"))
    assert size_on(array, sharding("abcd", (0, 128))) == 0


@pytest.mark.every
@NEEDS_JAX
def test_parameters_that_each_call_replicates(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(dedent(PROGRAM), encoding="utf-8")
    traced = trace(tmp_path, "train.py", variables=EIGHT)
    (found,) = [each for each in traced.report["findings"] if each["code"] == "JDP707"]
    assert found["state"] == "confirmed"
    (line,) = traced.lines("spread")["train.py", 15]
    assert (line["count"], line["bytes"]) == (3, 3 * 7 * 2**20)
