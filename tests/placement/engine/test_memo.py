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


FOR_DATA = [
    ("what has nothing to do with placements", "return x + 1", "f({0})\n", 3),
    ("what has a word of them", "return jax.device_put(x)", "f({0})\n", 6),
    ("what calls something that has one", "return put(x)", "f({0})\n", 12),
    ("what is given a placement", "return x", "f([h, {0}])\n", 6),
    ("what is given functions", "return x", "f(lambda: {0})\n", 6),
    ("what runs under a default device", "return x", ON_CPU + "f({0})\n", 6),
    ("a list of data is data", "return x", "f([{0}, k])\n", 3),
]


@pytest.mark.parametrize(
    ("body", "call", "executions"), [case[1:] for case in FOR_DATA], ids=[c[0] for c in FOR_DATA]
)
def test_executions_for_different_data(body: str, call: str, executions: int) -> None:
    found = interpreted(
        "import jax\nimport jax.numpy as jnp\n"
        f"h = jax.device_put(1, jax.devices('cpu')[0])\nk = jnp.ones(3)\n"
        "def put(x):\n    return jax.device_put(x)\n"
        f"def f(x):\n    {body}\n" + "".join(call.format(f"'{letter}'") for letter in "abcdef")
    )
    assert found.program.now.executions == executions


def test_data_that_a_function_reads_is_unknown_to_one_execution_for_all() -> None:
    found = interpreted(
        "class C:\n    def __init__(self):\n        self.n = 'a'\n"
        "    def step(self, by):\n        self.n = self.n + by\n        return self.n\n"
        "c = C()\n" + "c.step('x')\nc.n = 'b'\n" * 20
    )
    assert found.program.now.executions <= 5


SETTING = [
    ("an attribute that is set anyway may hold that", "    o.n = 'b'\n", "'b'", 2),
    ("not something else", "    o.n = 'b'\n", "'a'", 3),
    ("nor where it is read before", "    n = o.n\n    o.n = 'b'\n", "'b'", 3),
    ("what is read later is what was set", "    o.n = 'b'\n    n = o.n\n", "'b'", 2),
    ("a list may change under another name", "    o.n = k\n", "k", 3),
]


@pytest.mark.parametrize(
    ("body", "held", "executions"), [case[1:] for case in SETTING], ids=[c[0] for c in SETTING]
)
def test_executions_for_attributes_that_a_function_sets(
    body: str, held: str, executions: int
) -> None:
    found = interpreted(
        "class C:\n    def __init__(self):\n        self.m = 'c'\n"
        f"k = ['b']\ndef f(o):\n{body}o = C()\nf(o)\no.n = {held}\nf(o)\n"
    )
    assert found.program.now.executions == executions
