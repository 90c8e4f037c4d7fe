"""A process that ends when the one that started it has gone, however that one went.

Its standard input is a pipe that nobody writes to. When the starter dies, even by SIGKILL, the
system closes the pipe, and that is seen here.
"""

import os
import signal
import threading
from collections.abc import Callable


def hold_lifeline(when_cut: Callable[[], None]) -> threading.Thread:
    """Take standard input for the lifeline, and call when_cut once the other end is closed.

    What runs in this process finds an empty standard input. Returns the thread that waits.
    """
    line = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def wait() -> None:
        while os.read(line, 1):
            pass
        when_cut()

    thread = threading.Thread(target=wait, name="lifeline", daemon=True)
    thread.start()
    return thread


def end_group() -> None:
    """End this process and all that it started: it leads a process group of its own."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def leave() -> None:
    """End this process at once, without what is done at exit."""
    os._exit(0)
