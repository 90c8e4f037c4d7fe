"""What is asked of the interpreter of many expressions is answered in few executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.placement.interpreter import Program
from placement_lint.rules.commitment.device_put_without_device import DevicePutWithoutDevice

if TYPE_CHECKING:
    from placement_lint.findings import Applicability
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
