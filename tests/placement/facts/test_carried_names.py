"""What the iterations of a loop hand on to one another, and that nothing else matters."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import libcst as cst
import pytest

from placement_lint.placement.engine.statements import Statements, _executors
from placement_lint.placement.facts.carried_names import carried
from placement_lint.placement.flow import Flow, interpret_alone
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State

LOOPS = {
    "for x in xs:\n y = x\n z = y": "xs",
    "for x in xs:\n z = y\n y = x": "xs y",
    "for x in xs:\n y += x": "xs y",
    "for x, (y, *z) in xs:\n print(x, y, z)": "print xs",
    "for a.b in xs:\n pass": "a xs",
    "for x in xs:\n if x:\n  y = 1\n else:\n  y = 2\n print(y)": "print xs",
    "for x in xs:\n if x:\n  y = 1\n print(y)": "print xs y",
    "for x in xs:\n if x:\n  continue\n else:\n  y = 1\n print(y)": "print xs",
    "for x in xs:\n if x:\n  y = 1\n elif z:\n  y = 2\n print(y)": "print xs y z",
    "for x in xs:\n for y in x:\n  z = y\n print(z)": "print xs z",
    "for x in xs:\n for y in x:\n  pass\n print(y)": "print xs y",
    "for x in xs:\n while y:\n  y = x": "xs y",
    "while x:\n y = x\n x = next(y)": "next x",
    "for x in xs:\n with a(x) as b:\n  c = b\n print(b)": "a print xs",
    "for x in xs:\n with a(x):\n  c = x\n print(c)": "a c print xs",
    "for x in xs:\n try:\n  y = x\n except E as e:\n  continue\n print(y)": "E print xs",
    "for x in xs:\n try:\n  y = x\n except E as e:\n  print(e)\n print(y)": "E print xs y",
    "for x in xs:\n try:\n  y = x\n finally:\n  z = 1\n print(y, z)": "print xs z",
    "for x in xs:\n try:\n  y = x\n finally:\n  print(y)": "print xs y",
    "for x in xs:\n match x:\n  case [y]:\n   print(y)": "print xs y",
    "for x in xs:\n if (y := x):\n  print(y)": "print xs y",
    "for x in xs:\n y: int = x\n import z\n print(y, z)": "print xs",
    "for x in xs:\n y = [z for z in x]": "xs z",
    "for x in xs:\n y = x\n f = lambda: y": "xs y",
    "for x in xs:\n y = x\n f = (y for _ in x)": "_ x xs y",
    "def g():\n return y\nfor x in xs:\n z = g()\n y = x": "g xs y",
    "for x in xs:\n del y\n y = x": "xs y",
    "try:\n for x in xs:\n  y = x\nfinally:\n print(y)": "print xs y",
}


@pytest.mark.parametrize(("body", "names"), LOOPS.items(), ids=list(LOOPS))
def test_names_that_are_read_before_they_are_bound_are_handed_on(body: str, names: str) -> None:
    tree, known = _parsed(body)
    loop = next(tree.every(cst.For, cst.While))
    found = carried(tree, known, loop)
    assert found is not None
    assert found.names == {*names.split()}


@pytest.mark.parametrize(
    "body",
    [
        "for x in xs:\n yield x",
        "for x in xs:\n y = locals()",
        "class C:\n for x in xs:\n  pass",
    ],
)
def test_of_some_loops_it_is_not_known(body: str) -> None:
    tree, known = _parsed(body)
    assert carried(tree, known, next(tree.every(cst.For, cst.While))) is None


def test_outside_of_functions_it_is_not_known() -> None:
    tree = Tree(cst.parse_module("for x in xs:\n y = x\n"))
    assert carried(tree, Names(tree), next(tree.every(cst.For))) is None


HEAD = """
import contextlib
import jax, jax.numpy as jnp, numpy as np
cpu = jax.devices("cpu")[0]
class C:
    pass
def f(xs, c, d):
    x = y = z = jnp.ones(3)
    o = C()
