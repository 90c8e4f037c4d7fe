"""Fix random programs and all that are written, run them, print what came of it; keep a record."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests import records
from tests.differential.oracle_client import OracleError
from tests.differential.reduction import reduced
from tests.fix_oracle.client import WatchClient
from tests.fix_oracle.examine import CheckedFile, examine, report
from tests.fix_oracle.record import Shown, again, as_json, failures, read, run, summary, write
from tests.fix_oracle.sources import FAMILIES, Program, program_named

if TYPE_CHECKING:
    from tests.fix_oracle.client import Modules


def main() -> int:
    parser = records.parser("tests.fix_oracle", __doc__, "how many random ones")
    parser.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument(
        "--reduce", type=int, default=8, metavar="COUNT",
        help="how many kinds of failures to show a small program of (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--show", metavar="NAME", help="examine one program alone: `loops/17`")
    parser.add_argument(
        "--again", type=Path, metavar="RECORD",
        help="examine what went wrong in a record once more, and write into it what came of it",
    )  # fmt: skip
    options = parser.parse_args()
    if options.show is not None:
        return show(options.show)
    if options.again is not None:
        return examine_again(options.again)

    def say(each: Shown) -> None:
        print(f"{each.program} ({each.how}, {' '.join(each.codes)}): {each.what}", flush=True)

    record = run(
        options.programs, options.seed, options.jobs, options.families, records.say_progress, say
    )
    for line in summary(record):
        print(line)
    for text in small(record.failures, options.reduce):
        print(text, flush=True)
    if options.record is not None:
        print(write(record, options.record))
    return 1 if record.failures else 0


def examine_again(path: Path) -> int:
    """Examine what went wrong in a record once more, print what comes of it, and write it there."""
    record = read(path)
    oracle = WatchClient()
    try:
        again(record, oracle)
    finally:
        oracle.close()
    for each in record.failures:
        print(f"{each.program} ({each.how}, {' '.join(each.codes)}): {each.what}")
    path.write_text(as_json(record), encoding="utf-8")
    return 1 if record.failures else 0


def show(name: str) -> int:
    """Print what came of one program."""
    oracle = WatchClient()
    try:
        examined = examine(oracle, program_named(name))
    finally:
        oracle.close()
    print(f"{examined.state} {examined.reason}\n{report(examined)}")
    return int(examined.wrong)


def small(found: list[Shown], count: int) -> list[str]:
    """Give reports of small programs, one for each kind of failure, so many at most."""
    kinds: dict[tuple[str, ...], Shown] = {}
    for each in found:
        kinds.setdefault((each.how, each.what.partition(":")[0], *each.codes), each)
    texts: list[str] = []
    with tempfile.TemporaryDirectory() as cache:
        oracle = WatchClient(cache)
        try:
            texts += [report(_reduced(oracle, each)) for each in [*kinds.values()][:count]]
        finally:
            oracle.close()
    return texts


def _reduced(oracle: WatchClient, shown: Shown) -> CheckedFile:
    """Take away what a program can do without, as long as its fix goes wrong in the same way."""
    program = program_named(shown.program)
    what = shown.what.partition(":")[0]

    def again(modules: Modules) -> CheckedFile:
        return examine(oracle, Program(program.family, program.name, modules, program.seeds))

    first = again(program.modules)

    def holds(modules: Modules) -> bool:
        try:
            examined = again(modules)
        except OracleError:
            return False
        return examined.state == first.state and any(
            each.how == shown.how and each.what.partition(":")[0] == what
            for each in failures(examined)
        )

    return again(reduced(program.modules, holds, at_most=150))


if __name__ == "__main__":
    sys.exit(main())
