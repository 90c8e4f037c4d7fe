"""What files and whole runs may take: CPU time and memory.

A file has one budget of CPU time, from reading to fixes: each step that is about the file
runs in a `spending` block, and the blocks of a file add up. What another file is asked meanwhile is
at the expense of that file. The thread that works keeps the account; the thread that waits for it
(see `placement_lint.syntax.deep_stack`) watches the clock and the memory, and interrupts it by an
exception, wherever it is.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.limits.machine import (
    MEGABYTE,
    free_memory,
    memory_in_use,
    share_of_memory,
    thread_clock,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Protocol

    class Total(Protocol):
        """A number that several processes share."""

        value: float

        def get_lock(self) -> contextlib.AbstractContextManager[object]:
            """Return the lock that whoever adds to the number holds."""


SECONDS_OF_WAITING = 10
"""What a file may take while somebody waits for an answer, as in an editor."""
INTERPRETATION_SHARE = 0.8
"""How much of a file's time may be over before its interpretation ends: the rules that need none go
on after it."""
RULES_SHARE = 0.9
"""How much of it may be over before its rules end: what they have found is reported after it."""
_GRACE_SECONDS = 0.25
"""What there is beyond the time of the run to report what was found in one more file."""
_INTERVAL = 0.05
"""Seconds between two readings of the clock and the memory."""
_MEMORY_INTERVAL = 0.02
_SPARED = 0.005
"""Seconds in which the system is not asked for CPU time again, which takes up to 10 µs: no thread
takes more of it than has passed by the clock."""
_AGAIN = 0.05
"""Seconds of CPU time after which what was interrupted, and goes on, is so again."""
_MARGIN_SHARE, _MARGIN_BYTES = 0.05, 64 * MEGABYTE
"""How far below the memory limit work is interrupted: that much is soon taken between two looks."""
_STEPS = 100
"""Steps of a loop in which what interrupts this thread surely arrives: each looks for it."""
UNLIMITED = float("inf")


class LimitError(BaseException):
    """The work has taken more than it may.

    No `Exception`: what keeps the mistakes of one rule from the others does not stop it. `path` is
    the file whose budget is exhausted; None: that of the run.
    """

    def __init__(self, path: str | None = None) -> None:
        """Take the file; where none is given, it is the one that was just interrupted."""
        meter = current_meter()
        if path is None and meter is not None and meter.interrupted is not None:
            path = meter.interrupted.path
        super().__init__(path)
        self.path = path


class TimeUpError(LimitError):
    """A file has taken more CPU time than it may."""


class MemoryUpError(LimitError):
    """The process has, at work on a file, taken more memory than it may."""


class RunOverError(LimitError):
    """The run as a whole has taken more CPU time than it may."""

    def __init__(self) -> None:
        super().__init__()
        self.path = None


class Limits(NamedTuple):
    """What one run may take. 0: any amount."""

    seconds: float = 0
    """Of CPU time, in all processes together."""
    memory: int = 0
    """Bytes of main memory, in each process."""


_NO_LIMITS = Limits()


def limits_of(seconds: float = 0, megabytes: int | None = None, *, jobs: int = 1) -> Limits:
    """Return the limits that settings name; without `megabytes`, a share of the memory."""
    memory = share_of_memory(jobs) if megabytes is None else megabytes * MEGABYTE
    return Limits(seconds, memory)


class Account:
    """The CPU time of one file: what it may take, and what it has taken."""

    __slots__ = ("barred", "exhausted", "is_set", "limit", "path", "spent")

    def __init__(self, path: str) -> None:
        self.path = path
        self.limit = UNLIMITED
        self.is_set = False
        """Whether the limit is this file's own, and not that of the first which asked about it."""
        self.spent = 0.0
        self.exhausted: type[LimitError] | None = None
        """What it ran out of."""
        self.barred: type[LimitError] | None = None
        """What it ran out of where only a share of the time is for the work."""


