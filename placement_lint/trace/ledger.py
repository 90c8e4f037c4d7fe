"""What the traced process writes down, so that nothing is lost however it ends.

Two files. `events`, lines of JSON, says what there is: each is written when it is first seen.
`counters`, mapped into memory, holds three numbers for each kind of move, and of computation on the
host: how many, how many bytes, how many nanoseconds. Both are in the hands of the system as soon as
they are written, so that `os._exit`, a signal, or the kernel's out-of-memory killer take nothing
away.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

EVENTS, COUNTERS = "events", "counters"
SLOT = struct.Struct("<qqq")
SLOTS = 1 << 16
"""Kinds that are counted apart; what is beyond is counted in the last one."""


class TraceLedger:
    """The two files, opened for writing. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._events = os.open(
            folder / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        )
        with (folder / COUNTERS).open("wb+") as counters:
            counters.truncate(SLOT.size * SLOTS)
            self._counters = mmap.mmap(counters.fileno(), SLOT.size * SLOTS)
        self._lock = threading.Lock()
        self._used = 0
        self._full = False
        self._owner = os.getpid()

    @property
    def is_mine(self) -> bool:
        """Whether this process made the ledger: a forked child shares the files, and is another."""
        return self._owner == os.getpid()

    def write(self, event: str, /, **values: Any) -> None:
        """Add an event. In a forked child nothing is written."""
        if self.is_mine:
            line = json.dumps({"event": event, **values}, separators=(",", ":"))
            os.write(self._events, line.encode() + b"\n")

    def new_slot(self, event: str, /, **values: Any) -> int:
        """Begin to count a kind of move, or of computation, and return the number of its slot."""
        with self._lock:
            slot, is_last = self._used, self._used >= SLOTS - 1
            if not is_last:
                self._used += 1
            elif self._full:
                return slot
            self._full = is_last
        if is_last:
            self.write("move", slot=slot, overflow=True)
        else:
            self.write(event, slot=slot, **values)
        return slot

    def count(self, slot: int, size: int, nanoseconds: int) -> None:
        if self.is_mine:
            with self._lock:
                at = slot * SLOT.size
                count, total, time = SLOT.unpack_from(self._counters, at)
                SLOT.pack_into(self._counters, at, count + 1, total + size, time + nanoseconds)
