"""Tries inputs in processes of their own, whose death and whose silence are told, too."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing as mp
import re
import resource
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fuzz.kinds import looked_at
from tests.fuzz.oracle import Input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from typing import TypeAlias

    from tests.fuzz.oracle import Verdict

    Look: TypeAlias = "Callable[[str, int], Iterator[tuple[Input, Verdict]]]"

SILENCE = 120.0
"""Seconds without a word after which a process hangs."""
MEMORY = 2_000_000
"""In kB: what a process may have taken at most, of all inputs that it was given."""
_PER_PROCESS = 400
"""Numbers, after which another one begins: memory is given back, and caches are empty."""
_CONTEXT = mp.get_context("spawn")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Problem:
    """Something wrong, and the input that shows it."""

    kind: str
    number: int
    what: str
    given: Input

    @property
    def place(self) -> str:
        """What tells this problem from others, whatever the input is."""
        lines = self.what.strip().splitlines()
        ours = [line.strip() for line in lines if "placement_lint" in line and "File" in line]
        return " ".join([*ours[-1:], _DIGITS.sub("N", lines[-1])]) if lines else ""


@dataclass
class Tally:
    """What came of the inputs of one kind."""

    kind: str
    first: int
    numbers: int = 0
    inputs: int = 0
    size: int = 0
    parsed: int = 0
    with_findings: int = 0
    fixed: int = 0
    seconds: float = 0.0
    memory: int = 0
    """In kB, of the process that took most."""
    problems: list[Problem] = field(default_factory=list)

    def add(self, given: Input, verdict: Verdict, number: int) -> list[Problem]:
        """Count an input; give what is wrong with it."""
        self.inputs += 1
        self.size += len(given.data)
        self.parsed += verdict.parsed
        self.with_findings += verdict.found > 0
        self.fixed += verdict.fixed
        new = [Problem(self.kind, number, what, given) for what in verdict.problems]
        self.problems += new
        return new

    @property
    def places(self) -> Counter[str]:
        """How often there was each problem."""
        return Counter(problem.place for problem in self.problems)


def try_numbers(
    tally: Tally,
    *,
    look: Look = looked_at,
    jobs: int,
    until: float,
    count: int | None,
    say: Callable[[Problem], None],
) -> None:
    """Try the inputs with the numbers from the first one on, until the time is over.

    `count` is how many numbers at most; `until` is a time of `time.monotonic`.
    """
    started = time.monotonic()
    last = None if count is None else tally.first + count
    numbers = itertools.count(tally.first) if last is None else iter(range(tally.first, last))
    lock = threading.Lock()
    share = _Share(tally, look, numbers, lock, until, say)
    threads = [threading.Thread(target=share.work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.seconds += time.monotonic() - started


@dataclass
class _Share:
    """What one thread does: it gives numbers to a process, and to another one when that dies."""

    tally: Tally
    look: Look
    numbers: Iterator[int]
    lock: threading.Lock
    until: float
    say: Callable[[Problem], None]

    def work(self) -> None:
        """Have processes try numbers, one process after the other."""
        while time.monotonic() < self.until:
            ours, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(
                target=_try, args=(self.tally.kind, self.look, theirs), daemon=True
            )
            process.start()
            theirs.close()
            try:
                is_over = self.converse(ours, process)
            finally:
                process.kill()
                process.join()
            if is_over:
                return

    def converse(self, ours: Connection, process: SpawnProcess) -> bool:
        """Give one process its numbers; tell whether there are no more."""
        for _ in range(_PER_PROCESS):
            with self.lock:
                number = next(self.numbers, None)
            if number is None or time.monotonic() > self.until:
                return True
            ours.send(number)
            try:
                while True:
                    if not ours.poll(SILENCE):
                        self.note(number, f"no answer for {SILENCE:.0f} s")
                        return False
                    told = ours.recv()
                    if told is None:
                        break
                    self.count(number, *told)
            except (EOFError, ConnectionResetError):
                process.join()
                self.note(number, f"the process died with exit code {process.exitcode}")
                return False
            self.tally.numbers += 1
        return False

    def count(self, number: int, given: Input, verdict: Verdict, memory: int) -> None:
        """Count one input."""
        with self.lock:
            new = self.tally.add(given, verdict, number)
            self.tally.memory = max(self.tally.memory, memory)
        for problem in new:
            self.say(problem)

    def note(self, number: int, what: str) -> None:
        """Count an input that a process did not survive."""
        problem = Problem(self.tally.kind, number, what, Input("unknown", b""))
        with self.lock:
            self.tally.problems.append(problem)
        self.say(problem)


def _try(kind: str, look: Look, told: Connection) -> None:
    """Try the numbers that are told, until there are no more of them."""
    with contextlib.suppress(EOFError):
        while True:
            for given, verdict in look(kind, told.recv()):
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                told.send((given, verdict, memory))
            told.send(None)