class Budget:
    """The accounts of one run."""

    def __init__(self, limits: Limits = _NO_LIMITS, *, total: Total | None = None) -> None:
        """Begin a run, or go on with one in another process.

        `total` holds what the processes of that run have taken: this one adds all that it takes.
        """
        self.limits = limits
        self.accounts: dict[str, Account] = {}
        self.must_free = False
        """Whether what was interrupted for its memory is to be cleared away."""
        self._total = total
        self._started = self._reported = 0.0 if total is not None else time.process_time()

    # -- accounts of files ------------------------------------------------------------------------

    def account(self, path: str) -> Account:
        account = self.accounts.get(path)
        if account is None:
            account = self.accounts[path] = Account(path)
        return account

    def allow(self, path: str, seconds: float, spent: float = 0.0) -> None:
        """Set the CPU time that a file may take; 0: any. `spent`: before, elsewhere."""
        account = self.account(path)
        account.limit, account.is_set = seconds or UNLIMITED, True
        account.spent = max(account.spent, spent)

    def spent(self, path: str) -> float:
        """Return the seconds that a file has taken so far."""
        account = self.accounts.get(path)
        return 0.0 if account is None else account.spent

    def accounts_of(self, paths: Iterable[str]) -> tuple[Account, ...]:
        """Return the accounts that there are of some files, in their order."""
        return tuple(self.accounts[path] for path in sorted(paths) if path in self.accounts)

    def note(self, other: Account) -> None:
        """Take what a file has taken, and run out of, in another process."""
        account = self.account(other.path)
        account.spent = max(account.spent, other.spent)
        account.exhausted = account.exhausted or other.exhausted
        account.barred = account.barred or other.barred

    def is_exhausted(self, path: str) -> bool:
        """Return whether a file has run out of what it, or its interpretation, may take."""
        account = self.accounts.get(path)
        return account is not None and (account.exhausted or account.barred) is not None

    def is_closed(self, path: str) -> bool:
        """Return whether nothing more is to be done about a file."""
        account = self.accounts.get(path)
        return account is not None and account.exhausted is not None

    def exhaust(self, error: LimitError) -> None:
        """Note that a file ran out of something: nothing more is to be done about it."""
        if error.path is not None:
            self.account(error.path).exhausted = type(error)

    def bar(self, error: LimitError) -> None:
        """Note that a file ran out of something in work that has but a share of its time.

        No such work is to be begun again; what else there is to do about the file goes on.
        """
        if error.path is not None:
            self.account(error.path).barred = type(error)

    # -- the run ----------------------------------------------------------------------------------

    @property
    def run_spent(self) -> float:
        """The seconds that the run has taken so far, in all processes."""
        now = time.process_time()
        if self._total is None:
            return now - self._started
        with self._total.get_lock():
            self._total.value += now - self._reported
            self._reported = now
            return self._total.value

    def shared_total(self) -> Total | None:
        """Return what other processes add to that work for the run; None: its time is not limited.

        Raises OSError or ImportError where the system has nothing that processes can share.
        """
        if not self.limits.seconds:
            return None
        if self._total is None:
            import multiprocessing

            spent = self.run_spent
            self._reported = time.process_time()
            self._total = multiprocessing.get_context("spawn").Value("d", spent)
        return self._total

    @property
    def run_left(self) -> float:
        """The seconds that the run may still take."""
        return self.limits.seconds - self.run_spent if self.limits.seconds else UNLIMITED


class _Stretch(NamedTuple):
    """A time in which one account is charged."""

    account: Account
    since: float
    """By the clock of the thread."""
    allowed: float
    """Seconds from there on."""
    kind: type[LimitError]
    """What is raised after them."""


