"""Runs the tests on this Python and notes what came of it: `python -m tests.python_record`.

Arguments are pytest's, and without any the default tests run. `nox -s pythons` runs it on every
Python that is supported. The record of the day in `fixtures/records/` says for each Python how
many tests passed, were skipped and failed; `--again` tries those that failed once more, after they
were mended, and notes that beside; `--not-run 3.14 REASON` notes one that could not be had.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION = 1
RECORDS = Path(__file__).parents[1] / "fixtures" / "records"
SUFFIX = "-pythons.json"
_TOOLS = ("jax", "libcst", "pytest")


def counted(report: str) -> dict[str, int]:
    """Count what a report in JUnit's format says. Raises ParseError for what is none."""
    totals = dict.fromkeys(("tests", "skipped", "failures", "errors"), 0)
    for suite in ET.fromstring(report).iter("testsuite"):  # noqa: S314 - pytest's own, just written
        for key in totals:
            totals[key] += int(suite.get(key, "0"))
    failed = totals["failures"] + totals["errors"]
    passed = totals["tests"] - totals["skipped"] - failed
    return {"passed": passed, "skipped": totals["skipped"], "failed": failed}


def failed_in(report: str) -> list[str]:
    """Name the tests that a report says have failed."""
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in ET.fromstring(report).iter("testcase")  # noqa: S314 - pytest's own
        if case.find("failure") is not None or case.find("error") is not None
    ]


def merged(
    record: Mapping[str, Any] | None, python: str, run: Mapping[str, Any], date: str
) -> dict[str, Any]:
    """Give a day's record with a run on one Python in it, in the place of an earlier one."""
    runs = {**(record["runs"] if record else {}), python: dict(run)}
    ordered = sorted(runs, key=lambda version: [*map(int, version.split("."))])
    return {"version": VERSION, "date": date, "runs": {each: runs[each] for each in ordered}}


def run_tests(arguments: Sequence[str]) -> dict[str, Any]:
    """Run pytest on this Python, and give what a record keeps of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, f"--junitxml={report}"], check=False
        )
        text = report.read_text(encoding="utf-8")
    return {
        "python": platform.python_version(),
        "tools": {name: _version(name) for name in _TOOLS},
        "tests": " ".join(arguments) or "default",
        **counted(text),
        "failures": failed_in(text),
    }


def with_another_try(run: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is kept of a run whose failed tests were run once more: both."""
    return {**run, "again": {key: again[key] for key in ("passed", "failed", "failures")}}


def node_id(failure: str) -> str:
    """Give what pytest takes for a test as a report names it."""
    name, _, test = failure.partition("::")
    *folders, last = name.split(".")
    if last[0].isupper():
        return f"{'/'.join(folders)}.py::{last}::{test}"
    return f"{'/'.join([*folders, last])}.py::{test}"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main(arguments: Sequence[str]) -> int:
    """Run, note it, and give 1 where a test failed."""
    date = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    path = RECORDS / (date + SUFFIX)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    python = "{}.{}".format(*sys.version_info[:2])
    run: dict[str, Any]
    if arguments[:1] == ["--not-run"]:
        python, run = arguments[1], {"not_run": " ".join(arguments[2:])}
    elif arguments[:1] == ["--again"] and before is not None:
        first = before["runs"][python]
        tests = [*map(node_id, first["failures"])]
        run = with_another_try(first, run_tests([*arguments[1:], *tests]))
    else:
        run = run_tests(arguments)
    record = merged(before, python, run, date)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {json.dumps(record['runs'][python])}")
    return 1 if run.get("again", run).get("failed") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
