"""No regular expression takes time that grows faster than the text that it looks at.

Each is applied, as the package applies it, to texts that repeat a few characters: those of the
table below, and what stands in the expression itself. What takes next to no time for thousands of
them is taken for linear. For what takes longer, the time is compared with that of a quarter of
them: four times as long is linear, sixteen times is not. Both leave room for a machine that does
other things: it is the processor's time that is measured, the shortest of three.
"""

from __future__ import annotations

import re
import time

import pytest

from tests.expressions import PUT_TOGETHER, Expression, all_expressions, calls
from tests.trials import Trials

COUNT = 20_000
RUNGS = (13, 16, 19, 22, 200, 800, 2_400, COUNT)
"""How often the characters are repeated: what is exponential shows before it takes for ever."""
SOON = 0.025
"""Seconds. What is linear takes a fifth of it or less, what is quadratic the fourfold or more."""
FACTOR = 4
SHARE = 12
"""One text of so many is looked at, of each expression others, if not all of them are."""
GROWTH = 9.0
"""Between the 4 of what is linear and the 16 of what is quadratic."""

UNITS = (
    *("a", "a ", "aB", "1", " ", "\n", "\t", "\f", " \n", "a\n", " a\n", "\\", "\\\n", "\\a"),
    *(".", "a.", "a .", ". ", ",", "a,", ":", ";", "=", "= ", "a=", "==", "-", "%", "!", "@", "|"),
    *("(", ")", "()", "( ", "a(", "a)", "=(", "[", "]", "[a]", "a[", "{", "}", "{a:", ")(", "]["),
    *("#", "#\n", "#a\n", "# noqa", "# noqa: JDP101,", "JDP1,", "# placement-lint: ignore["),
    *("'", '"', "''", "'a'", "'''", '"""', "'\\", "\"'", "f'", "f'{", "b'", 'r"', '"""\\'),
    *("with ", "from ", "import ", "import a,", "def ", "def a(", "lambda ", "lambda:", "for "),
    *("jax.", "jax.config.", "environ", "environ ", "device", "device =", "getattr(", "cpu", "in "),
    *("# %%\n", "%a\n", "!a\n", "?", "é", "\u2028", "0_", "1.", ">=1,", "~=", "a-", "a_", "_"),
)  # fmt: skip
HEADS = ("", "x = ")

_GUARDED = "`nesting.without_end` refuses text with many quotes that begin no string"
_PARSED = "only of text that parses, in which every string ends"
BOUNDED: dict[str, str] = {
    "cli/completion.py: _PATHS": "of words of our own",
    "lint/offers.py: _TOKEN": _PARSED,
    "lint/suppressions.py: _NOQA_CODE": "of what is a list of codes already",
    "syntax/code_text.py: _TEXT": _GUARDED,
    "syntax/mentions.py: _IN_ARGUMENTS": _GUARDED,
    "syntax/mentions.py: _IN_BRACKETS": _GUARDED,
    "syntax/mentions.py: _TOKENS": _GUARDED,
    "syntax/mentions.py: _TOKENS_OF_ASCII": _GUARDED,
    "syntax/nesting.py: _COUNTED": _GUARDED,
    "syntax/nesting.py: _PIECES": "stopped when it has read too much",
    "syntax/wrapping.py: _TOKEN": _PARSED,
}
"""Expressions that are not linear, and why they need not be."""

EXPRESSIONS = all_expressions()
LINEAR = [each for each in EXPRESSIONS if each.name not in BOUNDED]


def seconds(expression: Expression, head: str, unit: str, count: int, *, times: int = 1) -> float:
    """Give the time that looking at a text takes: the shortest of some."""
    text = f"{head}{unit * count}\n"
    found = []
    for _ in range(times):
        started = time.process_time()
        expression.apply(text)
        found.append(time.process_time() - started)
    return min(found)


def growth(expression: Expression, head: str, unit: str) -> float:
    """Give how many times as long four times as much takes; 0.0 where it takes no time."""
    for count in RUNGS:
        long = seconds(expression, head, unit, count)
        if long < SOON:
            continue
        long = min(long, seconds(expression, head, unit, count, times=2))
        if long < SOON:
            continue
        return long / max(seconds(expression, head, unit, count // FACTOR, times=3), 1e-6)
    return 0.0


def units_of(expression: Expression) -> tuple[str, ...]:
    """Give what to repeat: also words and signs that the expression itself has."""
    pattern = expression.pattern
    text = pattern if isinstance(pattern, str) else pattern.decode("ascii")
    own = re.findall(r"[A-Za-z]{2,}|[^\w\s\\]", text)
    return tuple(dict.fromkeys([*UNITS, *own, *(f"{word} " for word in own)]))


def superlinear(expression: Expression, units: tuple[str, ...]) -> dict[str, float]:
    """Give on what the time grows too fast, and how fast."""
    found = {}
    for unit in units:
        for head in HEADS:
            grown = growth(expression, head, unit)
            if grown > GROWTH:
                found[f"{head}{unit}"] = round(grown, 1)
    return found


def test_every_expression_is_linear() -> None:
    """On a share of the texts; on all of them with `pytest -m every tests/test_expressions.py`."""
    with Trials() as trials:
        for number, expression in enumerate(LINEAR):
            units = units_of(expression)
            with trials.of(f"{expression.name}: {expression.pattern!r}"):
                assert superlinear(expression, units[number % SHARE :: SHARE]) == {}


def test_there_are_expressions_of_every_kind() -> None:
    assert len(EXPRESSIONS) > 140
    assert any(isinstance(each.pattern, bytes) for each in EXPRESSIONS)
    assert {each.name for each in EXPRESSIONS} > {*BOUNDED}
    made = {path for path, _, pattern in calls() if pattern is None}
    assert made == PUT_TOGETHER.keys()


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        (r"(?:a+)+b", "a"),  # exponential
        (r"(?:a|a)*b", "a"),
        (r"a*b", "a"),  # quadratic where it is searched for
        (r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'', "\"'\\"),
    ],
)
def test_what_is_not_linear_is_seen(pattern: str, unit: str) -> None:
    expression = Expression(pattern, 0, "", frozenset({"search"}))
    assert superlinear(expression, (unit,))


@pytest.mark.parametrize("unit", ["a", " ", "a "])
def test_what_is_linear_is_not_accused(unit: str) -> None:
    expression = Expression(r"(?<![\w ])[\w ]+b", 0, "", frozenset({"search"}))
    assert superlinear(expression, (unit,)) == {}


@pytest.mark.every
@pytest.mark.parametrize("expression", LINEAR, ids=lambda each: each.name)
def test_every_expression_is_linear_on_everything(expression: Expression) -> None:
    assert superlinear(expression, units_of(expression)) == {}
