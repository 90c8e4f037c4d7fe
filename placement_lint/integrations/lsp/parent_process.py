"""Ends with the editor: a server that nobody talks to any more must not stay."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 1.0


def watch(process: int, end: Callable[[], None]) -> None:
    """Call `end`, in a thread, once a process is gone.

    One that is not there to begin with is not waited for: the editor may live in another container,
    where its number means another process, or none.
    """
    if process == os.getpid() or not is_alive(process):
        return

    def wait() -> None:
        while is_alive(process):
            time.sleep(_SECONDS)
        end()

    threading.Thread(target=wait, name="placement-lint parent", daemon=True).start()


def is_alive(process: int) -> bool:
    """Return whether there is a process of this number."""
    if process <= 0:
        return False
    if sys.platform == "win32":
        # There `os.kill` ends the process, whatever the signal.
        return _is_alive_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A process that has ended and that its own parent has not asked after yet.
    return not (process == os.getppid() and _is_zombie(process))


def _is_zombie(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def _is_alive_on_windows(process: int) -> bool:
    import ctypes

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - mypy knows it on Windows only
    synchronize, timed_out = 0x00100000, 0x00000102
    handle = kernel.OpenProcess(synchronize, False, process)
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == timed_out)
    finally:
        kernel.CloseHandle(handle)
