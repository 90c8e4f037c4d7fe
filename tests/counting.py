"""Counts calls, of Python's functions and of C's: the same on every machine, unlike seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Calls:
    """How many there were."""

    def __init__(self) -> None:
        self.made = 0

    def note(self, _frame: FrameType, event: str, _argument: object) -> None:
        """Take an event of a profiler."""
        self.made += event in {"call", "c_call"}


@contextlib.contextmanager
def counted() -> Iterator[Calls]:
    """Count the calls that this thread makes, and the threads that are begun meanwhile."""
    calls = Calls()
    before, of_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(calls.note)
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(of_threads)
