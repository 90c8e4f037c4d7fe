"""The memory of this machine and of this process, and the CPU time of a thread."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import time
from pathlib import Path

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000

_STATM = "/proc/self/statm"
_LONGEST = 256
"""Bytes that are more than there are of its seven numbers."""
_CGROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""Version 2, version 1: what a container may take."""
_SHARE = 2


def memory_in_use() -> int:
    """Return the bytes of main memory that this process has now; 0 where the system does not say.

    On macOS, it is the most that the process ever had.
    """
    try:
        # Asked 50 times a second: `Path` and `open` take three times as long.
        file = os.open(_STATM, os.O_RDONLY)
        try:
            return int(os.read(file, _LONGEST).split()[1]) * _page_size()
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        return _most_ever()


def _most_ever() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@functools.cache
def _page_size() -> int:
    return int(os.sysconf("SC_PAGE_SIZE")) if hasattr(os, "sysconf") else 4096


@functools.cache
def memory_of_machine() -> int:
    """Return the bytes of main memory that there are, or that this container may take.

    0 where the system does not say.
    """
    found: list[int] = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(int(os.sysconf("SC_PHYS_PAGES")) * _page_size())
    for path in _CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # there is none
            found.append(int(Path(path).read_bytes()))
    return max(min(found), 0) if found else 0


def address_space_left() -> float:
    """Return the bytes of address space that this process may still take (`ulimit -v`)."""
    if sys.platform == "win32":
        return float("inf")
    import resource

    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [limit for kind in kinds if (limit := resource.getrlimit(kind)[0]) >= 0]
    if not limits:
        return float("inf")
    try:
        taken = int(Path(_STATM).read_bytes().split()[0]) * _page_size()
    except (OSError, IndexError, ValueError):
        taken = 0
    return max(min(limits) - taken, 0)


def share_of_memory(processes: int) -> int:
    """Return the bytes that each of so many processes may take if nobody sets a limit.

    ComponentCheck they take half of the memory. 0 where it is not known how much there is.
    """
    return memory_of_machine() // _SHARE // max(processes, 1)


def free_memory() -> None:
    """Return memory that is not used any longer back to the system, as far as that can be done."""
    gc.collect()
    if sys.platform.startswith("linux"):
        import ctypes

        with contextlib.suppress(AttributeError, OSError):  # no glibc
            ctypes.CDLL(None).malloc_trim(0)


def thread_clock() -> Callable[[], float]:
    """Return what tells the CPU time of the calling thread, whichever thread asks it later.

    Where there is no such clock, it is that of the process.
    """
    if sys.platform in {"win32", "darwin"} or not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    import threading

    return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
