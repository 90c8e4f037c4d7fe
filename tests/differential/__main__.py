"""Run random programs, all levels, in parallel; print what came of them, and keep a record."""

from __future__ import annotations

import sys

from tests import records
from tests.differential.programs import LEVELS
from tests.differential.record import Shown, run, summary, write


def main() -> int:
    parser = records.parser("tests.differential", __doc__, "how many")
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, choices=LEVELS)
    options = parser.parse_args()

    def say(each: Shown) -> None:
        print(f"program {each.program} of level {each.level}: {each.what}", flush=True)

    record = run(
        options.programs, options.seed, options.jobs, options.levels, records.say_progress, say
    )
    for line in summary(record):
        print(line)
    if options.record is not None:
        print(write(record, options.record))
    return 1 if any(level.disagreeing for level in record.levels) else 0


if __name__ == "__main__":
    sys.exit(main())
