"""What the analyser is known not to see any more, or to see wrongly, in a program written another
way: `differences.txt`, of which each line names a transformation, a program and a reason.

`python -m tests.metamorphic` makes the file anew: it keeps the reasons that are there, leaves out
what no longer differs, and puts `?` where somebody has to find the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path(__file__).with_name("differences.txt")

Key = tuple[str, str]
"""A transformation and a program."""


def known_differences(file: Path = FILE) -> dict[Key, str]:
    """Read the file. Raises ValueError for a line that names no reason, or a pair twice."""
    found: dict[Key, str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        what, _, reason = line.partition(": ")
        transformation, _, subject = what.partition(" ")
        if not subject or not reason or (transformation, subject) in found:
            raise ValueError(f"{file}: {line}")
        found[transformation, subject] = reason
    return found


def write_differences(found: Mapping[Key, str], file: Path = FILE) -> None:
    """Write the file."""
    lines = [
        "# What is known to differ, and why: a transformation, a program, a reason.",
        "# Made by `python -m tests.metamorphic`, which keeps the reasons.",
        *(f"{key[0]} {key[1]}: {found[key]}" for key in sorted(found)),
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
