"""The names that are kept while donations are followed are those of functions not yet left."""

from __future__ import annotations

import libcst as cst

from placement_lint.semantic.donation.analysis import Donations
from placement_lint.semantic.model import ModuleFacts

HEAD = """\
import functools
import jax

@functools.partial(jax.jit, donate_argnums=0)
def step(state, x):
    return state + x

def scaled(x, by):
    doubled = [each * by for each in x]
    return doubled
"""


def names_kept(calls: int) -> set[str]:
    """Give the names that are bound where a function has called another one so many times."""
    body = "    y = scaled(x, 2)\n" * calls
    tree = cst.parse_module(f"{HEAD}\ndef train(state, x):\n{body}    return step(state, y)\n")
    facts = ModuleFacts(tree, "a.py")
    donations = Donations(facts, is_executed=False)
    train = next(each for each in facts.tree.every(cst.FunctionDef) if each.name.value == "train")
    donations.call(train)
    kept = [name for _, name in donations.state.names]
    assert len(kept) == len({*kept})
    return {*kept}


def test_names_of_a_function_that_was_left_are_kept_no_longer() -> None:
    assert names_kept(1) == names_kept(8) == {"state", "x", "y"}
