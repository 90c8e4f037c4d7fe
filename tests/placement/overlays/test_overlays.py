"""Every model of a library function is executed on that library, by the programs beside this file.

A case is named after the functions that it calls. It begins with `HEAD`: `x` was made on the host,
`y` on the default device, both uncommitted, so that a model that loses `x` misses a move. In
brackets: how many uses of arrays the interpreter may not know, the Python version that has the
functions, the package that they need or its versions that have them, or `every` for a slow case,
which runs by `pytest -m every` only. What the transfer table has a row of is executed by
`tests/jaxmodel/test_transfer.py`.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
import pytest
from packaging.requirements import Requirement

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.libraries import methods
from placement_lint.placement.overlays import registry, stdlib
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree
from tests.differential.analysis import analyse
from tests.differential.compare import compare
from tests.differential.conftest import oracle
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from tests.differential.oracle_client import OracleClient

__all__ = ["oracle"]

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    x = jnp.ones((4, 4))
y = jnp.zeros((4, 4))
"""
_CASE = re.compile(
    r"^# case: ([\w. ]+?)(?: \[(\d+) unknown\])?(?: \[since (3\.\d+)\])?"
    r"(?: \[needs ([^]]+)\])?(?: \[(every)\])?\n"
    r"(.*?)(?=^# case: |\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class OverlayCase:
    """A program that calls library functions."""

    names: tuple[str, ...]
    unknown: int
    since: tuple[int, ...]
    needs: str
    """A version of a package, as pip takes it; or nothing."""
    is_slow: bool
    text: str

    def missing(self) -> str | None:
        """Return why it cannot be executed here; None where it can."""
        if sys.version_info < self.since:
            return f"needs Python {'.'.join(map(str, self.since))}"
        packages = sorted({name.partition(".")[0] for name in self.names})
        absent = [each for each in packages if importlib.util.find_spec(each) is None]
        if absent:
            return f"not installed: {', '.join(absent)}"
        if self.needs:
            needed = Requirement(self.needs)
            if importlib.util.find_spec(needed.name) is None:
                return f"not installed: {needed.name}"
            if (installed := metadata.version(needed.name)) not in needed.specifier:
                return f"needs {needed}; here is {installed}"
        return None


def cases_in(folder: Path) -> list[OverlayCase]:
    """Read the cases of every file in a folder."""
    return [
        OverlayCase(
            tuple(names.split()),
            int(unknown or 0),
            tuple(map(int, since.split("."))) if since else (),
            needs,
            bool(every),
            HEAD + text,
        )
        for path in sorted(folder.glob("*.txt"))
        for names, unknown, since, needs, every, text in _CASE.findall(
            path.read_text(encoding="utf-8")
        )
    ]


CASES = cases_in(Path(__file__).parent)
MODELS = {*registry.models_by_name(), *registry.models_of_objects()}
CLASSES = {name.rpartition(".")[0] for name in methods()}


def called_in(text: str) -> set[str]:
    """Return the qualified names of what a program calls, and those of methods: `*.init`."""
    tree = Tree(cst.parse_module(text))
    names = Names(tree)
    called = [node.func for node in tree.every(cst.Call)]
    methods = {f"*.{func.attr.value}" for func in called if isinstance(func, cst.Attribute)}
    return {names.qualified(func) or "" for func in called} | methods


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.names[0])
def test_a_case_calls_what_it_is_named_after(case: OverlayCase) -> None:
    called = called_in(case.text)
    for name in case.names:
        cls, _, method = name.rpartition(".")
        of_object = cls in CLASSES and (f"*.{method}" in called or method == "__call__")
        assert name in called or of_object, name
    assert set(case.names) <= MODELS


def test_every_model_is_executed() -> None:
    executed = {name for case in CASES for name in case.names}
    executed |= {row.name for row in transfer.ROWS}
    assert MODELS - executed == set(), "without a case"


def test_every_method_of_a_library_has_a_model() -> None:
    assert methods() <= registry.models_of_objects().keys()


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[*RUNS_PROGRAMS, *[pytest.mark.every] * case.is_slow])
        for case in CASES
    ],
    ids=lambda case: case.names[0],
)
def test_the_library_agrees(oracle: OracleClient, case: OverlayCase) -> None:
    if (reason := case.missing()) is not None:
        pytest.skip(reason)
    modules = {"main": case.text}
    comparison = compare(modules, analyse(modules), oracle.run(modules, [0]))
    assert comparison.errors == {}
    assert comparison.disagreements == []
    assert comparison.uses > 0
    assert comparison.unknown <= case.unknown


def test_a_name_has_one_model() -> None:
    with pytest.raises(ValueError, match="two models"):
        registry.models("itertools.tee")(stdlib.teed)


def test_every_effect_that_is_applied_has_a_model() -> None:
    by_name = registry.models_by_name()
    applied = {row.effect for row in transfer.TABLE.values() if row.name not in by_name}
    assert applied <= registry.models_by_effect().keys()
