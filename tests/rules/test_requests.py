"""What is asked of the interpreter of many expressions is answered in few executions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.placement.interpreter import Program
from placement_lint.placement.journeys import Journeys
from placement_lint.rules.commitment.device_put_without_device import DevicePutWithoutDevice
from placement_lint.rules.commitment.uncommitted_array_indexed import UncommittedArrayIndexed
from placement_lint.rules.commitment.uncommitted_array_moved import UncommittedArrayMoved
from tests.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.findings import Applicability
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.supposition import Supposition

OPTIONS = FileOptions((DevicePutWithoutDevice,))
HEAD = "import jax\nimport jax.numpy as jnp\ncpu = jax.devices('cpu')[0]\n"
APART = """\
def f{i}():
    with jax.default_device(cpu):
        x = jnp.ones(8)
    x = jax.device_put(x)
    print(float(x[0]))
f{i}()
"""
MEETING = """\
def f():
    with jax.default_device(cpu):
        a, b = jnp.ones(8), jnp.ones(8)
    a = jax.device_put(a)
    b = jax.device_put(b)
    return a + b
print(f())
"""
ONE = MEETING.replace("    b = jax.device_put(b)\n", "")


@pytest.fixture
def executions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many expressions were committed in each execution that supposed something."""
    made: list[int] = []
    suppose = Program.suppose

    def noted(program: Program, supposed: Supposition) -> Program:
        made.append(len(supposed.committed))
        return suppose(program, supposed)

    monkeypatch.setattr(Program, "suppose", noted)
    return made


def fixes(text: str) -> list[tuple[Applicability, str] | None]:
    found = lint_source(Source("a.py", HEAD + text), OPTIONS).findings
    fixed = [each.fix for each in found]
    return [None if fix is None else (fix.applicability, fix.message) for fix in fixed]


@pytest.mark.parametrize("count", [1, 2, 40])
def test_expressions_that_never_meet_are_committed_together(
    count: int, executions: list[int]
) -> None:
    found = fixes("".join(APART.format(i=i) for i in range(count)))
    assert len(found) == count
    assert len({*found}) == 1
    assert found[0] is not None
    assert len(executions) <= 6
    assert {*executions} == {count}


def test_one_whose_array_meets_that_of_another_is_committed_alone(executions: list[int]) -> None:
    found = fixes(MEETING)
    assert len(found) == 2
    assert {1, 2} == {*executions}
    executions.clear()
    assert found[0] == fixes(ONE)[0]
    assert {*executions} == {1}


def test_few_are_committed_alone(executions: list[int]) -> None:
    text = "".join(MEETING.replace("f(", f"f{i}(") for i in range(20))
    assert len(fixes(text)) == 40
    assert len(executions) <= 30


STEP = """\
def step_{i:03}(batch, rate=0.1):
    total = jnp.sum(batch) * rate
    for part in range(3):
        total = total + batch[part].mean()
    return step_{after:03}(batch, rate) if rate > 1 else total
"""
USING = FileOptions((UncommittedArrayIndexed, UncommittedArrayMoved))


def steps(count: int) -> str:
    """Give functions that hand one array on, each to the next one, and compute with it."""
    body = "".join(STEP.format(i=i, after=i + 1) for i in range(count))
    return f"{HEAD}with jax.default_device(cpu):\n    data = jnp.ones(8)\n{body}step_000(data)\n"


def test_what_no_part_that_is_put_back_helps_is_executed_twice(executions: list[int]) -> None:
    found = lint_source(Source("a.py", steps(8)), USING).findings
    assert len(found) == 16
    assert all(each.fix is not None and "runs on the host" in each.fix.message for each in found)
    assert executions == [1, 1]


def test_ways_and_fixes_of_many_uses_of_one_array_take_their_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each was searched for by itself, through all that was recorded."""
    looked: Counter[tuple[Place, Place]] = Counter()
    before = Journeys._before

    def noted(journeys: Journeys, place: Place, made: Place) -> Iterator[object]:
        looked[place, made] += 1
        return before(journeys, place, made)

    monkeypatch.setattr(Journeys, "_before", noted)
    work = []
    for count in (16, 64):
        looked.clear()
        with counted() as calls:
            lint_source(Source("a.py", steps(count)), USING)
        work.append(calls.made)
        assert {*looked.values()} == {1}
    assert work[1] < 4.2 * work[0]
