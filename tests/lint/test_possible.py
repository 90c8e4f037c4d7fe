"""Findings that are only possible, which are reported on demand."""

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Confidence
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.registry import all_rules

CHOSEN = """\
import jax
import jax.numpy as jnp

class Model:
    def __init__(self, full):
        if full:
            self.device = jax.devices()[0]
        else:
            self.device = jax.devices("cpu")[0]

    def rows(self):
        with jax.default_device(self.device):
            table = jnp.ones((1024, 8))
        return table[0], table.sum()
"""


@pytest.mark.parametrize("least", Confidence)
def test_what_depends_on_a_choice(least: Confidence) -> None:
    """A device of an object is the CPU on one path and an accelerator on another."""
    options = FileOptions(all_rules(), min_confidence=least)
    found = lint_source(Source("model.py", CHOSEN), options).findings
    wanted = ["JDP201", "JDP202"] if least is Confidence.POSSIBLE else []
    assert [finding.code for finding in found] == wanted
    assert all(finding.confidence is Confidence.POSSIBLE for finding in found)
    assert all(finding.fix is None for finding in found)


def test_levels_are_in_order() -> None:
    definite, likely, possible = Confidence
    assert definite.reaches(definite)
    assert definite.reaches(possible)
    assert likely.reaches(possible)
    assert not likely.reaches(definite)
    assert not possible.reaches(likely)


DONATED_ON_ONE_PATH = """\
from functools import partial

import jax


@partial(jax.jit, donate_argnums=0)
def update(params):
    return params * 0.9


def train(params, warm, debug):
    new = params
    if warm:
        new = update(params)
    if debug:
        print(params.sum())
    return new
"""


@pytest.mark.parametrize("least", Confidence)
def test_what_is_donated_behind_another_condition(least: Confidence) -> None:
    options = FileOptions(all_rules(), min_confidence=least)
    found = lint_source(Source("train.py", DONATED_ON_ONE_PATH), options).findings
    wanted = [("JDP801", 16)] if least is Confidence.POSSIBLE else []
    assert [(finding.code, finding.span.line) for finding in found] == wanted
    assert all("may be deleted" in finding.message for finding in found)


TYPED = """\
import jax
import numpy as np


class Table:
    def __init__(self):
        self.rows = jax.device_put(np.ones((512, 512)), jax.devices("cpu")[0])


class Model:
    def __init__(self):
        self.weights = jax.device_put(np.ones((512, 512)), jax.devices()[0])


def first(table: Table, model: Model):
    return table.rows @ model.weights


def second(table, model):
    return table.rows @ model.weights


def main():
    first(Table(), Model())
"""


def test_what_another_parameter_of_the_name_is() -> None:
    """An annotation says it of its own parameter for certain, and of others of the name less so."""
    options = FileOptions(all_rules())
    found = lint_source(Source("model.py", TYPED), options).findings
    assert [(each.code, each.span.line, each.confidence) for each in found] == [
        ("JDP205", 16, Confidence.DEFINITE),
        ("JDP205", 20, Confidence.LIKELY),
    ]
