"""The record of a day: what each bomb took, and which did what must not be."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bombs.running import FILE_SECONDS, MEGABYTES, RUN_SECONDS, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
RECORDS = Path(__file__).parents[2] / "fixtures" / "records"
SUFFIX = "-bombs.json"


def line(outcome: Outcome) -> str:
    """Say what came of a bomb."""
    problems = [*outcome.lost, *([outcome.wrong] if outcome.wrong else [])]
    return (
        f"{'' if outcome.is_within else 'TOO MUCH '}{outcome.kind}: {outcome.name}: "
        f"{outcome.seconds:.1f} s of {outcome.seconds_allowed:.0f}, {outcome.megabytes:.0f} MB, "
        f"{outcome.named} named {' '.join(problems)}"
    )


def summary(outcomes: Sequence[Outcome]) -> str:
    """Say what came of all of them."""
    within = sum(each.is_within for each in outcomes)
    return f"{within} of {len(outcomes)} within the limits"


def write(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the record of today; give where that is."""
    path = folder / f"{dt.datetime.now(dt.timezone.utc).date()}{SUFFIX}"
    whole: dict[str, Any] = {
        "version": VERSION,
        "made": "bombs",
        "limits": {
            "file_seconds": FILE_SECONDS,
            "run_seconds": RUN_SECONDS,
            "megabytes": MEGABYTES,
        },
        "tools": {
            "python": platform.python_version(),
            "libcst": importlib.metadata.version("libcst"),
        },
        "bombs": [
            {
                "kind": each.kind,
                "name": each.name,
                "files": each.files,
                "bytes": each.size,
                "seconds": round(each.seconds, 2),
                "megabytes": round(each.megabytes),
                "files_named": each.named,
                "lost": list(each.lost),
                "wrong": each.wrong,
                "within": each.is_within,
            }
            for each in outcomes
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return path


def outcomes(whole: dict[str, Any]) -> dict[tuple[str, str], Outcome]:
    """Give what came of each bomb by a record, by its kind and name."""
    return {
        (each["kind"], each["name"]): Outcome(
            each["kind"],
            each["name"],
            each["files"],
            each["bytes"],
            each["seconds"],
            each["megabytes"],
            each["files_named"],
            tuple(each["lost"]),
            each["wrong"],
        )
        for each in whole["bombs"]
    }


def newest() -> dict[str, Any]:
    """Read the newest record."""
    path = max(RECORDS.glob(f"*{SUFFIX}"))
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
