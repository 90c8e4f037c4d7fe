"""Explode bombs, say what each took, and keep a record."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bombs import record
from tests.bombs.kinds import KINDS
from tests.bombs.running import every, explode
from tests.records import RECORDS


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.bombs", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}, or all")
    parser.add_argument(
        "--named", default="", metavar="TEXT", help="only those with this in a name"
    )
    parser.add_argument(
        "--record", type=Path, nargs="?", const=RECORDS, metavar="FOLDER",
        help="write the figures to the record of today",
    )  # fmt: skip
    parser.add_argument(
        "--again", action="store_true",
        help="only those that took too much in the newest record, of which the rest is kept",
    )  # fmt: skip
    options = parser.parse_args()
    if unknown := {*options.kinds} - {*KINDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    known = record.outcomes(record.newest()) if options.again else {}
    outcomes = []
    for kind, name in every():
        before = known.get((kind, name))
        if before is not None and before.is_within:
            outcomes.append(before)
        elif kind in (options.kinds or KINDS) and options.named in name:
            outcomes.append(explode(kind, name))
            print(record.line(outcomes[-1]), flush=True)
    print(record.summary(outcomes))
    if options.record is not None:
        print(record.write(outcomes, options.record))
    return 0 if all(each.is_within for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
