"""Runs `placement-lint trace`, which starts the program in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import placement_lint
from tests import warm

TOP = Path(placement_lint.__file__).parents[1]


@dataclass(frozen=True)
class Traced:
    """What came of a traced program."""

    code: int
    out: str
    err: str
    report: dict[str, Any]

    def lines(self, *kinds: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """Return what moved, by file and line; None for kinds: all of them."""
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for line in self.report["lines"]:
            if not kinds or line["kind"] in kinds:
                place = line["at"]
                found.setdefault((place["path"], place["line"]), []).append(line)
        return found


def environment() -> dict[str, str]:
    """Return the environment of a user who has not set anything of JAX's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    paths = [str(TOP), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}


def command(*words: str) -> list[str]:
    """Return the command line of a trace."""
    return warm.command("placement_lint", "trace", *words, environment=environment())


def trace(
    folder: Path, *words: str, stdin: str = "", variables: dict[str, str] | None = None
) -> Traced:
    """Trace a program on virtual devices, its report written to a file beside it."""
    options = ["--devices", "virtual", "--output-format", "json", "--output-file", "report.json"]
    done = subprocess.run(
        command(*options, *words),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**environment(), **(variables or {})},
        check=False,
    )
    report = folder / "report.json"
    text = report.read_text(encoding="utf-8") if report.exists() else ""
    return Traced(done.returncode, done.stdout, done.stderr, json.loads(text or "{}"))
