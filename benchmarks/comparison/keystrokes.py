"""What the language server takes for a keystroke: the numbers of `benchmarks/editor.py`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.comparison import report

if TYPE_CHECKING:
    from pathlib import Path

BAR = 100
"""Milliseconds of processor time."""


@dataclass(frozen=True)
class Keystroke:
    """What one kind of change of one file takes."""

    name: str
    lines: int
    edit: str
    wall: float
    """Milliseconds from the change to its diagnostics, without the pause of the server."""
    processor: float
    """Milliseconds."""
    libcst: float
    """The same for LibCST's parse of the file."""


@dataclass(frozen=True)
class Keystrokes:
    """One run of the measurement."""

    date: str
    machine: str
    measured: tuple[Keystroke, ...]


def read(path: Path) -> Keystrokes | None:
    """Give the numbers that are kept in a file; None where there is none."""
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    data["measured"] = tuple(Keystroke(**each) for each in data["measured"])
    return Keystrokes(**data)


def part(done: Keystrokes | None) -> str:
    """Give the part of the page that is about keystrokes."""
    if done is None:
        return ""
    rows = [
        (
            f"{each.name}, {each.lines:,} lines: {each.edit}",
            f"≤ {BAR} ms",
            f"{each.processor:.0f} ms",
            f"{each.processor / each.libcst:.1f} x",
            "yes" if each.processor <= BAR else "**no**",
        )
        for each in done.measured
    ]
    head = ("what", "bar", "measured", "LibCST's parse of the file", "met")
    return "\n".join(
        [
            "\n## A keystroke in an editor\n",
            f"Measured on {done.date} by `python benchmarks/editor.py`, on {done.machine}.",
            "Processor time of the language server for one change, and how many times as long that",
            "is as LibCST takes to parse the file, in the same run.\n",
            *report.table(head, rows),
            "",
        ]
    )
