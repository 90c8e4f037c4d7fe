"""Pairs that keep what a method has and replace it: the time for each does not grow with them."""

from __future__ import annotations

import libcst as cst

from placement_lint.semantic.donation.analysis import Donations
from placement_lint.semantic.model import ModuleFacts
from tests.counting import counted

HEAD = """\
import functools
import jax

@functools.partial(jax.jit, donate_argnums=0)
def step(x):
    return x + 1

class Pairs:
    def run(self):
"""
PAIR = """\
        k{0} = self.s_{0}
        self.s_{0} = step(k{0})
"""


def found(count: int) -> tuple[int, set[str]]:
    """Give the calls that so many pairs take, and what is read after it was donated."""
    body = "".join(PAIR.format(number) for number in range(count))
    text = f"{HEAD}{body}        return k{count - 1}.sum()\n"
    facts = ModuleFacts(cst.parse_module(text), "pairs.py")
    donations = Donations(facts, is_executed=False)
    (run,) = (each for each in facts.tree.every(cst.FunctionDef) if each.name.value == "run")
    with counted() as calls:
        donations.call(run)
    return calls.made, {each.text for each in donations.readings}


def test_what_a_pair_keeps_is_known_to_be_gone() -> None:
    assert found(1)[1] == {"k0"}
    assert found(90)[1] == {"k89"}


def test_many_pairs_take_their_share() -> None:
    assert found(600)[0] < 4.6 * found(150)[0]
