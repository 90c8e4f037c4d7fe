"""Training loops with a dataset on the host: what a safe fix makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.fix_oracle.fixing import How, fix
from tests.marks import RUNS_PROGRAMS
from tests.program_cases import PROGRAMS, read_program

if TYPE_CHECKING:
    from tests.fix_oracle.client import WatchClient, Watched

pytestmark = RUNS_PROGRAMS

_FLOAT = _INT = 4


@dataclass(frozen=True)
class Loop:
    """One of the whole programs, and what it copies."""

    name: str
    step: str
    """The compiled function that trains."""
    steps: int
    datasets: tuple[int, ...]
    """The bytes of what is kept on the host."""
    batch: tuple[int, ...]
    """The bytes that one step needs of it."""
    indices: tuple[int, ...] = ()
    """The bytes of NumPy's indices in one step: JAX puts them on the default device first."""


LOOPS = [
    Loop("host-tokens", "jit(step)", 10, (1000 * 8 * _FLOAT,), (8 * _FLOAT,)),
    Loop("a-dataset-class", "jit(update)", 8, (32 * 8 * _FLOAT,), (8 * 8 * _FLOAT,), (8 * _INT,)),
    Loop(
        "flax-and-optax", "jit(train_step)", 8,
        (32 * 16 * _FLOAT, 32 * _INT), (8 * 16 * _FLOAT, 8 * _INT),
    ),
]  # fmt: skip


def copied(run: Watched) -> list[int]:
    """Give the bytes of each array that an operation was given on another device."""
    return [
        operand.nbytes
        for event in run.events
        for operand in event.operands
        if operand.moved and not operand.small
    ]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_a_batch_is_copied_each_step_and_nothing_else(oracle: WatchClient, loop: Loop) -> None:
    case = read_program(PROGRAMS / "hazards" / f"training-loop-of-{loop.name}.txt")
    if case.missing:
        pytest.skip(f"there is no {', '.join(case.missing)}")
    modules = case.modules()
    fixed = fix(modules, How(unsafe=False))
    assert {each.code for each in fixed.applied} == {"JDP201"}
    assert fixed.found == []
    (before,) = oracle.watch(modules, [0])
    (after,) = oracle.watch(fixed.modules, [0])
    assert (before.error, after.error) == (None, None)

    assert sorted(copied(before)) == sorted(loop.datasets * loop.steps)
    assert copied(after) == [*loop.indices * loop.steps]
    assert before.puts == ()
    put = [size for each in after.puts for size in each.sizes]
    assert sorted(put) == sorted((*loop.datasets, *loop.batch * loop.steps))

    for run in (before, after):
        steps = [event.devices for event in run.events if event.name == loop.step]
        assert steps == [(0,)] * loop.steps
    params = {path: left for path, left in before.left.items() if "tokens" not in path}
    assert params
    for path, left in params.items():
        assert after.left[path].devices == left.devices == (0,), path
        assert after.left[path].committed == left.committed, path
        assert after.left[path].digest == left.digest, path
