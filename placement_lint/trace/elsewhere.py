"""What the program does outside of its own process, where nothing is seen.

Runs in the traced process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placement_lint.trace.frames import Frames
    from placement_lint.trace.ledger import TraceLedger

_STARTS = {
    "subprocess.Popen": "a Python process",
    "os.posix_spawn": "a Python process",
    "os.system": "a shell command that runs Python",
    "os.exec": "another program in place of this one",
}
_SPAWNING = ("popen_spawn_posix", "popen_spawn_win32", "popen_forkserver")


class Elsewhere:
    """Notes the processes that are started: those that may run JAX, and with what."""

    def __init__(self, frames: Frames, ledger: TraceLedger) -> None:
        self._frames = frames
        self._ledger = ledger
        self._seen: set[tuple[Any, ...]] = set()

    def start(self) -> None:
        """Watch for processes. There is no end to it: audit hooks cannot be removed."""
        sys.addaudithook(self._audit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=lambda: self._note("a forked process"))

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _STARTS:
            if event == "os.exec" or _runs_python(args):
                self._note(_STARTS[event])
        elif event == "import" and str(args[0]).rpartition(".")[2] in _SPAWNING:
            # multiprocessing imports these when it starts its first process that way.
            self._note("a process of multiprocessing")

    def _note(self, what: str) -> None:
        site = self._frames.here()
        key = (what, site and site[:2])
        if key not in self._seen:
            self._seen.add(key)
            self._ledger.write("elsewhere", what=what, site=site)


def _runs_python(args: tuple[Any, ...]) -> bool:
    words: list[str] = []
    for arg in args[:2]:
        each = arg if isinstance(arg, list | tuple) else [arg]
        words += [os.fsdecode(word) for word in each if isinstance(word, str | bytes | os.PathLike)]
    programs = " ".join(words).split()
    return any(Path(word).name.startswith("python") for word in programs)
