"""The progress of a run, for whoever shows it."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    OnProgress: TypeAlias = Callable[[int, int, int], None]


def no_progress(done: int, files: int, findings: int) -> None:
    """Do nothing with how many files are done, how many there are, and what was found so far."""


class ProgressCount:
    """Counts the files that are done, and what was found in them; neither number ever decreases."""

    def __init__(self, files: int, on_progress: OnProgress) -> None:
        """Take how many files there are, and what is called with the counts."""
        self._files = files
        self._on_progress = on_progress
        self._done = 0
        self._findings = 0

    def reach(self, done: int, findings: int) -> None:
        """Note how many files are done by now, and what was found in all of them."""
        self._done = min(max(self._done, done), self._files)
        self._findings = max(self._findings, findings)
        self._on_progress(self._done, self._files, self._findings)

    def add(self, done: int, findings: int) -> None:
        """Note that more files are done, and what was found in those."""
        self.reach(self._done + done, self._findings + findings)
