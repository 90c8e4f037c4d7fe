"""Programs out of a grammar: every construct of Python, in it the names of JAX.

`tests/differential` writes programs that run, `tests/composed` such as are linted for what stands
in the fixtures. These are only syntax: what nobody would write stands where it may stand.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.oracle import Input
from tests.fuzz.seeds import dice_of, texts

if TYPE_CHECKING:
    import random

_GRAMMAR = Path(__file__).with_name("grammar.txt")
_HOLE = re.compile(r"^(?P<margin>[ ]+)<(?P<block>[a-z]+)>$|<(?P<rule>[a-z]+)>", re.MULTILINE)
_STRANGE = "? "
_DEEPEST = 5
_LONGEST = 8_000
FIXTURE = "fixture"
"""Stands for the text of a fixture, and has no forms of its own."""


@functools.cache
def rules(*, strange: bool) -> dict[str, tuple[str, ...]]:
    """Read the grammar: the forms of each rule, with or without those that may not compile."""
    found: dict[str, list[str]] = {}
    forms: list[str] = []
    for line in _GRAMMAR.read_text(encoding="utf-8").splitlines():
        if line.startswith("    | "):
            forms[-1] += "\n" + line[6:]
        elif line.startswith("    "):
            forms.append(line[4:])
        elif line.endswith(":"):
            forms = found.setdefault(line[:-1], [])
    return {
        rule: tuple(
            form.removeprefix(_STRANGE)
            for form in forms
            if strange or not form.startswith(_STRANGE)
        )
        for rule, forms in found.items()
    }


@functools.cache
def _short(rule: str) -> tuple[str, ...]:
    """Give the forms of a rule that lead no deeper than to names; all where there are none."""
    forms = rules(strange=False)[rule]
    return tuple(form for form in forms if not set(_holes(form)) - {"name"}) or forms


def _holes(form: str) -> list[str]:
    return [match["block"] or match["rule"] for match in _HOLE.finditer(form)]


def program(seed: int) -> Input:
    """Give the program with a number: always the same one."""
    dice = dice_of("grammar", seed)
    text = _Writer(dice).form("program", 0) + dice.choice(["\n", "\n", ""])
    return Input("fuzzed.py", text.encode("utf-8", "surrogatepass"), f"grammar {seed}")


class _Writer:
    """Writes one program."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.left = _LONGEST
        self.rules = rules(strange=dice.random() < 0.3)

    def form(self, rule: str, depth: int) -> str:
        """Write a form of a rule; deep down, and where much is written, a short one."""
        if rule == FIXTURE:
            text = self.dice.choice(texts())
            return text.rstrip("\n") if len(text) < 2_000 else "pass"
        short = depth > _DEEPEST or self.left < 0
        written = self.dice.choice(_short(rule) if short else self.rules[rule])
        self.left -= len(written)
        return _HOLE.sub(lambda hole: self._filled(hole, depth + 1), written)

    def _filled(self, hole: re.Match[str], depth: int) -> str:
        if hole["rule"]:
            return self.form(hole["rule"], depth)
        lines = self.form(hole["block"], depth).split("\n")
        return "\n".join(hole["margin"] + line if line else line for line in lines)
