"""Make `differences.txt` again, from everything written in every way."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
from collections import Counter

from tests.metamorphic.differences import (
    Difference,
    Key,
    known_differences,
    write_differences,
)
from tests.metamorphic.subjects import TRANSFORMATIONS, differs, subjects, written_otherwise
from tests.metamorphic.text import NotApplicableError


def _differing(number: int, names: list[str]) -> tuple[dict[Key, int], Counter[str], list[str]]:
    """Give the transformations after which a subject differs, and how many there were of each.

    With each goes the number of the first variant that differs.
    """
    subject = subjects()[number]
    found: dict[Key, int] = {}
    counts: Counter[str] = Counter()
    reports: list[str] = []
    for transformation in names:
        try:
            variants = written_otherwise(subject, transformation)
        except NotApplicableError:
            continue
        counts[f"{transformation} programs"] += 1
        counts[f"{transformation} variants"] += len(variants)
        for position, variant in enumerate(variants):
            said = differs(subject, variant)
            if said is not None:
                found[transformation, subject.id] = position
                reports.append(f"{transformation} {subject.id} {said}")
                break
    return found, counts, reports


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.metamorphic", description=__doc__)
    parser.add_argument("--known", action="store_true", help="only what is known to differ")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose id has it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (%(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what differs")
    options = parser.parse_args()

    before = known_differences()
    wanted: dict[int, list[str]] = {}
    for number, subject in enumerate(subjects()):
        if options.only in subject.id:
            names = [
                name
                for name in TRANSFORMATIONS
                if not options.known or (name, subject.id) in before
            ]
            if names:
                wanted[number] = names
    looked_at = {(name, subjects()[number].id) for number, names in wanted.items()
                 for name in names}  # fmt: skip
    found = {key: reason for key, reason in before.items() if key not in looked_at}
    total: Counter[str] = Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        results = pool.map(_differing, wanted, wanted.values(), chunksize=4)
        for keys, counts, reports in results:
            total += counts
            for key, first in keys.items():
                reason = before[key].reason if key in before else "?"
                found[key] = Difference(reason, first)
            if options.verbose:
                print("\n".join(reports), flush=True)
    write_differences(found)
    for name in sorted(total):
        print(f"{name}: {total[name]}")
    for key in sorted(found.keys() - before.keys()):
        print(f"new: {' '.join(key)}")
    for key in sorted(before.keys() - found.keys()):
        print(f"gone: {' '.join(key)}")
    print(f"{len(found)} differ")


if __name__ == "__main__":
    main()
