"""The functions that may lead to a donation: by variables in their functions, else by names."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.semantic.donation.analysis import Donations
from placement_lint.semantic.donation.leading import leading, owners
from placement_lint.semantic.model import ModuleFacts
from tests.counting import counted

HEAD = """\
import functools
import jax

def unrelated(new, loss):
    return new, loss

"""


def leads(text: str) -> set[str]:
    """Give the names of the functions of a text that may lead to a donation."""
    facts = ModuleFacts(cst.parse_module(f"{HEAD}{text}"), "a.py")
    run = Donations(facts, is_executed=False)._run
    around = owners(facts.tree)
    found = leading(facts, around, donating=run.donating, carried=run.carried)
    return {each.name.value for each in facts.tree.every(cst.FunctionDef) if id(each) in found}


JIT = "jax.jit(lambda s: s, donate_argnums=0)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What a variable of a function is called matters nowhere else.
        (
            f"def train(state):\n    step = {JIT}\n    new, loss = step(state)\n    return new\n",
            "train",
        ),
        (
            f"step = {JIT}\ndef f(s):\n    new = step(s)\n    return new\ndef g(s):\n    f(s)\n",
            "f g",
        ),
        # The functions in it have its variables.
        (
            f"def train(state):\n    step = {JIT}\n"
            "    def inner(s):\n        step(s)\n    inner(state)\n",
            "inner train",
        ),
        (f"def make():\n    return {JIT}\nstep = make()\ndef f(s):\n    step(s)\n", "f make"),
        # What has the name by a `global` statement is no variable of the function.
        (f"def f():\n    global step\n    step = {JIT}\ndef g(s):\n    step(s)\n", "f g"),
        # Attributes go by their names alone.
        (
            f"class A:\n    def __init__(self):\n        self.new = {JIT}\n"
            "    def go(self, s):\n        self.new(s)\n",
            "__init__ go",
        ),
        # All that binds names hands on what they stand for.
        (
            "donating = functools.partial(jax.jit, donate_argnums=0)\n"
            "@donating\ndef step(s):\n    return s\ndef f(s):\n    step(s)\n",
            "f",
        ),
        (
            f"step = {JIT}\nfor each in [step]:\n    kept: object = each\ndef f(s):\n    kept(s)\n",
            "f",
        ),
        (
            f"import contextlib\nstep = {JIT}\n"
            "with contextlib.nullcontext(step) as held:\n    pass\n"
            "print(other := held)\ndef f(s):\n    other(s)\n",
            "f",
        ),
    ],
)
def test_functions_that_may_lead_to_a_donation(text: str, expected: str) -> None:
    assert leads(text) == {*expected.split()}


def test_many_names_bound_to_what_has_many_are_no_product() -> None:
    def count(size: int) -> int:
        names = ", ".join(f"a{each}" for each in range(size))
        with counted() as calls:
            leads(f"step = {JIT}\ndef f(s):\n    {names} = step({names})\n")
        return calls.made

    assert count(400) < 2.6 * count(200)
