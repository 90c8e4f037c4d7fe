"""Try inputs that nobody wrote, for so many seconds each kind, and keep a record."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tests.fuzz import record, trees
from tests.fuzz.kinds import KINDS, looked_at
from tests.fuzz.reduction import reduced
from tests.fuzz.running import Problem, Tally, try_numbers
from tests.records import RECORDS

FOUND = Path("build", "fuzz")
"""Where inputs are kept that show something wrong."""


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}, or all")
    parser.add_argument("--seconds", type=float, default=60, help="for each kind (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first number (%(default)s)")
    parser.add_argument("--count", type=int, help="how many numbers of each kind, at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (%(default)s)")
    parser.add_argument(
        "--files", type=Path, nargs="+", metavar="FOLDER",
        help="instead, every .py file below these folders, however long that takes",
    )  # fmt: skip
    parser.add_argument("--reduce", action="store_true", help="make small what shows a problem")
    parser.add_argument(
        "--record", type=Path, nargs="?", const=RECORDS, metavar="FOLDER",
        help="add the figures to the record of today",
    )  # fmt: skip
    options = parser.parse_args()
    if unknown := {*options.kinds} - {*KINDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")

    tallies: list[Tally] = []
    if options.files:
        for folder in options.files:
            tally = Tally(f"files of {folder.name}", 0)
            look = trees.Looking(tuple(trees.python_files(folder)))
            try_numbers(
                tally, look=look, jobs=options.jobs, until=float("inf"), count=len(look.files),
                say=_say,
            )  # fmt: skip
            tallies.append(tally)
            print(record.line(tally), flush=True)
    else:
        for kind in options.kinds or KINDS:
            tally = Tally(kind, options.first)
            until = time.monotonic() + options.seconds
            try_numbers(
                tally, look=looked_at, jobs=options.jobs, until=until, count=options.count, say=_say
            )
            tallies.append(tally)
            print(record.line(tally), flush=True)
    problems = _one_of_each(tallies)
    for problem in problems:
        _keep(problem, reduce=options.reduce)
    if options.record is not None:
        print(record.add(tallies, options.record))
    return 1 if problems else 0


def _say(problem: Problem) -> None:
    print(f"{problem.given.origin or problem.number}: {problem.place}", file=sys.stderr, flush=True)


def _one_of_each(tallies: list[Tally]) -> list[Problem]:
    """Give the smallest input that shows a problem, for each of the problems."""
    found: dict[str, Problem] = {}
    for tally in tallies:
        for problem in tally.problems:
            known = found.setdefault(problem.place, problem)
            if len(problem.given.data) < len(known.given.data):
                found[problem.place] = problem
    return [*found.values()]


def _keep(problem: Problem, *, reduce: bool) -> None:
    FOUND.mkdir(parents=True, exist_ok=True)
    given = problem.given
    ending = given.name.rpartition(".")[2]
    path = FOUND / f"{problem.kind.replace(' ', '-')}-{problem.number}.{ending}"
    path.write_bytes(reduced(problem) if reduce else given.data)
    print(f"== {path}: {given.origin}\n{problem.what.strip()}")


if __name__ == "__main__":
    sys.exit(main())
