"""What is known of functions that are called in more ways than are told apart."""

from __future__ import annotations

import libcst as cst

from placement_lint.placement.flow import Flow, interpret_alone
from placement_lint.placement.values import ANYTHING, PLAIN, Array
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = "import jax\nimport jax.numpy as jnp\n"


def interpreted(text: str) -> Flow:
    tree = Tree(cst.parse_module(HEAD + text))
    return interpret_alone("main", tree, Names(tree), accelerator=True)


def made_by_last(found: Flow) -> Array:
    """Give the array that the last statement is."""
    last = [node for node in found.tree.nodes if isinstance(node, cst.Expr)][-1]
    (held,) = found.value(last.value)
    assert isinstance(held, Array)
    return held


def calls(count: int) -> str:
    return "def f(x):\n    return jnp.ones(3)\n" + "".join(
        f"with jax.default_device(jax.devices('cpu')[{number}]):\n    f({number})\n"
        for number in range(count)
    )


def test_under_so_many_default_devices_it_is_known_what_is_made() -> None:
    found = made_by_last(interpreted(calls(40)))
    assert found.device is not None
    assert found.device.index == 39


def test_under_any_more_it_is_not() -> None:
    assert made_by_last(interpreted(calls(60))).device is None


def test_of_so_many_arguments_some_become_unknown() -> None:
    text = "def f(x):\n    return x\n"
    text += "".join(f"f('{number}')\n" for number in range(30))
    found = interpreted(text)
    given = [found.value(n.value) for n in found.tree.nodes if isinstance(n, cst.Expr)]
    assert [len(held) for held in given[:12]] == [1] * 12
    assert all(ANYTHING in held for held in given[12:])


def test_calls_inside_one_another_come_to_an_end() -> None:
    body = "xs.append(n)\n    f([xs], n + 1)\n    f(xs, [n])\n    return 1"
    found = interpreted(f"def f(xs, n):\n    {body}\nf([], 0)\n")
    last = [node for node in found.tree.nodes if isinstance(node, cst.Expr)][-1]
    assert found.value(last.value) == PLAIN
