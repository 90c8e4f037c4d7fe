"""The record of a day: what each bomb took, and which did what must not be."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING, Any

from tests import records
from tests.bombs.running import FILE_SECONDS, MEGABYTES, RUN_SECONDS, Outcome
from tests.records import RECORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VERSION = 1
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
    return records.write(records.as_text(whole), records.today(), SUFFIX, folder)


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


def newest(folder: Path = RECORDS) -> dict[str, Any]:
    """Read the newest record. Raises FileNotFoundError where there is none."""
    path = records.newest(SUFFIX, folder)
    if path is None:
        message = f"no record in {folder}"
        raise FileNotFoundError(message)
    return records.read(path, VERSION)
