"""Fixes by which something takes effect are tried before they count as safe."""

from __future__ import annotations

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Finding
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.lint.fixes.trial import MOST_TRIALS
from placement_lint.rules.registry import rule_by_code
from tests.lint.helpers import options
from tests.test_fixtures import linted

HEAD = "import jax\nimport jax.numpy as jnp\n\ncpu = jax.devices('cpu')[0]\n"
STAGED = (
    "jax.default_device = cpu\n{name} = jnp.zeros((1000, 1000))\njax.default_device = None\n"
    "{name}_used = {use}\n"
)
ON_THE_ACCELERATOR = "jnp.ones((1000, 1000)) @ {name}"


def staged(*uses: str) -> str:
    """Give a program that stages tables, each used in one way."""
    parts = [
        STAGED.format(name=f"table_{number}", use=use.format(name=f"table_{number}"))
        for number, use in enumerate(uses)
    ]
    return HEAD + "".join(parts)


def levels(text: str, *codes: str) -> list[tuple[Applicability, str]]:
    """Give how safe the fixes are, and what they say that they bring up."""
    rules = tuple(rule_by_code(code) for code in codes or ("JDP101",))
    found = linted(Source("case.py", text), rules).findings
    return [level(each) for each in found if each.code == "JDP101"]


def level(finding: Finding) -> tuple[Applicability, str]:
    assert finding.fix is not None
    return finding.fix.applicability, finding.fix.message.partition(", which ")[2]


def test_a_fix_that_brings_something_up_is_unsafe_and_says_so() -> None:
    text = staged(ON_THE_ACCELERATOR)
    assert levels(text) == [(Applicability.UNSAFE, "brings up JDP202")]


@pytest.mark.parametrize("use", ["{name}.shape", "float({name}[0, 0])"])
def test_what_a_safe_fix_gets_rid_of_does_not_count(use: str) -> None:
    assert levels(staged(use)) == [(Applicability.SAFE, "")]


def test_it_does_not_depend_on_which_rules_are_selected() -> None:
    text = staged(ON_THE_ACCELERATOR)
    assert levels(text, "JDP101", "JDP202") == levels(text, "JDP101")


def test_each_of_several_is_tried_by_itself() -> None:
    assert levels(staged("{name}.shape", ON_THE_ACCELERATOR, "{name}.dtype")) == [
        (Applicability.SAFE, ""),
        (Applicability.UNSAFE, "brings up JDP202"),
        (Applicability.SAFE, ""),
    ]


def test_many_are_tried_together() -> None:
    harmless = ["{name}.shape"] * (MOST_TRIALS + 2)
    assert levels(staged(*harmless)) == [(Applicability.SAFE, "")] * len(harmless)
    found = levels(staged(*harmless, ON_THE_ACCELERATOR))
    assert found[0] == (Applicability.SAFE, "")
    assert found[-1] == (Applicability.UNSAFE, "")


def test_a_list_of_devices_is_fixed_by_what_is_found_then() -> None:
    text = HEAD + "jax.default_device = [cpu]\nx = jnp.zeros(8)\njax.default_device = None\n"
    rules = (rule_by_code("JDP101"), rule_by_code("JDP108"))
    result = fix_source(Source("case.py", text), options(*rules), unsafe=False)
    assert result.text == HEAD + "with jax.default_device(cpu):\n    x = jnp.zeros(8)\n"
