"""Executes the transfer table on every version of the matrix, and writes the record of it.

Run as a program: `python -m tests.jaxmodel.transfer_record [AT_ONCE]`. It writes
`fixtures/records/<date>-transfer-table.json`, and fails where JAX disagrees with a row, a row has
no execution, or an environment cannot be made: then nothing is written.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from placement_lint.jaxmodel.transfer import ROWS, Row
from tests.jaxmodel.environments import ENVIRONMENTS, ROOT, make
from tests.jaxmodel.transfer_recipes import recipes_of, with_device
from tests.jaxmodel.transfer_run import Report, run

FOLDER = ROOT / "fixtures" / "records"
SUFFIX = "-transfer-table.json"
_SHOW = "import importlib.metadata; print(importlib.metadata.version('jax'))"


def digest() -> str:
    """Give a digest of all that the rows say, and of the calls that show it."""
    text = "\n".join(sorted(_written(row) for row in ROWS))
    return hashlib.sha256(text.encode()).hexdigest()


def _written(row: Row) -> str:
    recipes = [*recipes_of(row), with_device(row)]
    said = (
        row.name, row.effect.name, row.gives.name, row.certain, row.loses, row.keeps_numpy,
        row.follows, row.device, row.since, row.until,
    )  # fmt: skip
    calls = [
        (recipe.expression, recipe.effect and recipe.effect.name, recipe.situations, recipe.device)
        for recipe in recipes
        if recipe is not None
    ]
    return repr((said, calls))


def newest_record() -> dict[str, Any]:
    """Read the newest of the records."""
    newest = max(FOLDER.glob(f"*{SUFFIX}"))
    found: dict[str, Any] = json.loads(newest.read_text(encoding="utf-8"))
    return found


def summary(report: Report) -> dict[str, Any]:
    """Give what a record holds of one version."""
    return {
        "python": report.python,
        "packages": report.packages,
        "rows": len(report.rows),
        "executed": sum(bool(row.calls) for row in report.rows),
        "calls": sum(row.calls for row in report.rows),
        "disagreements": len(report.disagreements),
        "not executed": report.reasons(),
    }


def _version(python: Path) -> str:
    shown = subprocess.run(
        [str(python), "-c", _SHOW], stdout=subprocess.PIPE, text=True, check=True
    )
    return shown.stdout.strip()


def _execute(python: Path) -> Report:
    report = run(python, time_limit=3000)
    print("\n".join([report.summary(), *report.disagreements]), flush=True)
    return report


def main(at_once: int) -> int:
    """Execute, print and write; give the exit code."""
    pythons: dict[str, Path] = {}
    for wanted in ENVIRONMENTS:
        python = make(wanted)
        # The newest may be one of the others.
        pythons.setdefault(_version(python), python)
    with ThreadPoolExecutor(at_once) as pool:
        reports = dict(zip(pythons, pool.map(_execute, pythons.values()), strict=True))
    nowhere = [
        row.name
        for index, row in enumerate(ROWS)
        if not any(report.rows[index].calls for report in reports.values())
    ]
    print(f"executed on none of them: {', '.join(nowhere) or 'no row'}")
    if nowhere or any(each.disagreements or each.unexecuted for each in reports.values()):
        return 1
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    record = {
        "date": str(today),
        "command": "python -m tests.jaxmodel.transfer_record",
        "digest": digest(),
        "rows": len(ROWS),
        "versions": {version: summary(report) for version, report in reports.items()},
    }
    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / f"{today}{SUFFIX}"
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {Path(target).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
