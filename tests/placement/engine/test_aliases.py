"""Containers and joins by example: what an item is after a program has stored into its list."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.domain.values import Anything, Array, Host, Value
from tests.placement.test_interpreter import interpreted

HEAD = """\
import numpy as np
from other import test
array = jnp.ones(3)
xs = [np.ones(3)]
"""
PROGRAMS = [
    ("one list under two names", "ys = xs\nys[0] = array\n", "array"),
    ("a copy is another list", "ys = list(xs)\nys[0] = array\n", "host"),
    ("a list inside of another", "d = {'k': xs}\nd['k'][0] = array\n", "array"),
    ("a parameter", "def f(ys):\n    ys[0] = array\nf(xs)\n", "array"),
    ("an attribute", "class C: pass\nc = C()\nc.ys = xs\nc.ys[0] = array\n", "array"),
    ("one of two branches", "if test:\n    xs[0] = array\n", "array or host"),
    ("both branches", "if test:\n    xs[0] = array\nelse:\n    xs[0] = array\n", "array"),
    ("a loop that may not run", "for i in test:\n    xs[0] = array\n", "array or host"),
    ("an index that is not known", "xs[test] = array\n", "array or host"),
    ("code that nobody follows", "test(xs)\n", "doubt or host"),
]


def kinds(held: Value) -> str:
    words = {Array: "array", Host: "host", Anything: "doubt"}
    return " or ".join(sorted(words[type(atom)] for atom in held))


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in PROGRAMS], ids=[case[0] for case in PROGRAMS]
)
def test_an_item(text: str, expected: str) -> None:
    found = interpreted(f"{HEAD}{text}xs[0]\n")
    last = [node for node in found.tree.nodes if isinstance(node, cst.Expr)][-1]
    assert kinds(found.value(last.value)) == expected
