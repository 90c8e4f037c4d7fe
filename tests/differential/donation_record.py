"""Run random programs that donate, in parallel; keep a record of what came of them.

`python -m tests.differential.donation_record --programs 5000 --seed 3 --record`.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from tests import records
from tests.differential.donation_compare import DonationOracle, Totals, compare

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
SUFFIX = "-donation-programs.json"
_BATCH = 10
_MAX_SHOWN = 100


@dataclass
class DonationRecord:
    """A whole run."""

    seed: int
    totals: Totals
    date: str
    seconds: float
    jobs: int
    tools: dict[str, str]
    source: str
    """A digest of the analyser that was run."""

    @property
    def programs(self) -> int:
        """How many programs were run."""
        return self.totals.programs


_oracle: DonationOracle | None = None


def _start(_: str) -> None:
    global _oracle  # noqa: PLW0603
    _oracle = DonationOracle()


def _batch(numbers: range) -> Totals:
    assert _oracle is not None
    totals = Totals()
    for number in numbers:
        compare(number, _oracle, totals)
    return totals


def run(programs: int, seed: int, jobs: int) -> DonationRecord:
    """Run so many programs in parallel."""
    started = time.monotonic()
    first = seed * 1_000_000
    batches = [
        range(first + start, first + min(start + _BATCH, programs))
        for start in range(0, programs, _BATCH)
    ]
    total = Totals()
    for found in records.in_parallel(batches, _batch, _start, jobs, records.say_progress):
        for each in fields(Totals):
            setattr(total, each.name, getattr(total, each.name) + getattr(found, each.name))
        for number, line in found.false:
            print(f"program {number}, false and definite: {line}", flush=True)
    return DonationRecord(seed, total, **records.circumstances(started, jobs))


def as_json(record: DonationRecord) -> str:
    """Give the text of a record: of what was missed and wrong, how much, and some of the lines."""
    totals = record.totals
    counts = {
        "uses": totals.uses,
        "missed": len(totals.missed),
        "only_possible": len(totals.only_possible),
        "false_definite": len(totals.false),
        "likely": totals.likely,
        "likely_on_no_line_that_raised": len(totals.likely_false),
        "possible": totals.possible,
        "possible_on_no_line_that_raised": len(totals.possible_false),
    }
    shown = {
        "errors": dict(sorted(totals.errors.items())),
        "missed_lines": dict(Counter(line for _, line in totals.missed).most_common(_MAX_SHOWN)),
        "false_lines": [f"{number}: {line}" for number, line in totals.false[:_MAX_SHOWN]],
    }
    return records.as_json(record, VERSION, counts, shown)


def read(path: Path) -> dict[str, int]:
    """Read the counts of a record. Raises ValueError for another format."""
    whole = records.read(path, VERSION)
    return {name: value for name, value in whole.items() if isinstance(value, int)}


def main() -> int:
    """Run as the options say."""
    options = records.parser("tests.differential.donation_record", __doc__, "how many").parse_args()
    record = run(options.programs, options.seed, options.jobs)
    text = as_json(record)
    print(text)
    if options.record is not None:
        print(records.write(text, record.date, SUFFIX, options.record))
    totals = record.totals
    return 1 if totals.false or totals.missed or totals.errors else 0


if __name__ == "__main__":
    sys.exit(main())
