"""Random programs: what the analyser says of them, and what JAX does when they run."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.differential.analysis import analyse
from tests.differential.compare import Comparison, Disagreement, compare
from tests.differential.programs import LEVELS, programs, random_program
from tests.differential.reduction import reduced
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.oracle_client import OracleClient

pytestmark = RUNS_PROGRAMS

_SAMPLE = {1: (3, 4, 6, 7), 2: (0, 3, 6, 7), 3: (1, 3, 4, 6), 4: (1, 4, 5, 6), 5: (2, 4, 5, 7)}
"""By level: programs of which some move arrays, and some do not."""
_FEW = 40
_MANY = 2000
_BATCH = 250

# Of the sample: level and number of each program of which it is known that the analyser is wrong.
KNOWN: dict[tuple[int, int], str] = {}

Modules = dict[str, str]


@pytest.fixture(scope="module")
def outcome(oracle: OracleClient) -> Callable[[Modules, list[int]], Comparison]:
    def compared(modules: Modules, seeds: list[int]) -> Comparison:
        return compare(modules, analyse(modules), oracle.run(modules, seeds))

    return compared


@pytest.mark.parametrize(
    "level",
    [pytest.param(level, marks=[] if level % 2 else [pytest.mark.every]) for level in LEVELS],
)
def test_sample(outcome: Callable[[Modules, list[int]], Comparison], level: int) -> None:
    """The same few programs; those of levels 2 and 4 with `pytest -m every tests/differential`."""
    total = Comparison()
    for number in _SAMPLE[level]:
        modules, seeds = random_program(number, level), [0, 1, number + 2]
        comparison = outcome(modules, seeds)
        if (level, number) in KNOWN:
            assert comparison.disagreements, f"no longer wrong: {level, number}"
        else:
            assert not comparison.disagreements, _report(modules, comparison.disagreements)
        _add(total, comparison)
    assert total.moves >= 3
    assert total.found >= total.moves / 2
    assert total.cut < total.runs / 2


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("level", LEVELS)
def test_few_programs(outcome: Callable[[Modules, list[int]], Comparison], level: int) -> None:
    @settings(
        max_examples=_FEW,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(level), st.integers(2, 9))
    def agree(modules: Modules, seed: int) -> None:
        seeds = [0, 1, seed]
        found = outcome(modules, seeds).disagreements
        if found:
            pytest.fail(_reduced_report(modules, seeds, found, outcome))

    agree()


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("batch", range(_MANY // _BATCH))
@pytest.mark.parametrize("level", LEVELS)
def test_many_programs(
    outcome: Callable[[Modules, list[int]], Comparison], level: int, batch: int
) -> None:
    total = Comparison()
    for number in range(batch * _BATCH, (batch + 1) * _BATCH):
        modules, seeds = random_program(number, level), [0, 1, number + 2]
        comparison = outcome(modules, seeds)
        if comparison.disagreements:
            report = _reduced_report(modules, seeds, comparison.disagreements, outcome)
            pytest.fail(f"program {number} of level {level}:\n{report}")
        _add(total, comparison)
    print(_summary(level, total))
    assert total.moves > _BATCH / 4, "the programs move too little to prove anything"
    assert total.unattributed <= total.moves / 100, "moves whose operand is not found"


def _reduced_report(
    modules: Modules,
    seeds: list[int],
    found: list[Disagreement],
    outcome: Callable[[Modules, list[int]], Comparison],
) -> str:
    """Make a program small by its syntax, which Hypothesis does not know, and show it."""
    whats = {each.what for each in found}

    def holds(smaller: Modules) -> bool:
        comparison = outcome(smaller, seeds)
        errors = set(comparison.errors) - {"ValueError"}
        return not errors and any(each.what in whats for each in comparison.disagreements)

    small = reduced(modules, holds)
    return _report(small, outcome(small, seeds).disagreements)


def _add(total: Comparison, more: Comparison) -> None:
    for each in fields(Comparison):
        before, new = getattr(total, each.name), getattr(more, each.name)
        if isinstance(before, int | Counter):
            setattr(total, each.name, before + new)


def _summary(level: int, total: Comparison) -> str:
    share = total.unknown / max(total.uses, 1)
    return (
        f"level {level}: {total.uses} uses of arrays, {share:.1%} unknown; "
        f"{total.moves} moves, {total.found} found; {total.alarms} alarms, "
        f"{total.false_likely} likely ones where nothing moved; "
        f"{total.cut} of {total.runs} runs cut by an error {dict(total.errors)}"
    )


def _report(modules: Modules, found: list[Disagreement]) -> str:
    texts = [f"# {name}\n{text}" for name, text in modules.items() if text]
    return "\n".join([*map(str, found), *texts])
