"""Run a function where deep recursion does no harm: in a thread with a big stack.

And, if that is asked, for so long and no longer: a thread can be told to stop, wherever it is.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Address space only: the system gives memory to the part that is really used."""

RECURSION_LIMIT = 500_000
"""Python's own frames need 0.5 kB of stack or less each on 3.11 and later, more on 3.10."""


_TIMES = 3
"""How often a thread is told to stop before nobody waits for it any longer."""
_LEAST = 0.05


class TimeUpError(BaseException):
    """The work has taken longer than it may.

    No `Exception`: what keeps the mistakes of one rule from the others does not stop it.
    """


class TooDeepError(Exception):
    """What this Python refuses to recurse into, whatever the stack and the recursion limit."""


_inside = threading.local()
_settings = threading.Lock()


class _Users:
    """How many threads rely on the raised recursion limit, and the limit to go back to."""

    count = 0
    before = 0


class _Job(Generic[T]):
    """One call, and what came of it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self.call = call
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        _inside.deep = True
        try:
            self.results.append(self.call())
        # Not swallowed: the thread that waits raises it.
        except BaseException as error:
            self.error = error


def run_deep(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function with a stack of 512 MB and a recursion limit to match.

    Gives what it returns; raises what it raises. A call inside another is a plain call. The
    recursion limit is that of the interpreter: other threads have it too until the last call ends.
    An interrupt in the waiting thread is raised there at once; the call goes on by itself, and
    the process may end without it.

    Raises RuntimeError where the system has no room for such a thread.
    """
    return run_within(0, function, *args, **kwargs)


def run_within(seconds: float, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function as `run_deep` does, for so many seconds of processor time; 0: any number.

    After these TimeUpError is raised in the function, at whatever it is just doing, and again each
    time that it has then gone on for as long: part of its work may be given up for the rest. Where
    it does not come to an end at all, this raises TimeUpError and waits no longer. What is in C
    hears when it is back in Python. A call inside another is a plain call: the time is that of the
    outer one.
    """
    if getattr(_inside, "deep", False):
        return function(*args, **kwargs)
    job = _Job(lambda: function(*args, **kwargs))
    _raise_recursion_limit()

    def work() -> None:
        try:
            job.run()
        except TimeUpError:
            # It came when everything was done already.
            pass
        finally:
            _restore_recursion_limit()

    try:
        thread = _start(work)
    except BaseException:
        _restore_recursion_limit()
        raise
    _wait(thread, seconds)
    if job.error is not None:
        error, job.error = job.error, None
        try:
            raise error
        finally:
            # The traceback holds this frame, and this frame must not hold the error.
            del error
    return job.results.pop()


def _wait(thread: threading.Thread, seconds: float) -> None:
    if not seconds:
        thread.join()
        return
    for _ in range(_TIMES):
        if _ends_within(seconds, thread):
            return
        _stop(thread)
    if not _ends_within(seconds, thread):
        raise TimeUpError


def _ends_within(seconds: float, thread: threading.Thread) -> bool:
    """Wait until a thread has ended, or the process has worked for so long."""
    end = time.process_time() + seconds
    while thread.is_alive() and (left := end - time.process_time()) > 0:
        thread.join(max(left, _LEAST))
    return not thread.is_alive()


def _stop(thread: threading.Thread) -> None:
    import ctypes

    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TimeUpError))


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="placement-lint deep stack", daemon=True)
    with _settings:
        # The size is one for the process: another library's threads must not get ours.
        before = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _raise_recursion_limit() -> None:
    with _settings:
        if not _Users.count:
            _Users.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(RECURSION_LIMIT, _Users.before))
        _Users.count += 1


def _restore_recursion_limit() -> None:
    with _settings:
        _Users.count -= 1
        if not _Users.count:
            # Refused by Python where this very thread is already deeper: not so at the end of it.
            sys.setrecursionlimit(_Users.before)
