"""No rule takes more than its share of the time for more of the same.

Calls are counted, of Python's functions and of C's, while a rule looks at a program and at one of
four times the size: the same on every machine, unlike seconds. What grows with the square of the
size shows long before it takes any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.files.store import FileStore
from placement_lint.lint.check_file import Analysis
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.parsing import Parsed
from placement_lint.rules.registry import all_rules
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.parse import ParsedFile, parse
from tests.counting import counted
from tests.growing import SHAPES, Example

if TYPE_CHECKING:
    from placement_lint.rules.base import Rule

SMALL = 8
FACTOR = 4
BAR = FACTOR**1.2
"""By the exponent that nothing may exceed. Sets have another order in each process: with it, some
things are looked up more often: up to a fifth more calls."""
RULES = [rule for rule in all_rules() if not rule.code.startswith("JDP9")]


def calls_made(rule: type[Rule], text: str) -> int:
    """Count the calls that are made while one rule looks at a text that is parsed already."""

    def look() -> int:
        source = Source("growing.py", text)
        analysis = _analysis(source, rule)
        with counted() as calls:
            analysis.run()
        return calls.made

    return run_deep(look)


every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def check_growth(subtests: pytest.Subtests, rule: type[Rule], *, every: bool) -> None:
    example = Example(rule)
    calls_made(rule, example.whole)  # what is imported or compiled once
    names = [*SHAPES]
    for number, name in enumerate(names):
        if every or (number - RULES.index(rule)) % len(names) == 0:
            with subtests.test(name):
                small = calls_made(rule, SHAPES[name](example, SMALL))
                large = calls_made(rule, SHAPES[name](example, FACTOR * SMALL))
                assert large / small <= BAR


@pytest.mark.sampled(one_in=6)
@every_rule
def test_more_of_the_same_takes_its_share(subtests: pytest.Subtests, rule: type[Rule]) -> None:
    """One rule in six, in one of the shapes; all with `pytest -m every tests/test_growth.py`."""
    check_growth(subtests, rule, every=False)


@pytest.mark.every
@every_rule
def test_more_of_the_same_takes_its_share_in_every_shape(
    subtests: pytest.Subtests, rule: type[Rule]
) -> None:
    check_growth(subtests, rule, every=True)


def test_calls_that_list_no_device_go_through_no_names() -> None:
    """JDP302: what has a name of its own was looked for among all names of the file."""
    (rule,) = (each for each in RULES if each.code == "JDP302")
    listing = 'import jax\n\nfound = jax.devices("gpu")\n'
    small, large = (
        calls_made(rule, listing + "".join(f"x{number} = f({number})\n" for number in range(count)))
        for count in (FACTOR * SMALL, FACTOR * FACTOR * SMALL)
    )
    assert large / small <= BAR


def test_a_program_of_each_shape_has_what_the_rule_looks_for() -> None:
    """The programs hold the hazard as often as they hold the example, but for what runs once."""
    rule = next(rule for rule in RULES if rule.code == "JDP204")
    for name, shape in SHAPES.items():
        source = Source("growing.py", shape(Example(rule), SMALL))
        analysis = _analysis(source, rule)
        assert len(analysis.run().findings) == SMALL, name


def _analysis(source: Source, rule: type[Rule]) -> Analysis:
    file = parse(source)
    assert isinstance(file, ParsedFile), source.text
    return Analysis(Parsed(source, file), FileOptions((rule,)), None, None, FileStore())
