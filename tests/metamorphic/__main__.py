"""Make `differences.txt` anew, from everything written in every way."""

from __future__ import annotations

import concurrent.futures
import os
import sys
from collections import Counter

from tests.metamorphic.differences import Key, known_differences, write_differences
from tests.metamorphic.subjects import TRANSFORMATIONS, differs, subjects, written_otherwise
from tests.metamorphic.text import NotApplicableError


def _differing(number: int) -> tuple[list[Key], Counter[str], list[str]]:
    """Give the transformations after which a subject differs, and how many there were of each."""
    subject = subjects()[number]
    found: list[Key] = []
    counts: Counter[str] = Counter()
    reports: list[str] = []
    for transformation in TRANSFORMATIONS:
        try:
            variants = written_otherwise(subject, transformation)
        except NotApplicableError:
            continue
        counts[f"{transformation} programs"] += 1
        counts[f"{transformation} variants"] += len(variants)
        said = [each for variant in variants if (each := differs(subject, variant)) is not None]
        if said:
            found.append((transformation, subject.id))
            reports.append(f"{transformation} {subject.id} {said[0]}")
    return found, counts, reports


def main() -> None:
    before = known_differences()
    found: dict[Key, str] = {}
    total: Counter[str] = Counter()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for keys, counts, reports in pool.map(_differing, range(len(subjects())), chunksize=8):
            total += counts
            for key in keys:
                found[key] = before.get(key, "?")
            for report in reports:
                if "-v" in sys.argv:
                    print(report)
    write_differences(found)
    for name, count in total.items():
        print(f"{name}: {count}")
    print(f"{len(found)} differ; gone: {sorted(before.keys() - found.keys())}")


if __name__ == "__main__":
    main()
