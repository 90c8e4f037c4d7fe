"""Whether a transformed function surely gives one array."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.facts.traced_results import gives_array
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = "import jax\nimport jax.numpy as jnp\n"

ANYWHERE = [
    "lambda q: q * 2",
    "lambda q, r: q @ r + 1",
    "lambda q: -jnp.sin(q)",
    "lambda q: q.sum(axis=0) / 3",
    "def f(q): return q + 1",
    "def f(q): r = q + 1; return r",
    "lambda q, /, r: q + r.T",
    "lambda q: jnp.sum(q, axis=0)",
    "lambda q, r: jnp.add(q, r) * 1.5",
    "lambda q: 1 - q",
    "def f(q):\n    '''Text.'''\n    r = q + 1\n    return r * q",
]
ONLY_JITTED = [
    "def f(q): return q",
    "def f(q):\n    r = q\n    return r.real",
    "lambda q: q.astype(int)",
    "lambda q, *, r: q + r",
    "lambda q: q",
    "lambda q: q[0]",
    "lambda q: q.T",
    "lambda q, r: q * 2",
    "lambda q: q.reshape(4, 4)",
    "lambda q: jnp.zeros(3)",
    "def f(q, *, r):\n    return q + 1",
]
NEVER = [
    "lambda q: (q, q)",
    "lambda q: [q + 1]",
    "lambda q: {'a': q}",
    "lambda q: jnp.split(q, 2)",
    "lambda q: other(q)",
    "lambda q: q + captured",
    "lambda q: q if q.ndim else -q",
    "lambda q: jnp.stack(*q)",
    "lambda *q: jnp.sin(q[0])",
    "lambda q: not q",
    "def f(q):\n    if q.ndim:\n        return q, q\n    return q + 1",
    "def f(q):\n    q, r = q\n    return q + r",
    "def f(q):\n    return",
    "def f(q):\n    pass",
    "async def f(q):\n    return q + 1",
    "def f(q):\n    r = q + 1",
    "def f(q):\n    for r in q:\n        return q + 1",
    "def f(q):\n    r = s = q\n    return r + s",
    "def f(q):\n    r = other(q)\n    return r",
    "lambda q: q()() + 1",
    "lambda q: jnp.shape(q)",
    "lambda q: jnp.sin(**q)",
    "lambda q: other.sum()",
    "lambda q: 'a' + q",
    "lambda q, **r: q + 1",
    "lambda q: q.shape",
    "lambda q: other[0]",
]


def judged(text: str, transformation: str) -> bool:
    tree = Tree(cst.parse_module(f"{HEAD}{text}\n"))
    functions = [n for n in tree.nodes if isinstance(n, cst.FunctionDef | cst.Lambda)]
    return gives_array(functions[0], Names(tree), transformation)


@pytest.mark.parametrize("text", ANYWHERE)
def test_of_all_its_arguments(text: str) -> None:
    assert judged(text, "jax.jit")
    assert judged(text, "jax.vmap")


@pytest.mark.parametrize("text", ONLY_JITTED)
def test_only_where_one_computation_runs(text: str) -> None:
    assert judged(text, "jax.jit")
    assert not judged(text, "jax.vmap")


@pytest.mark.parametrize("text", NEVER)
def test_may_be_something_else(text: str) -> None:
    assert not judged(text, "jax.jit")
