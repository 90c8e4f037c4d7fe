"""Memoisation by example: when a function is executed, and when its result is used again."""

from __future__ import annotations

import pytest

from tests.placement.test_interpreter import interpreted

ON_CPU = "with jax.default_device(jax.devices('cpu')[0]):\n    "
EXECUTIONS = [
    ("the same argument is the same way to call it", "f(1)\nf(1)\nf(2)\n", 1),
    ("another argument is another way", "f('a')\nf('b')\n", 2),
    ("so is another default device", f"f(1)\n{ON_CPU}f(1)\n", 2),
    ("and a call in a loop", "f(1)\nfor i in 1, 2, 3:\n    f(1)\n", 2),
    ("what it reads is compared before its result is used again", "f(1)\ny = 'b'\nf(1)\n", 2),
    ("an assignment to what it does not read changes nothing", "f(1)\nz = 'b'\nf(1)\n", 1),
]


@pytest.mark.parametrize(
    ("calls", "executions"), [case[1:] for case in EXECUTIONS], ids=[case[0] for case in EXECUTIONS]
)
def test_executions_of_a_function(calls: str, executions: int) -> None:
    found = interpreted(f"y = 'a'\ndef f(x):\n    return x, y\n{calls}")
    assert found.program.now.executions == executions


def test_a_recursive_call_is_executed_after_the_outer_one() -> None:
    found = interpreted("def f(x):\n    return f('b') if x else 1\nf('a')\n")
    assert found.program.now.executions == 2
