"""From how much text on processes pay: `python benchmarks/parallel.py FILE|FOLDER …`.

Of the files that have to be parsed, more and more are linted in one process and in two, in turns.
Printed is the wall time of both by the bytes of text, and where two begin to be faster: what
`PARALLEL_BYTES` in `placement_lint/lint/run.py` is set by. It takes a machine that has two
processors to itself: on a busy one, processes never pay.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from placement_lint.config.settings import Settings
from placement_lint.lint.check_file import passes_filter
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.run import PARALLEL_BYTES, check_files
from placement_lint.lint.tasks import Request
from placement_lint.prefilter.conditions import FileText
from placement_lint.rules.selection import select_rules

STEP = 1.5
LEAST = 30_000


@dataclass(frozen=True)
class Point:
    """Medians of one amount of text."""

    size: int
    files: int
    alone: float
    together: float

    @property
    def pays(self) -> bool:
        """Whether two processes are faster."""
        return self.together < self.alone


def crossing(points: list[Point]) -> int | None:
    """Give the size from which on two processes were always faster; None: never at the end."""
    paying = [*itertools.takewhile(lambda point: point.pays, reversed(points))]
    return paying[-1].size if paying else None


def amounts(files: list[tuple[str, int]], most: int) -> list[tuple[int, list[str]]]:
    """Give selections of files, each half as large again as the one before, spread evenly.

    `files` are paths and sizes. An amount of many small files says more of what people have than
    the first large file of a tree.
    """
    selections: list[tuple[int, list[str]]] = []
    wanted = float(LEAST)
    total = sum(size for _, size in files)
    while wanted <= min(most, total):
        every = max(1, round(total / wanted))
        chosen, size = [], 0
        for path, its in files[::every]:
            chosen.append(path)
            size += its
        if not selections or size > selections[-1][0]:
            selections.append((size, chosen))
        wanted *= STEP
    return selections


def main() -> int:
    """Measure, and print a row for each amount; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE|FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=4_000_000, help="bytes of text to go up to")
    args = parser.parse_args()
    rules = select_rules(Settings(), "")
    request = Request(FileOptions(rules))
    files = [*_parsed(args.paths, rules)]
    # As in a fresh process: what parses is imported before the first file, and again by a worker.
    check_files([files[0][0]], lambda _: request, jobs=1)
    points = []
    print(f"{'bytes':>12} {'files':>6} {'-j 1':>9} {'-j 2':>9}")
    for size, chosen in amounts(files, args.most):
        alone: list[float] = []
        together: list[float] = []
        for _ in range(args.rounds):
            for jobs, times in ((1, alone), (2, together)):
                started = time.perf_counter()
                check_files(chosen, lambda _: request, jobs=jobs, parallel_bytes=0)
                times.append(time.perf_counter() - started)
        point = Point(size, len(chosen), statistics.median(alone), statistics.median(together))
        points.append(point)
        print(
            f"{point.size:12,} {point.files:6,} {point.alone:7.2f} s {point.together:7.2f} s"
            f"{'  pays' if point.pays else ''}"
        )
    found = crossing(points)
    said = "never" if found is None else f"from {found:,} bytes on"
    print(f"two processes pay {said}; PARALLEL_BYTES is {PARALLEL_BYTES:,}")
    return 0


def _parsed(paths: list[Path], rules: tuple[type, ...]) -> list[tuple[str, int]]:
    found = []
    for top in paths:
        for path in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
            data = path.read_bytes()
            if passes_filter(FileText(data, jax=b"jax" in data), rules):
                found.append((os.fspath(path), len(data)))
    return found


if __name__ == "__main__":
    sys.exit(main())
