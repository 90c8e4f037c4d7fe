"""What the analyser is known not to see any more, or to see wrongly, in a program written another
way: `differences.txt`, of which each line names a transformation, a program and a reason.

Behind a program that can be written so in several ways stands which of these is the first that
differs, `[3]`, counted from 0; without that, the first of all. The test tries it before the others.

`python -m tests.metamorphic` makes the file anew: it keeps the reasons that are there, leaves out
what no longer differs, and puts `?` where somebody has to find the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path(__file__).with_name("differences.txt")

Key = tuple[str, str]
"""A transformation and a program."""

_LINE = re.compile(
    r"(?P<transformation>\S+) (?P<subject>\S+)(?: \[(?P<first>\d+)\])?: (?P<reason>.+)"
)


@dataclass(frozen=True)
class Difference:
    """What is known of one of them."""

    reason: str
    first: int = 0
    """Which variant is the first that differs."""


def known_differences(file: Path = FILE) -> dict[Key, Difference]:
    """Read the file. Raises ValueError for a line that names no reason, or a pair twice."""
    found: dict[Key, Difference] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        each = _LINE.fullmatch(line)
        if each is None or (each["transformation"], each["subject"]) in found:
            raise ValueError(f"{file}: {line}")
        first = int(each["first"] or 0)
        found[each["transformation"], each["subject"]] = Difference(each["reason"], first)
    return found


def write_differences(found: Mapping[Key, Difference], file: Path = FILE) -> None:
    """Write the file."""
    lines = [
        "# What is known to differ, and why: a transformation, a program, a reason.",
        "# Made by `python -m tests.metamorphic`, which keeps the reasons.",
    ]
    for (transformation, subject), each in sorted(found.items()):
        first = f" [{each.first}]" if each.first else ""
        lines.append(f"{transformation} {subject}{first}: {each.reason}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
