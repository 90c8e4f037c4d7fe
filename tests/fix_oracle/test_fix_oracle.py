"""Programs, fixed and run: a fix changes no place of computation, and cures what it is for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.fix_oracle.examine import NOT_STARTED, RAN, examine, report
from tests.fix_oracle.sources import (
    GENERATORS,
    fixture_programs,
    own_programs,
    program_named,
    random_programs,
    written_programs,
)
from tests.marks import RUNS_PROGRAMS
from tests.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fix_oracle.client import WatchClient
    from tests.fix_oracle.sources import Program

pytestmark = RUNS_PROGRAMS

_SAMPLE = {"loops": 5}
_MANY = 100


def check(oracle: WatchClient, programs: Iterable[Program]) -> Counter[str]:
    """Examine programs; fail with a report of each that a fix does wrong. Count their states."""
    states: Counter[str] = Counter()
    with Trials() as trials:
        for program in programs:
            with trials.of(program.name):
                examined = examine(oracle, program)
                states[examined.state] += 1
                if examined.wrong:
                    pytest.fail(report(examined), pytrace=False)
    return states


def test_sample(oracle: WatchClient) -> None:
    """Some of each kind; `pytest -m every tests/fix_oracle` takes all that are written."""
    sample = [
        random_programs(family, number)
        for family in GENERATORS
        for number in range(_SAMPLE.get(family, 1))
    ]
    assert check(oracle, sample)[RAN] >= len(sample) // 3


def test_own_programs(oracle: WatchClient) -> None:
    """The shapes that a fix has to survive."""
    programs = own_programs()
    states = check(oracle, programs)
    assert len(programs) >= 20
    assert not states[NOT_STARTED]


@pytest.mark.every
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", GENERATORS)
def test_random_programs(oracle: WatchClient, family: str) -> None:
    check(oracle, (random_programs(family, number) for number in range(_MANY)))


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_fixtures(oracle: WatchClient) -> None:
    states = check(oracle, fixture_programs())
    assert states[RAN] >= 350
    assert states[NOT_STARTED] <= 100


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_written_programs(oracle: WatchClient) -> None:
    programs, _ = written_programs()
    states = check(oracle, programs)
    assert states[RAN] >= 40
    assert not states[NOT_STARTED]


@pytest.mark.parametrize("family", GENERATORS)
def test_a_number_gives_the_same_program(family: str) -> None:
    assert random_programs(family, 7) == random_programs(family, 7)
    assert random_programs(family, 7).modules != random_programs(family, 8).modules
    assert program_named(f"{family}/7") == random_programs(family, 7)


def test_training_loops_are_of_many_kinds() -> None:
    """What each of them may hold is in some of them."""
    texts = ["\n".join(random_programs("loops", n).modules.values()) for n in range(400)]
    parts = [
        "enumerate(", "zip(", "batches(", "jax.lax.scan", "NamedSharding", "donate_argnums",
        "cached_property", "ExitStack", "jnp.bfloat16", "jnp.full((8, 4)", "jax.tree.map(lambda a",
        "class Trainer", '__name__ == "__main__"', "import data", "from pkg.data import",
        "jax.devices()[1]", "next(it)", "while i", "fast_head(", "dynamic_slice_in_dim",
        "[np.array(", "jax.device_put(xs[i])", "np.asarray(xs", "print(",
    ]  # fmt: skip
    missing = [part for part in parts if not any(part in text for text in texts)]
    assert missing == []
