"""How the work of a whole run grows with one thing of which there is ever more.

    python -m tests.fuzz.growth              # every construct: about an hour
    python -m tests.fuzz.growth --calls      # without the time: some minutes
    python -m tests.fuzz.growth --record     # writes the table to fixtures/records

The smallest number is taken that makes some work, then twice as many, and four times. By which
power of their size the work grows is said; that of a run over next to nothing does not count. Work
is calls, of which there are as many on every machine, and the time of the processor, which also
tells what is inside of one call, but which varies.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import math
import multiprocessing as mp
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from unittest import mock

from placement_lint.cli import main as command
from placement_lint.project import small_programs
from tests import records
from tests.counting import counted
from tests.fuzz.constructs import HEAD, every
from tests.records import RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fuzz.constructs import Files, Growing

    Work: TypeAlias = Callable[[Files], float]

VERSION = 1
STEEPEST = 1.2
"""Exponent: work that grows with the 1.2th power of the size, which is 2.3 times for the double."""
MANY = 10_000
"""Calls that the smallest run makes at least, beside what every run makes."""
SOON = 0.25
"""Seconds that the smallest run takes at least, beside what every run takes."""
LARGEST = {"calls": 12_500, "seconds": 400_000}
"""Bytes of the smallest run at most: what makes no work by then makes none."""
SLOW = 60
"""Seconds for one file: nothing that is linear takes so long."""
ROUNDS = 3
"""What seems to take ever more time is measured again: the machine may have been busy."""
_ROWS_AT_A_TIME = 20
"""Rows after which the record is written: a run that is ended leaves what it found."""
_PER_PROCESS = 40
"""Constructs, after which another one begins: its memory is given back."""


@dataclass(frozen=True)
class Growth:
    """How the work grew."""

    construct: str
    dimension: str
    unit: str
    """`calls` or `seconds`."""
    sizes: tuple[int, ...]
    """Bytes, beside what is in every run."""
    work: tuple[float, ...]
    """Beside what every run takes."""

    @property
    def exponent(self) -> float:
        """By which power of the size the work grows."""
        size, work = self.sizes[-1] / self.sizes[0], self.work[-1] / self.work[0]
        return math.log(work) / math.log(size)

    @property
    def problem(self) -> str | None:
        """What is wrong with it, if anything."""
        if self.exponent <= STEEPEST:
            return None
        told = ", ".join(f"{each:.5g}" for each in self.work)
        return (
            f"{self.construct}, {self.dimension}: exponent {self.exponent:.2f} "
            f"({told} {self.unit} for {self.sizes} bytes)"
        )


def by_calls(growing: Growing) -> Growth:
    """Count how many more calls are made, the same at every run."""
    _calls(growing.make(growing.start))  # what is imported or compiled once
    return _growth(growing, "calls", _calls, float(MANY))


def by_seconds(growing: Growing) -> Growth:
    """Measure how much more time is taken."""
    return min(_measured(growing), key=lambda found: found.exponent)


def _measured(growing: Growing) -> Iterator[Growth]:
    for _ in range(ROUNDS):
        found = _growth(growing, "seconds", _seconds, SOON)
        yield found
        if found.problem is None:
            return


def _growth(growing: Growing, unit: str, work: Work, enough: float) -> Growth:
    least = least_of(work)
    number = growing.start
    while True:
        files = growing.make(number)
        size, made = _size(files), work(files) - least
        if made >= enough or size >= LARGEST[unit] or 8 * number > growing.most:
            break
        number *= 2
    # Below a tenth of what is enough, it is noise.
    sizes, works = [size], [max(made, enough / 10)]
    for factor in (2, 4):
        if math.isinf(works[-1]):
            break
        files = growing.make(factor * number)
        sizes.append(_size(files))
        works.append(max(work(files) - least, enough / 10))
    if len(sizes) == 1:
        sizes, works = [size, 2 * size], [1.0, math.inf]
    return Growth(growing.construct, growing.dimension, unit, tuple(sizes), tuple(works))


@cache
def least_of(work: Work) -> float:
    """Give the work that is in every run."""
    files = {"a.py": HEAD}
    work(files)  # what is imported or compiled once
    return work(files)


def _size(files: Files) -> int:
    whole = sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values())
    return max(whole - len(HEAD), 1)


def _calls(files: Files) -> float:
    """Give how many calls a run over some files makes."""
    with _project(files):
        gc.disable()  # what it calls comes at any time
        try:
            with counted() as calls:
                slow = _run(files)
        finally:
            gc.enable()
    return math.inf if slow else calls.made


def _seconds(files: Files) -> float:
    """Give the time that the processor takes for a run over some files."""
    with _project(files):
        gc.collect()
        started = time.process_time()
        slow = _run(files)
        return math.inf if slow else time.process_time() - started


def _run(files: Files) -> bool:
    """Lint; tell whether the time of a file was over.

    Small programs are interpreted as a whole, which takes less: growth begins beyond.
    """
    told, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(errors),
        mock.patch.object(small_programs, "MOST_FILES", 0),
    ):
        code = command([*_ARGUMENTS, "."])
    # Settings and the like may be refused, instead of being read for ever.
    assert code == 0 or any(not name.endswith(_LINTED) for name in files), errors.getvalue()
    return "JDP900" in told.getvalue()


_LINTED = (".py", ".ipynb")
_ARGUMENTS = (
    *("--no-cache", "--jobs=1", "--select=ALL", "--exit-zero", "--output-format=flake8"),
    f"--file-time-limit={SLOW}",
)


@contextlib.contextmanager
def _project(files: Files) -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ".git").mkdir()
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@cache
def numbered() -> tuple[Growing, ...]:
    """Give what there is to grow, each at its number."""
    return tuple(every())


# -- the table ------------------------------------------------------------------------------------


def _looked_at(number: int, *, seconds: bool) -> list[Growth]:
    growing = numbered()[number]
    return [by_calls(growing), *([by_seconds(growing)] if seconds else [])]


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.fuzz.growth")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of constructs; else all")
    parser.add_argument("--calls", action="store_true", help="do not measure the time")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--record", action="store_true", help="write the record of today")
    options = parser.parse_args()
    numbers = [
        number
        for number, growing in enumerate(numbered())
        if not options.names or growing.construct in options.names
    ]
    found: list[Growth] = []
    look = partial(_looked_at, seconds=not options.calls)
    pool = mp.get_context("spawn").Pool(options.jobs, maxtasksperchild=_PER_PROCESS)
    with pool:
        for growths in pool.imap(look, numbers):
            found += growths
            for growth in growths:
                if options.names or growth.problem:
                    print(_line(growth), flush=True)
            if options.record and len(found) % _ROWS_AT_A_TIME == 0:
                _record(found)
    steep = [growth for growth in found if growth.problem]
    print(f"{len(numbers)} constructs and dimensions; {len(steep)} above {STEEPEST}; steepest:")
    for growth in sorted(found, key=lambda growth: -growth.exponent)[:10]:
        print(_line(growth))
    if options.record:
        print(_record(found))
    return 1 if steep else 0


def _line(growth: Growth) -> str:
    told = ", ".join(f"{each:.5g}" for each in growth.work)
    name = f"{growth.construct}, {growth.dimension}"
    return f"{growth.exponent:6.2f}  {name}: {told} {growth.unit} for {growth.sizes} bytes"


def _record(found: list[Growth]) -> Path:
    rows = [
        {**asdict(replace(each, work=tuple(round(w, 3) for w in each.work))),
         "exponent": round(each.exponent, 2)}
        for each in found
    ]  # fmt: skip
    whole = {
        "version": VERSION, "made": "growth", "python": platform.python_version(), "rows": rows,
    }  # fmt: skip
    return records.write(records.as_text(whole), records.today(), "-growth.json", RECORDS)


if __name__ == "__main__":
    sys.exit(main())
