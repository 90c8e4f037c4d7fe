"""`python -m tests.corpus`: lint the packages of fixtures/corpus.toml, and say what has changed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison.trees import make_package
from tests.corpus.look import look
from tests.corpus.packages import FIXTURES, chosen, read_packages
from tests.corpus.record import differences, read_record, write_record

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Lint, and compare with what was accepted; 1 where that differs, 2 for an unknown name."""
    args = _parser().parse_args(arguments)
    try:
        packages = chosen(read_packages(), args.names, quick=args.quick)
    except LookupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    record = read_record()
    changed = 0
    for package in packages:
        folder = make_package(package.requirement, args.work, wheels=args.wheels)
        now, messages = look(folder, args.jobs)
        accepted = record.get(package.requirement)
        said = list(differences(accepted, now, messages))
        changed += bool(said)
        counted = f"{now.files} files, {len(now.findings)} findings, {len(now.fixes)} files fixed"
        print(f"{package.requirement}: {counted}{', CHANGED' if said else ''}", flush=True)
        print("".join(f"    {line}\n" for line in said), end="", flush=True)
        record[package.requirement] = now.as_json()
    if args.accept:
        known = {package.requirement for package in read_packages()}
        write_record({key: value for key, value in record.items() if key in known})
        return 0
    if changed:
        print("Read each change; where all are right: python -m tests.corpus --accept")
    return 1 if changed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PACKAGE", help="only these")
    parser.add_argument("--quick", action="store_true", help="only the few that CI looks at")
    parser.add_argument("--accept", action="store_true", help="write what is found now as right")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=FIXTURES.parent / ".corpus")
    parser.add_argument("--wheels", type=Path, help="a folder that may have the distributions")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