class Meter:
    """Measures the work of one thread, and interrupts it.

    All but `check` and `interval` is for that thread.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.interrupted: Account | None = None
        """The account in which the thread was interrupted last."""
        self._of_run = Account("")
        """What is at the expense of no file."""
        self.stack: list[tuple[Account, float]] = [(self._of_run, 1.0)]
        """The open blocks: their accounts, and how much of each is for them."""
        self._lock = threading.Lock()
        """Is held while the thread changes from one account to another, and while it is asked to
        stop: so it is never stopped for what it does not do any longer."""
        self._ident = threading.get_ident()
        self._clock = thread_clock()
        self._asked_at = -_SPARED
        """When the system was asked what the thread, and the run, have taken; by the clock."""
        self._last = self._run_left = 0.0
        self._stretch: _Stretch | None = None
        self._is_pending = False
        self._is_stopped = False
        self._again_at = 0.0
        self._begin(self._now())

    # -- the thread that works --------------------------------------------------------------------

    def enter(self, path: str, share: float) -> int:
        """Begin a block; return what ends it. Raises LimitError where nothing is left for it."""
        depth = len(self.stack)
        account = self.budget.account(path)
        if not account.is_set:
            account.limit = self.stack[-1][0].limit
        self.free()
        error = self._change(depth, (account, share)) or self._refused(account, share)
        if error is None:
            return depth
        self.leave(depth)
        raise error

    def _refused(self, account: Account, share: float) -> LimitError | None:
        """Return why a block may not begin, if it may not."""
        stretch = self._stretch
        if self._is_stopped or (
            stretch is not None and stretch.kind is RunOverError and stretch.allowed <= 0
        ):
            return RunOverError()
        if share < 1 and account.barred is not None:
            return account.barred(account.path)
        if account.exhausted is not None:
            return account.exhausted(account.path)
        if stretch is not None and stretch.allowed <= 0:
            return TimeUpError(account.path)
        return None

    def leave(self, depth: int) -> None:
        """End a block, and those that are still open in it."""
        self._change(depth, None)

    def _change(self, depth: int, entered: tuple[Account, float] | None) -> LimitError | None:
        """Charge what was done, and charge another account from now on.

        Returns the exception by which it was interrupted on the way, if it was.
        """
        error = None
        while True:
            try:
                with self._lock:
                    self._forget_pending()
                    now = self._now()
                    self._charge(now)
                    del self.stack[depth:]
                    if entered is not None and error is None:
                        self.stack.append(entered)
                    self._begin(now)
            except LimitError as interruption:
                error = interruption
            else:
                return error

    def _forget_pending(self) -> None:
        if self._is_pending:
            # What it is about is just ending. To take it back would not do: Python would go on
            # looking for it at each call, and 3.11, with a profiler or a tracer, never stops.
            try:
                for _ in range(_STEPS):
                    pass
            except LimitError:
                pass
            self._is_pending = False

    def _now(self) -> float:
        """Return the CPU time of this thread, or up to `_SPARED` seconds more: what is charged too
        much is given back with the next stretch.
        """
        at = time.monotonic()
        passed = at - self._asked_at
        if passed < _SPARED:
            return self._last + passed
        self._asked_at, self._last, self._run_left = at, self._clock(), self.budget.run_left
        return self._last

    def _charge(self, now: float) -> None:
        stretch, self._stretch = self._stretch, None
        if stretch is not None:
            stretch.account.spent += now - stretch.since

    def _begin(self, now: float) -> None:
        if not self.stack:
            return
        account, share = self.stack[-1]
        left = account.limit * share - account.spent
        kind: type[LimitError] = TimeUpError
        if self.budget.limits.seconds:
            of_run = self._run_left - (now - self._last)
            if of_run < left:
                left, kind = of_run, RunOverError
        self._stretch = _Stretch(account, now, left, kind)

    def free(self) -> None:
        """Clear away what was interrupted for its memory."""
        if self.budget.must_free:
            self.budget.must_free = False
            free_memory()

    def pause(self) -> list[tuple[Account, float]]:
        """Charge what is done to no file, and interrupt nothing; return what `go_on` needs."""
        stack = [*self.stack]
        self._change(0, None)
        return stack

    def go_on(self, stack: list[tuple[Account, float]]) -> None:
        with self._lock:
            self.stack[:] = stack
            self._begin(self._now())

    def grant_grace(self) -> None:
        """Let the present work, and no other, take a little more than the run may."""
        self._change(len(self.stack), None)
        if self._stretch is not None:
            self._stretch = self._stretch._replace(allowed=_GRACE_SECONDS)

    def missing(self, seconds: float, memory: float) -> type[LimitError] | None:
        """Return what is raised where less than so much is left for the present work."""
        stretch = self._stretch
        if stretch is None:
            return None
        if seconds > stretch.allowed - (self._now() - stretch.since):
            return stretch.kind
        limit = self.budget.limits.memory
        if limit and memory_in_use() + memory > limit:
            return MemoryUpError
        return None

    def demand(self, seconds: float, memory: float) -> None:
        """Raise LimitError where less than so much is left for the present work."""
        stretch, kind = self._stretch, self.missing(seconds, memory)
        if stretch is not None and kind is not None:
            self.interrupted = stretch.account
            self.budget.must_free = kind is MemoryUpError
            raise kind

    # -- the thread that waits --------------------------------------------------------------------

    @property
    def interval(self) -> float:
        """The seconds until the next look is due."""
        return _MEMORY_INTERVAL if self.budget.limits.memory else _INTERVAL

    def check(self) -> None:
        """Interrupt the thread where it has taken more than it may."""
        if self._stretch is None:
            return
        with self._lock:
            stretch = self._stretch
            if stretch is None:
                return
            try:
                now = self._clock()
            except OSError:  # it has ended
                return
            kind = self._excess(stretch, now)
            if kind is None:
                return
            self._again_at = now + _AGAIN
            self.interrupted = stretch.account
            self._is_pending = True
            _interrupt(self._ident, kind)

    def _excess(self, stretch: _Stretch, now: float) -> type[LimitError] | None:
        is_again = self.interrupted is stretch.account
        if is_again and now < self._again_at:
            return None
        if now - stretch.since > stretch.allowed:
            return stretch.kind
        limit = self.budget.limits.memory
        is_of_file = stretch.account is not self._of_run
        if limit and is_of_file and memory_in_use() > limit - _margin(limit):
            self.budget.must_free = True
            return MemoryUpError
        return None

    def stop(self) -> None:
        """Have the thread end as soon as it can: nobody waits for it any longer."""
        with self._lock:
            self._is_stopped = self._is_pending = True
            _interrupt(self._ident, RunOverError)


def _margin(limit: int) -> float:
    return max(limit * _MARGIN_SHARE, min(_MARGIN_BYTES, limit / 4))


def _interrupt(ident: int, error: type[BaseException]) -> None:
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))


# -- what holds in a thread -----------------------------------------------------------------------


class _Here(threading.local):
    """What a thread works with."""

    budget: Budget | None = None
    meter: Meter | None = None


_here = _Here()


def current_budget() -> Budget | None:
    """Return the budget of the run that this thread works for, if there is one."""
    return _here.budget


def current_meter() -> Meter | None:
    """Return what measures this thread, if anything does."""
    return _here.meter


@contextlib.contextmanager
def using(budget: Budget) -> Iterator[Budget]:
    """Work for a run in a block: `run_deep` keeps what it is called for within its limits."""
    before, _here.budget = _here.budget, budget
    try:
        yield budget
    finally:
        _here.budget = before


@contextlib.contextmanager
def metering(budget: Budget) -> Iterator[Meter]:
    """Measure what this thread does in a block."""
    before = _here.budget, _here.meter
    _here.budget, _here.meter = budget, Meter(budget)
    try:
        yield _here.meter
    finally:
        _here.budget, _here.meter = before


class spending:  # noqa: N801  (a block, like contextlib's)
    """A block that is at the expense of a file, and no longer at that of the file around it.

    Raises LimitError where the file, or the run, has taken all that it may take, and at whatever is
    just done in the block when that is reached. `share`: how much of the file's time may have been
    taken by then. Where nothing measures the thread, it is a plain block.
    """

    __slots__ = ("_depth", "_meter", "_path", "_share")

    def __init__(self, path: str, share: float = 1.0) -> None:
        self._path = path
        self._share = share

    def __enter__(self) -> None:
        self._meter = _here.meter
        if self._meter is not None:
            self._depth = self._meter.enter(self._path, self._share)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._meter is not None:
            self._meter.leave(self._depth)


def interpreting(path: str) -> spending:
    """Return a block that interprets a file, at its expense; see `INTERPRETATION_SHARE`."""
    return spending(path, INTERPRETATION_SHARE)


class unmetered:  # noqa: N801
    """A block that is at the expense of no file, and that nothing interrupts: an import."""

    __slots__ = ("_meter", "_stack")

    def __enter__(self) -> None:
        self._meter = _here.meter
        if self._meter is not None:
            self._stack = self._meter.pause()

    def __exit__(self, *_: object) -> None:
        if self._meter is not None:
            self._meter.go_on(self._stack)


def allow(path: str, seconds: float, spent: float = 0.0) -> None:
    """Set what a file may take, and has taken elsewhere, where there is a budget."""
    if _here.budget is not None:
        _here.budget.allow(path, seconds, spent)


def limit_of(path: str) -> float:
    """Return the seconds that a file may take; 0: any."""
    limit = UNLIMITED if _here.budget is None else _here.budget.account(path).limit
    return 0 if limit == UNLIMITED else limit


def exhaustion_of(path: str) -> LimitError:
    """Return what a file ran out of; where it did not, the run did."""
    account = Account(path) if _here.budget is None else _here.budget.account(path)
    kind = account.exhausted or account.barred
    return RunOverError() if kind is None else kind(path)


def is_left(seconds: float, memory: float) -> bool:
    """Return whether there is as much left as is needed by what nothing interrupts."""
    return _here.meter is None or _here.meter.missing(seconds, memory) is None


def demand(seconds: float, memory: float) -> None:
    """Raise LimitError where there is not as much left as is needed by what nothing interrupts."""
    if _here.meter is not None:
        _here.meter.demand(seconds, memory)


def give_up(error: LimitError) -> None:
    """Note that the file which ran out of something is done with; raise the error of a run."""
    if error.path is None:
        raise error
    if _here.budget is not None:
        _here.budget.exhaust(error)


def bar(error: LimitError) -> None:
    """Note that work with a share of the time ran out; see `Budget.bar`."""
    if _here.budget is not None:
        _here.budget.bar(error)


def free() -> None:
    """Clear away what was interrupted for its memory. Call it when nothing holds that any more."""
    if _here.meter is not None:
        _here.meter.free()


def finish(error: LimitError) -> None:
    """Go on, with what is left, to report what was found before something ran out."""
    bar(error)
    free()
    if isinstance(error, RunOverError) and _here.meter is not None:
        _here.meter.grant_grace()


def current_limits() -> Limits:
    return _NO_LIMITS if _here.budget is None else _here.budget.limits
