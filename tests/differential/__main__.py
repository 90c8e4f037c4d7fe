"""Run random programs, all levels, in parallel; print what came of them, and keep a record."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.differential.programs import LEVELS
from tests.differential.record import Shown, default_jobs, run, summary, write
from tests.records import RECORDS


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    parser.add_argument("--jobs", type=int, default=default_jobs(), help="processes (%(default)s)")
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, choices=LEVELS)
    parser.add_argument(
        "--record", type=Path, nargs="?", const=RECORDS, metavar="FOLDER",
        help="write a record; without a folder, where the tests look for the newest one",
    )  # fmt: skip
    options = parser.parse_args()

    def progress(done: int, of: int) -> None:
        if sys.stderr.isatty() or done == of or done % 20 == 0:
            print(f"{done} of {of} batches", file=sys.stderr)

    def say(each: Shown) -> None:
        print(f"program {each.program} of level {each.level}: {each.what}", flush=True)

    record = run(options.programs, options.seed, options.jobs, options.levels, progress, say)
    for line in summary(record):
        print(line)
    if options.record is not None:
        print(write(record, options.record))
    return 1 if any(level.disagreeing for level in record.levels) else 0


if __name__ == "__main__":
    sys.exit(main())
