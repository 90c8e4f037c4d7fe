"""Python files that others wrote: the standard library, and what is installed beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fuzz.kinds import verdict_on
from tests.fuzz.oracle import Input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fuzz.oracle import Verdict


def python_files(folder: Path) -> list[Path]:
    """Give the files below a folder, in order; not those behind links."""
    return sorted(path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink())


@dataclass(frozen=True)
class Looking:
    """Looks at the file with a number."""

    files: tuple[Path, ...]

    def __call__(self, _: str, number: int) -> Iterator[tuple[Input, Verdict]]:
        """Look at one file."""
        path = self.files[number]
        # Its place is not told: neighbours of the file are no part of this.
        given = Input("fuzzed.py", path.read_bytes(), str(path))
        yield given, verdict_on(given)
