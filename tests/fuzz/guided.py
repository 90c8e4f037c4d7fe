"""Let atheris make up what the readers read, guided by which of their code is run.

atheris has wheels for Linux on x86-64 only, of Python 3.10 to 3.14.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.fuzz import record
from tests.records import RECORDS

NAMES = ("source", "suppressions", "settings", "notebook", "cells", "requirements")
CORPUS = Path("build", "fuzz", "corpus")
_INSTRUMENTED = ["placement_lint", "json", "tomllib", "tomli", "tokenize"]
_INPUT_SECONDS = 60
_MEMORY = 2_000
"""In MB."""
_LONGEST = 20_000
_UNITS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_PEAK = re.compile(r"stat::peak_rss_mb:\s*(\d+)")
_COVERED = re.compile(r"\bcov: (\d+)")


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of what is made up (%(default)s)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument(
        "--record", type=Path, nargs="?", const=RECORDS, metavar="FOLDER",
        help="add the figures to the record of today",
    )  # fmt: skip
    options, others = parser.parse_known_args()
    if options.child:
        _fuzz(options.child, others)
        return 0
    if others or (unknown := {*options.readers} - {*NAMES}):
        parser.error(f"unknown: {', '.join(others or sorted(unknown))}")
    runs = [_run(name, options.seconds, options.seed) for name in options.readers or NAMES]
    if options.record is not None:
        print(record.add_runs(runs, options.record))
    return 1 if any(run["problems"] for run in runs) else 0


def _run(name: str, seconds: int, seed: int) -> dict[str, Any]:
    """Fuzz one reader in a process of its own, and give the figures."""
    from tests.fuzz.readers import seeds_of

    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds_of(name)):
        (corpus / f"seed{number}").write_bytes(data)
    started = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.fuzz.guided", "--child", name, str(corpus)),
            *(f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={_LONGEST}"),
            *(f"-timeout={_INPUT_SECONDS}", f"-rss_limit_mb={_MEMORY}", "-print_final_stats=1"),
            f"-artifact_prefix={CORPUS.parent}/{name}-",
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds + 10 * _INPUT_SECONDS,
        check=False,
    )
    told = done.stderr + done.stdout
    units, peak, covered = (found.findall(told) for found in (_UNITS, _PEAK, _COVERED))
    problems = {} if done.returncode == 0 else {_last_words(told): 1}
    if problems or not units:
        print(told[-4_000:], file=sys.stderr)
    figures = {
        "kind": f"{name} reader, guided",
        "first": seed,
        "inputs": int(units[-1]) if units else 0,
        "covered": int(covered[-1]) if covered else 0,
        "seconds": round(time.monotonic() - started, 1),
        "peak_memory_kb": 1_000 * int(peak[-1]) if peak else 0,
        "problems": problems,
    }
    print(figures, flush=True)
    return figures


def _last_words(told: str) -> str:
    """Give the exception that ended a run, or how else libFuzzer calls its end."""
    lines = [line.strip() for line in told.splitlines()]
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    return next(iter(errors or [line for line in lines if "ERROR:" in line]), "it ended early")


def _fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz a reader, here, for ever or as long as libFuzzer's arguments say."""
    import atheris

    with atheris.instrument_imports(include=_INSTRUMENTED):
        from tests.fuzz.readers import READERS
    atheris.Setup([sys.argv[0], *arguments], READERS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
