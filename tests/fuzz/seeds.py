"""What people wrote: the fixtures, from which inputs are made."""

from __future__ import annotations

import functools
import json
import random

from tests.fixture_cases import FIXTURES, all_cases
from tests.hostile.inputs import CODE
from tests.program_cases import all_programs

_LONGEST = 20_000


def dice_of(kind: str, number: int) -> random.Random:
    """Give dice that fall alike at every run."""
    return random.Random(f"{kind} {number}")  # noqa: S311 - no secrets are made with it


@functools.cache
def texts() -> tuple[str, ...]:
    """Give the text of every case, of every file of a program and of every seed."""
    found = [case.before.text for case in all_cases()]
    found += [text for program in all_programs() for text in program.texts().values()]
    found += [path.read_text("utf-8") for path in sorted(FIXTURES.glob("[st]*/*.py"))]
    found += [f"import jax\n{code}" for code in CODE.values() if isinstance(code, str)]
    return tuple(dict.fromkeys(text for text in found if len(text) <= _LONGEST))


def notebook(cells: list[str], dice: random.Random) -> bytes:
    """Give a notebook with these code cells, laid out in one of the ways that programs do."""
    made: list[dict[str, object]] = [
        {
            "cell_type": "code" if dice.random() < 0.9 else "markdown",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": text if dice.random() < 0.3 else text.splitlines(keepends=True),
        }
        for text in cells
    ]
    whole = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    indent = dice.choice([None, 1, 1, 2])
    return json.dumps(whole, indent=indent, ensure_ascii=dice.random() < 0.5).encode()
