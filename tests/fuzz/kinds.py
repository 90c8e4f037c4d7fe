"""The kinds of inputs: from a number to a few of them, always the same, with what came of each."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from tests.blocks.programs import Program
from tests.composed.files import random_file
from tests.differential.programs import LEVELS, random_program
from tests.fuzz import anything, grammar
from tests.fuzz.beside import problems_of_a_run
from tests.fuzz.growth import by_calls, numbered
from tests.fuzz.mutations import broken, mutation
from tests.fuzz.oracle import Input, Verdict, judge
from tests.fuzz.readers import READERS, seeds_of
from tests.fuzz.seeds import dice_of
from tests.fuzz.spellings import spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FOLDER_OF = 12


def inputs_of(kind: str, number: int) -> Iterator[Input]:
    """Make the files with a number."""
    if kind == "mutations":
        yield mutation(number)
    elif kind == "spellings":
        yield spelling(number)
    elif kind == "grammar":
        yield grammar.program(number)
    elif kind == "hypothesmith":
        yield from anything.programs(number)
    elif kind == "programs":
        level = LEVELS[number % len(LEVELS)]
        for module, text in random_program(number, level).items():
            yield Input("fuzzed.py", text.encode(), f"program {number} of level {level}: {module}")
        yield Input("fuzzed.py", Program(number).text.replace("\0", "").encode(), f"block {number}")
        yield Input("fuzzed.py", random_file(number).data, f"composed {number}")
    else:
        raise KeyError(kind)


def looked_at(kind: str, number: int) -> Iterator[tuple[Input, Verdict]]:
    """Make the files with a number, and look at each."""
    if kind == "readers":
        yield from _read(number)
    elif kind == "together":
        yield from _together(number)
    elif kind == "growth":
        yield _grown(number)
    else:
        yield from ((given, verdict_on(given)) for given in inputs_of(kind, number))


KINDS = (
    *("mutations", "spellings", "grammar", "hypothesmith", "programs", "together", "readers"),
    "growth",
)


def verdict_on(given: Input) -> Verdict:
    """Look at a file; an exception is a problem."""
    try:
        return judge(given)
    # Not swallowed: it is what is looked for.
    except Exception:
        return Verdict((traceback.format_exc(),))


def _read(number: int) -> Iterator[tuple[Input, Verdict]]:
    """Break what each reader is meant for."""
    for name, read in READERS.items():
        dice = dice_of(f"readers {name}", number)
        seeds = seeds_of(name)
        data = dice.choice(seeds)
        for _ in range(dice.choice([1, 1, 2, 4])):
            data = broken(data, dice)
        given = Input(f"fuzzed.{name}", data, f"reader {name} {number}")
        yield given, verdict_of_reader(read, data)


def verdict_of_reader(read: Callable[[bytes], None], data: bytes) -> Verdict:
    """Give bytes to a reader; an exception is a problem."""
    try:
        read(data)
    except Exception:
        return Verdict((traceback.format_exc(),))
    return Verdict(())


def _together(number: int) -> Iterator[tuple[Input, Verdict]]:
    """Give a folder of files to the command, with good ones between them."""
    first = number * _FOLDER_OF
    kinds = ["mutations", "grammar", "programs"]
    files = [
        next(inputs_of(kinds[each % len(kinds)], each)) for each in range(first, first + _FOLDER_OF)
    ]
    with tempfile.TemporaryDirectory() as folder:
        problems = _problems(files, Path(folder))
    origin = f"together {number}"
    yield Input("fuzzed.txt", b"", origin), Verdict(tuple(problems), parsed=True)


def _grown(number: int) -> tuple[Input, Verdict]:
    """Count the calls for one construct, and for two and four times as much of it."""
    growing = numbered()[number % len(numbered())]
    problem = by_calls(growing).problem
    given = Input("fuzzed.txt", b"", f"growth {number}: {growing.name}")
    return given, Verdict(() if problem is None else (problem,), parsed=True)


def _problems(files: Sequence[Input], folder: Path) -> list[str]:
    try:
        return [*problems_of_a_run(files, folder)]
    except Exception:
        return [traceback.format_exc()]