"""
PUT = "jax.device_put(x, cpu)"
BODIES = [
    f"while True:\n if c:\n  break\n y = {PUT}\nreturn y",
    f"while True:\n if c:\n  return y\n y = {PUT}",
    f"for x in xs:\n if c:\n  break\n y = {PUT}\nreturn y",
    f"for x in [1, 2]:\n if c:\n  continue\n y = {PUT}\nelse:\n z = y\nreturn y",
    f"try:\n for x in xs:\n  if c:\n   return 1\n  y = {PUT}\nfinally:\n z = y + 1",
    f"try:\n for x in xs:\n  d()\n  y = {PUT}\nexcept E:\n z = y + 1\nreturn z",
    f"for x in xs:\n with contextlib.suppress(E):\n  d()\n  y = {PUT}\n z = y + 1",
    f"for x in xs:\n for w in x:\n  z = y + 1\n y = {PUT}",
    f"for x in xs:\n for w in x:\n  if c:\n   break\n  y = {PUT}\n z = y + 1",
    f"for x in xs:\n z = o.a + 1\n o.a = {PUT}",
    f"for x in xs:\n o = C()\n o.a = {PUT}\n z = o.a + 1",
    f"ys = []\nfor x in xs:\n w = ys\n w.append({PUT})\nreturn ys[0]",
    f"ys = [y]\nfor x in ys:\n w = ys\n w.append({PUT})\n z = x + 1",
    f"def g():\n return y\nfor x in xs:\n z = g() + 1\n y = {PUT}",
    f"def g():\n nonlocal y\n y = {PUT}\nfor x in xs:\n z = y + 1\n g()",
    f"for x in xs:\n fs = [lambda: w for w in [y]]\n z = fs[0]() + 1\n y = {PUT}",
    f"for x in xs:\n if c:\n  y = {PUT}\n else:\n  y = x\n z = y + 1",
    f"k = 0\nwhile k < 3:\n w = y\n y = {PUT}\n z = w + 1\n k += 1",
    f"for x in xs:\n match c:\n  case 1:\n   y = {PUT}\n z = y + 1",
    "for x in xs:\n with jax.default_device(cpu):\n  y = jnp.ones(3)\n z = y + 1",
    "for x in xs:\n jax.config.update('jax_default_device', cpu)\n y = jnp.ones(3)",
    f"for x in xs:\n del y\n y = {PUT}\n z = y + 1",
    f"for x in xs:\n y, w = {PUT}, y\n z = w + 1",
    f"for x in xs:\n z = [y + 1 for w in x]\n y = {PUT}",
]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_seen_is_the_same_where_loops_are_executed_on(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + textwrap.indent(body, "    ")
    found = _interpreted(text).record
    monkeypatch.setattr(Statements, "_is_carried", lambda *_: True)
    on = _interpreted(text).record
    assert found.values == on.values
    assert found.uses == on.uses
    assert found.defaults == on.defaults


def test_a_loop_that_hands_nothing_on_is_executed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[cst.Assign] = []
    assign = Statements.assign

    def assigning(statements: Statements, node: cst.Assign, state: State) -> State:
        executed.append(node)
        return assign(statements, node, state)

    executors: dict[type[cst.CSTNode], object] = {**_executors()}
    executors[cst.Assign] = assigning
    monkeypatch.setattr("placement_lint.placement.engine.statements._executors", lambda: executors)
    _interpreted("def f(xs):\n for x in xs:\n  for y in x:\n   z = y\n")
    assert len(executed) == 1
    executed.clear()
    _interpreted("def f(xs):\n z = 1\n for x in xs:\n  y = z\n  z = x\n")
    assert len(executed) == 5


def _parsed(body: str) -> tuple[Tree, Names]:
    text = "def function():\n" + textwrap.indent(body, "    ") + "\n"
    tree = Tree(cst.parse_module(text))
    return tree, Names(tree)


def _interpreted(text: str) -> Flow:
    tree = Tree(cst.parse_module(text + "\n"))
    return interpret_alone("m", tree, Names(tree), accelerator=True)
