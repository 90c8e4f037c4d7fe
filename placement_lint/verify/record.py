"""Write the matrix rule by version: `python -m placement_lint.verify.record FOLDER RUN.json…`.

Each RUN.json is what `placement-lint verify --output-format json` printed on one JAX. They go
into the record of today in FOLDER, beside what it already has of other versions of JAX.
"""

import datetime as dt
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from placement_lint.rules.proof_records import (
    FAILED,
    PROVED,
    RECORD_VERSION,
    SKIPPED,
    read_record,
    record_name,
)
from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.versions import release


def as_run(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record keeps of a run of verify."""
    environment = value["environment"]
    kind = value["devices"]["kind"]
    return {
        "jax": environment["jax"],
        "jaxlib": environment["jaxlib"],
        "python": environment["python"],
        "safetensors": environment["safetensors"],
        "devices": kind,
        **({} if kind == VIRTUAL else {"accelerator": environment["device_kind"]}),
        "rules": {rule["code"]: _cell(rule) for rule in value["rules"]},
    }


def _cell(rule: Mapping[str, Any]) -> dict[str, Any]:
    if rule["skipped"]:
        return {"result": SKIPPED, "digest": rule["digest"], "reason": rule["skipped"]}
    if rule["ok"]:
        return {"result": PROVED, "digest": rule["digest"]}
    return {"result": FAILED, "digest": rule["digest"], "reason": "; ".join(rule["problems"])}


def merged(
    record: Mapping[str, Any] | None, runs: Sequence[Mapping[str, Any]], date: str
) -> dict[str, Any]:
    """Return a day's record with these runs in it.

    What a run says of a rule replaces what an older one on the same JAX said of it.
    """
    known = {} if record is None else {_place(run): run for run in record["runs"]}
    for run in runs:
        before = known.get(_place(run), {"rules": {}})["rules"]
        rules = {**before, **run["rules"]}
        known[_place(run)] = {**run, "rules": {code: rules[code] for code in sorted(rules)}}
    return {
        "version": RECORD_VERSION,
        "date": date,
        "runs": [known[place] for place in sorted(known)],
    }


def _place(run: Mapping[str, Any]) -> tuple[tuple[int, ...], str, str]:
    return release(run["jax"]), run["devices"], run.get("accelerator", "")


def table(record: Mapping[str, Any]) -> str:
    """Return the matrix as text: a row for each rule, a column for each JAX."""
    runs = record["runs"]
    codes = sorted({code for run in runs for code in run["rules"]})
    marks = {PROVED: "yes", SKIPPED: "-", FAILED: "NO"}
    rows = [["rule", *(run["jax"] for run in runs)]]
    for code in codes:
        cells = (run["rules"].get(code) for run in runs)
        rows.append([code, *("" if cell is None else marks[cell["result"]] for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def main(arguments: Sequence[str]) -> int:
    """Put the runs into today's record and print the matrix; 1 when a run has a failure."""
    folder, files = Path(arguments[0]), map(Path, arguments[1:])
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    path = folder / record_name(today)
    runs = [as_run(json.loads(file.read_text(encoding="utf-8"))) for file in files]
    record = merged(read_record(str(path)), runs, today)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{path}\n{table(record)}")
    failed = any(cell["result"] == FAILED for run in runs for cell in run["rules"].values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
