"""Run a function where deep recursion does no harm: in a thread with a big stack.

The thread that waits for it keeps it within the limits of the run, where there are any.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from placement_lint.limits.budget import current_budget, metering
from placement_lint.limits.machine import address_space_left

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.limits.budget import Budget, Meter

P = ParamSpec("P")
T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Address space only: the system gives memory to the part that is really used."""

_SMALLEST_STACK = 16 * 1024 * 1024
"""What 200 nested brackets need is a quarter of it."""

RECURSION_LIMIT = 500_000
"""Python's own frames need 0.5 kB of stack or less each on 3.11 and later, more on 3.10."""


class TooDeepError(Exception):
    """What this Python refuses to recurse into, whatever the stack and the recursion limit."""


_inside = threading.local()
_settings = threading.Lock()


class _Users:
    """How many threads rely on the raised recursion limit, and the limit to go back to."""

    count = 0
    before = 0


class _Stack:
    """How large a stack a thread gets: less than usual where memory is short (`ulimit -v`)."""

    size = 0
    """0: it is not known yet."""


_ROOM_FOR_ALL_ELSE = 3
"""How many times the stack is to be left for what the thread works with."""


class _Job(Generic[T]):
    """One call, and what came of it."""

    def __init__(self, call: Callable[[], T], budget: Budget | None) -> None:
        self.call = call
        self.budget = budget
        self.meter: Meter | None = None
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        _inside.deep = True
        try:
            with contextlib.ExitStack() as stack:
                if self.budget is not None:
                    self.meter = stack.enter_context(metering(self.budget))
                self.results.append(_with_room(self.call))
        # Not swallowed: the thread that waits raises it.
        except BaseException as error:
            self.error = error
        finally:
            self.meter = None


def _with_room(call: Callable[[], T]) -> T:
    """Call with room in one piece for the frames of all that is called inside: see `_FRAMES`."""
    return call()


_FRAMES = 2 * 1024 * 1024
"""Bytes for the frames of Python functions, which Python otherwise takes from the system, and gives
back, 16 kB at a time: a call that begins where one piece ends does so each time it is made. Some
call of a recursion always does; it took a sixth of a run. Only what is used takes memory."""
_SLOT = 8
"""Bytes of one value in a frame."""

# A frame that needs a little more than half of a piece gets all of it, and those inside the rest.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_FRAMES // 2 // _SLOT)


def stack_share() -> float:
    """Return how much of `STACK_BYTES` a thread gets: less than 1 where memory is short."""
    return _stack_size() / STACK_BYTES


def _stack_size() -> int:
    if not _Stack.size:
        room = address_space_left() / (1 + _ROOM_FOR_ALL_ELSE)
        size = STACK_BYTES
        while size > max(room, _SMALLEST_STACK):
            size //= 2
        _Stack.size = size
    return _Stack.size


def run_deep(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function with a stack of 512 MB and a recursion limit to match.

    Both are smaller where the system has no room for so much; see `stack_share`. Gives what the
    function returns; raises what it raises. A call inside another is a plain call. The recursion
    limit is that of the interpreter: other threads have it too until the last call ends. An
    interrupt in the waiting thread is raised there at once; the call is told to end, and the
    process may end without it.

    Where this thread works for a run with a budget, so does the call, and it is kept within that;
    see `placement_lint.limits.budget`. What is in C hears of its end when it is back in Python.

    Raises MemoryError where the system has no room for such a thread.
    """
    if getattr(_inside, "deep", False):
        return function(*args, **kwargs)
    job = _Job(lambda: function(*args, **kwargs), current_budget())
    _wait(_start(job), job)
    if job.error is not None:
        error, job.error = job.error, None
        try:
            raise error
        finally:
            # The traceback holds this frame, and this frame must not hold the error.
            del error
    return job.results.pop()


def _wait(thread: threading.Thread, job: _Job[T]) -> None:
    if job.budget is None:
        thread.join()
        return
    try:
        while thread.is_alive():
            meter = job.meter
            thread.join(_START if meter is None else meter.interval)
            if meter is not None:
                meter.check()
    except BaseException:
        meter = job.meter
        if meter is not None:
            meter.stop()
        raise


_START = 0.01
"""Seconds in which a thread has begun."""


def _start(job: _Job[T]) -> threading.Thread:
    """Start a thread for a job, with the largest stack that there is room for."""
    while True:
        thread = threading.Thread(
            target=_work, args=(job,), name="placement-lint deep stack", daemon=True
        )
        _raise_recursion_limit()
        try:
            with _settings:
                # The size is one for the process: another library's threads must not get ours.
                before = threading.stack_size(_stack_size())
                try:
                    thread.start()
                finally:
                    threading.stack_size(before)
        except BaseException as error:
            _restore_recursion_limit()
            if not isinstance(error, RuntimeError | MemoryError):
                raise
            if _Stack.size <= _SMALLEST_STACK:
                message = "there is no room for the stack of a thread"
                raise MemoryError(message) from error
            _Stack.size //= 2
        else:
            return thread


def _work(job: _Job[T]) -> None:
    try:
        job.run()
    finally:
        _restore_recursion_limit()


def _raise_recursion_limit() -> None:
    with _settings:
        if not _Users.count:
            _Users.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(int(RECURSION_LIMIT * stack_share()), _Users.before))
        _Users.count += 1


def _restore_recursion_limit() -> None:
    with _settings:
        _Users.count -= 1
        if not _Users.count:
            # Refused by Python where this very thread is already deeper: not so at the end of it.
            sys.setrecursionlimit(_Users.before)
