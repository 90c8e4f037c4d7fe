"""What the process that runs programs sees of them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.differential.oracle_client import OracleError
from tests.fix_oracle import client
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from tests.fix_oracle.client import WatchClient, Watched

pytestmark = RUNS_PROGRAMS

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    x = jnp.arange(32.0).reshape(8, 4)
"""


def watch(oracle: WatchClient, text: str, *, head: str = HEAD) -> Watched:
    (run,) = oracle.watch({"main": head + textwrap.dedent(text)}, [0])
    assert run.error is None, (run.error, run.error_places)
    return run


INDEXING = (
    "x[0]", "x[1:3]", "x[-1]", "x[np.array([1, 2])]", "x[0, 1]", "list(x)", "next(iter(x))",
    "[row for row in x]", "jnp.take(x, 0, axis=0)", "x.take(0, axis=0)", "x.at[0].get()",
    "jax.lax.dynamic_slice_in_dim(x, 0, 2)", "jax.lax.dynamic_index_in_dim(x, 0)",
    "jax.lax.slice(x, (0, 0), (2, 2))", "jnp.split(x, 2)", "jnp.unstack(x)",
)  # fmt: skip
COMPUTING = (
    "x.sum()", "x + 1", "x.reshape(4, 8)", "jnp.mean(x, axis=0)", "x.at[0].set(1.0)", "x.T",
    "jax.random.permutation(jax.random.key(0), x)", "jax.jit(lambda a: a[0])(x)",
    "jax.vmap(lambda a: a[0])(x)", "x @ x.T", "sum(x)",
    "jnp.stack([x, x])",
)  # fmt: skip


def test_indexing_is_told_from_computing(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    """Of `sum(x)` the iteration is indexing, and the additions are not."""
    for text in (*INDEXING, *COMPUTING):
        with subtests.test(text):
            run = watch(oracle, f"result = {text}\n")
            line = HEAD.count("\n") + 1
            here = [event for event in run.events if event.place[0] == line]
            assert here
            assert all(event.indexing for event in here) is (text in INDEXING)


def test_what_is_taken_remembers_the_array(oracle: WatchClient) -> None:
    run = watch(oracle, "row = x[0]\ncell = row[1]\nother = (row + 1)[0]\n")
    (whole,) = {
        operand.serial
        for event in run.events
        for operand in event.operands
        if operand.nbytes == 128 and operand.moved
    }
    origins = {event.place[0]: event.operands[0].origin for event in run.events if event.indexing}
    first = HEAD.count("\n") + 1
    assert (origins[first], origins[first + 1]) == (whole, whole)
    assert origins[first + 2] != whole


def test_a_program_finds_the_stage(oracle: WatchClient) -> None:
    run = watch(
        oracle,
        """
        print(len(jax.devices()), len(jax.devices("cpu")), jax.devices()[1].platform, __name__)
        print(x.devices() == {cpu}, (x + 1).devices() == {jax.devices()[0]})
        """,
    )
    assert run.printed == "4 2 gpu __main__\nTrue True\n"


def test_what_a_program_changes_is_changed_back(oracle: WatchClient) -> None:
    watch(
        oracle,
        """
        import os
        jax.default_device = cpu
        jax.mine = 1
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_device", cpu)
        os.environ["JAX_PLATFORMS"] = "nonsense"
        """,
    )
    run = watch(
        oracle,
        """
        import os
        print(hasattr(jax, "mine"), jnp.ones(1).dtype, jnp.ones(1).devices() == {cpu})
        print(os.environ["JAX_PLATFORMS"])
        """,
    )
    assert run.printed == "False float32 False\ncpu\n"


def test_files_that_are_not_there_have_stand_ins(oracle: WatchClient) -> None:
    run = watch(
        oracle,
        """
        from safetensors.flax import load_file
        with jax.default_device(cpu):
            tensors = load_file("nowhere.safetensors")
        rows = jnp.load("nowhere.npy")
        print(tensors["weights"].shape, np.load("nowhere.npz")["a"].shape, rows.shape)
        print(tensors["weights"].devices() == {cpu}, rows.devices() == {cpu})
        print(jax.tree.map(jnp.shape, tensors))
        held = jnp.from_dlpack(np.ones(4))
        print(held.devices() == {cpu}, held.committed)
        """,
    )
    assert run.printed.splitlines() == [
        "(8, 4) (8, 4) (8, 4)", "True False", "{'tokens': (8, 4), 'x': (8, 4)}", "True True",
    ]  # fmt: skip


def test_arrays_that_are_left_are_found(oracle: WatchClient) -> None:
    run = watch(
        oracle,
        """
        import dataclasses
        from typing import NamedTuple

        class Held:
            kept = x
            __slots__ = ("slot",)

        @dataclasses.dataclass
        class Batch:
            rows: list

        class Pair(NamedTuple):
            a: object

        def make(a, b=jnp.full(3, 7.0)):
            return lambda: a

        held = Held()
        held.slot = jnp.zeros(2)
        batch = Batch([{"k": jnp.ones(5)}])
        pair = Pair(jax.device_put(jnp.ones(6), cpu))
        inner = make(jnp.ones(7))
        part = functools.partial(make, jnp.ones(8))
        batch.rows.append(batch)
        del x
        """,
    )
    assert {path: left.kind for path, left in run.left.items()} == {
        "main.Held.kept": "float32[8, 4]",
        "main.held.slot": "float32[2]", "main.batch.rows[0]['k']": "float32[5]",
        "main.pair[0]": "float32[6]", "main.make(0)": "float32[3] weak",
        "main.inner<a>": "float32[7]", "main.part[0](0)": "float32[3] weak",
        "main.part[1][0]": "float32[8]",
    }  # fmt: skip
    assert run.left["main.pair[0]"].committed
    assert run.left["main.pair[0]"].devices == (4,)
    assert not run.left["main.held.slot"].committed


@pytest.mark.every
def test_a_program_without_end_is_given_up(
    oracle: WatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with arrays is cut, one that hangs ends the process; the next one runs in another."""
    (run,) = oracle.watch({"main": HEAD + "while True:\n    y = x\n"}, [0])
    assert run.error is not None
    assert run.error.startswith("EndlessError")
    monkeypatch.setattr(client, "TIME_LIMIT", 0.5)
    with pytest.raises(OracleError):
        oracle.watch({"main": "while True:\n    pass\n"}, [0])
    monkeypatch.undo()
    assert watch(oracle, "print(1)\n").printed == "1\n"
