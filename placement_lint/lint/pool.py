"""Work on many things at once, in processes, so that one that kills its process loses only itself.

`multiprocessing.Pool` waits without end for a worker that died; `ProcessPoolExecutor` says that one
did, though not over what. So only a few things are under way at any time, and when a worker dies,
each of those is tried again where nothing else runs.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import signal
import sys
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")

MAX_JOBS = 61
"""More processes than Windows can wait for at once make the run hang."""

_SECONDS_TO_DIE = 5.0

_WAITING_PER_JOB = 2
"""Things under way for each process: one in work, one at hand."""


class NoProcessesError(Exception):
    """The system gives us no processes, or nothing to speak to them by."""


class Died:
    """What came of a thing that killed the process that worked on it, and the next one too."""


def map_isolated(
    work: Callable[[T], R],
    things: Sequence[T],
    jobs: int,
    done: Callable[[T, R | Died], Iterable[T]] = lambda *_: (),
    *,
    most: int = 0,
) -> list[R | Died]:
    """Return what `work` makes of each thing, in their order, from up to `jobs` processes.

    `done` gets each thing and its result, in any order, and gives what is to be done because of it:
    the results of that come last. `most` is how many things there may be in the end.

    Each process gets `work` once, forked with it or pickled. With one job everything happens in
    this process, and a crash is a crash; so it does where the system allows no processes, or no
    more of them. Raises what `work` raises. An interrupt ends the processes at once.
    """
    jobs = min(jobs, MAX_JOBS, max(len(things), most))
    if jobs > 1:
        try:
            return _Pooled(work, things, jobs, done).run()
        except NoProcessesError:
            pass
    results: list[R | Died] = []
    pending = deque(things)
    while pending:
        thing = pending.popleft()
        results.append(work(thing))
        pending += done(thing, results[-1])
    return results


class _Pooled(Generic[T, R]):
    """One run over many things."""

    def __init__(
        self,
        work: Callable[[T], R],
        things: Sequence[T],
        jobs: int,
        done: Callable[[T, R | Died], Iterable[T]],
    ) -> None:
        self.work = work
        self.things = [*things]
        self.jobs = jobs
        self.done = done
        self.results: dict[int, R | Died] = {}
        self.pending = deque(range(len(self.things)))

    def run(self) -> list[R | Died]:
        while self.pending:
            suspects = self._together()
            for suspect in suspects:
                self._take(suspect, self._alone(suspect))
        return [self.results[index] for index in range(len(self.things))]

    def _take(self, index: int, result: R | Died) -> None:
        self.results[index] = result
        for more in self.done(self.things[index], result):
            self.pending.append(len(self.things))
            self.things.append(more)

    def _together(self) -> list[int]:
        """Work through what is pending, and give what was under way when a worker died."""
        pending = self.pending
        running: dict[Future[R], int] = {}
        here: list[int] = []
        with _Workers(self.work, self.jobs) as workers:
            try:
                while pending or running:
                    try:
                        self._submit(workers, running)
                    except NoProcessesError:
                        # Those that there are finish what they have.
                        here += pending
                        pending.clear()
                    if not running:
                        break
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._take(running[future], future.result())
                        del running[future]
            except BrokenProcessPool:
                pending.extendleft(reversed(here))
                return sorted(self._unfinished(running))
        for index in here:
            self._take(index, self.work(self.things[index]))
        return []

    def _submit(self, workers: _Workers[T, R], running: dict[Future[R], int]) -> None:
        """Hand out what is pending, as far as the workers can take it."""
        while self.pending and len(running) < self.jobs * _WAITING_PER_JOB:
            first = self.pending[0]
            running[workers.submit(self.things[first])] = first
            self.pending.popleft()

    def _unfinished(self, running: dict[Future[R], int]) -> list[int]:
        """Take the results of what was done before the worker died; give the others."""
        unfinished = []
        for future, index in running.items():
            if isinstance(future.exception(), BrokenProcessPool):
                unfinished.append(index)
            else:
                self._take(index, future.result())
        return unfinished

    def _alone(self, index: int) -> R | Died:
        try:
            workers = _Workers(self.work, 1)
        except NoProcessesError:
            # To try it here would be to put everything at stake.
            return Died()
        with workers:
            try:
                workers.ready.result()
            except BrokenProcessPool:
                # No worker lives here, whatever it works on.
                return self.work(self.things[index])
            try:
                return workers.submit(self.things[index]).result()
            except BrokenProcessPool:
                return Died()


class _Workers(Generic[T, R]):
    """Some processes, which are gone when the block is left, however it is left."""

    def __init__(self, work: Callable[[T], R], jobs: int) -> None:
        context = multiprocessing.get_context("fork" if _may_fork() else "spawn")
        self._before = set(multiprocessing.active_children())
        try:
            self._executor = ProcessPoolExecutor(
                jobs, mp_context=context, initializer=_start, initargs=(work,)
            )
            # Processes are started as there are things to do; those that are forked, all at once.
            with _interrupts_held():
                self.ready = self._submitted(_nothing)
        except (ImportError, NotImplementedError, OSError) as error:
            raise NoProcessesError(str(error)) from error
        except NoProcessesError:
            self._end()
            raise

    def __enter__(self) -> _Workers[T, R]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._executor.shutdown(cancel_futures=True)
        else:
            self._end()

    def _end(self) -> None:
        """End the processes, whatever they are at."""
        ours = set(multiprocessing.active_children()) - self._before
        for process in ours:
            process.kill()
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in ours:
            process.join(_SECONDS_TO_DIE)

    def submit(self, thing: T) -> Future[R]:
        """Have something done. Raises NoProcessesError, or BrokenProcessPool after a death."""
        return self._submitted(_work_on, thing)

    def _submitted(self, work: Callable[..., Any], *things: T) -> Future[Any]:
        try:
            return self._executor.submit(work, *things)
        except BrokenProcessPool:
            raise
        except (OSError, RuntimeError) as error:
            # No process, or no thread that would look after it.
            raise NoProcessesError(str(error)) from error


def _may_fork() -> bool:
    """Return whether processes can be made that know all that this one has found out.

    A forked process would inherit the locks of our other threads, held without end. Before Python
    3.11, an executor forks more of them when it has a thread.
    """
    return sys.platform == "linux" and sys.version_info >= (3, 11) and threading.active_count() == 1


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold interrupts back in the block: a forked process ignores them only after it has begun."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What a worker process works with."""

    work: Callable[[Any], Any]


def _start(work: Callable[[Any], Any]) -> None:
    # An interrupt reaches all processes of a terminal: ours ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # It ends with its work, which looks for garbage itself where there may be much.
    gc.disable()
    # Nor through what it was forked with: that would copy all of it.
    gc.freeze()
    _Worker.work = staticmethod(work)


def _work_on(thing: Any) -> Any:
    return _Worker.work(thing)


def _nothing() -> None:
    """Show that a process lives."""
