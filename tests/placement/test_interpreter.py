"""What is known of functions that are called in more ways than are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
import pytest

from placement_lint.placement.domain.values import ANYTHING, PLAIN, Array
from placement_lint.placement.engine import memo
from placement_lint.placement.flow import Flow, interpret_alone
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree
from tests.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

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
    long = "0, " * 90
    return f"def f(x):\n    [{long}]\n    return jnp.ones(3)\n" + "".join(
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


def chain(count: int) -> str:
    first = "class C0:\n    def m(self, x):\n        return x\n"
    return first + "".join(
        f"class C{i}(C{i - 1}):\n    def m(self, x):\n        return super().m(x)\n"
        for i in range(1, count)
    )


def diamonds(count: int) -> str:
    first = "".join(f"class {name}0:\n    def m(self, x):\n        return x\n" for name in "AB")
    return first + "".join(
        f"class A{i}(A{i - 1}, B{i - 1}):\n    def m(self, x):\n        return super().m(x)\n"
        f"class B{i}(A{i - 1}):\n    def m(self, x):\n        return super().m(x)\n"
        for i in range(1, count)
    )


def loops(depth: int) -> str:
    inside = "".join(f"{' ' * level}for _ in xs:\n" for level in range(depth))
    return f"xs = [jnp.ones(3)]\ny = xs\n{inside}{' ' * depth}y = [y[0]]\n"


def last_blocks(depth: int) -> str:
    opened = "".join(f"    {' ' * level}try:\n" for level in range(depth))
    closed = "".join(
        f"    {' ' * level}finally:\n    {' ' * level} x = g(x)\n"
        for level in reversed(range(depth))
    )
    inside = f"    {' ' * depth}if x: return x\n"
    return f"def g(x): return x\ndef f(x):\n{opened}{inside}{closed}    return x\nf(1)\n"


@pytest.mark.parametrize(
    ("make", "count"),
    [
        pytest.param(chain, 40, marks=pytest.mark.every),
        pytest.param(diamonds, 30, marks=pytest.mark.every),
        (loops, 24),
        pytest.param(last_blocks, 8, marks=pytest.mark.every),
    ],
)
def test_more_of_one_another_takes_its_share(
    make: Callable[[int], str], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from where there are so many that no more are told apart: of short functions, as few
    as of long ones.

    Two of four; `pytest -m every tests/placement` counts the others.
    """
    monkeypatch.setattr(memo, "_MAX_NODES", 0)
    sizes, work = [], []
    for factor in (1, 2, 4):
        text = make(factor * count)
        with counted() as calls:
            interpreted(text)
        sizes.append(len(text))
        work.append(calls.made)
    grown = (work[2] - work[1]) / (work[1] - work[0])
    assert grown < 1.2 * (sizes[2] - sizes[1]) / (sizes[1] - sizes[0])


def test_the_next_method_is_found_in_a_long_chain() -> None:
    text = "class A:\n    def m(self, x): return jnp.ones(3)\n"
    text += "class C0(A): pass\n" + "".join(
        f"class C{i}(C{i - 1}):\n    def m(self, x): return super().m(x)\n" for i in range(1, 30)
    )
    made_by_last(interpreted(f"{text}C29().m(1)\n"))


def test_a_last_block_deep_inside_keeps_what_is_returned() -> None:
    text = "def f():\n"
    text += "".join(f"    {' ' * level}try:\n" for level in range(5))
    text += f"    {' ' * 5}return jnp.ones(3)\n"
    text += "".join(
        f"    {' ' * level}finally:\n    {' ' * level} x = 1\n" for level in reversed(range(5))
    )
    made_by_last(interpreted(f"{text}f()\n"))
