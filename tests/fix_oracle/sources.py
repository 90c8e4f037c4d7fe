"""Where the programs come from that are fixed and run."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.differential.programs import LEVELS, random_program
from tests.differential.record import seeds_of
from tests.fix_oracle.loops import random_loop
from tests.fixture_cases import all_cases
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.program_cases import ProgramCase

    Modules = dict[str, str]

TOO_LARGE = {"JDP402/hazards/arange-for-a-sharding": "it makes an array of 4 GB"}
OWN = Path(__file__).parent / "programs"


_ASKS = re.compile(r"\binputs\.|\bfrom inputs\b|\bimport inputs as\b")


@dataclass(frozen=True)
class Program:
    """A program that is fixed and run; its module `main` is started."""

    family: str
    name: str
    modules: Modules
    seeds: list[int]
    """Of the answers of `inputs`: one run for each."""


def _program(family: str, name: str, modules: Modules, number: int = 0) -> Program:
    # Each of `loops` imports it; few ask.
    asks = any(_ASKS.search(text) for text in modules.values())
    return Program(family, name, modules, seeds_of(number) if asks else [0])


def random_programs(family: str, number: int) -> Program:
    """Give the random program of a family with a number: always the same one."""
    return _program(family, f"{family}/{number}", GENERATORS[family](number), number)


def _level(level: int, number: int) -> Modules:
    return random_program(number, level)


GENERATORS: dict[str, Callable[[int], Modules]] = {
    "loops": random_loop,
    **{f"level {level}": functools.partial(_level, level) for level in LEVELS},
}
"""The families of random programs."""


WRITTEN = ("fixtures", "programs", "own")
"""The families of programs that are written."""
FAMILIES = (*GENERATORS, *WRITTEN)


def fixture_programs() -> list[Program]:
    """Give every case of the fixtures that is there to be found, as a program of one module."""
    return [
        _program("fixtures", case.id, {"main": case.before.text})
        for case in all_cases()
        if case.kind == "hazards" and case.id not in TOO_LARGE
    ]


def written_programs() -> tuple[list[Program], list[str]]:
    """Give the programs of several files; and the names of those that cannot be started."""
    every = all_programs()
    started = [case for case in every if case.run is not None and not case.missing]
    others = [case.id for case in every if case not in started]
    return [_of_case("programs", case) for case in started], others


def own_programs() -> list[Program]:
    """Give the programs that were written for the judge."""
    return [_of_case("own", case) for case in all_programs(OWN.parent)]


def program_named(name: str) -> Program:
    """Give the program with a name, of any family. Raises KeyError where there is none."""
    family, _, number = name.rpartition("/")
    if family in GENERATORS and number.isdigit():
        return random_programs(family, int(number))
    every = [*fixture_programs(), *written_programs()[0], *own_programs()]
    return {program.name: program for program in every}[name]


def _of_case(family: str, case: ProgramCase) -> Program:
    return _program(family, case.id, case.modules())
