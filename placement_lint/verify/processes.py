"""Two real `jax.distributed` processes on loopback, for proofs of what happens between processes.

A proof that needs them says `STAGE = "processes"` and looks through `run.in_two_processes`:

    def hazard(accelerator, host):          # both are None here: no backend has started yet
        jax.distributed.initialize()        # finds the other process without arguments
        return jax.device_put(np.ones(4), jax.devices()[0])

    def see(run):                           # in each of the two processes
        return bool(run().is_fully_addressable)

    def observe(run):                       # in a process of its own, beside them
        first, second = run.in_two_processes(see)
        return Observation(..., measured=second, seen=not second, ...)

Each process has two virtual CPU devices, so there are four. `see` is a function at the top level
of the proof, must run the side at least once, and returns what JSON can hold. What it raises, or
a process that ends or hangs, fails the proof: catch in `see` what belongs to the claim.

This module imports no jax: the process that watches must not start a backend of its own.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from placement_lint.verify.environment import PROCESSES, cluster_environment

TIME_LIMIT = 60.0
_OUTPUT_KEPT = 400
_TICK = 0.02


class ProcessError(RuntimeError):
    """A process that did not say what it saw; the message is the short reason."""


def see_in_two_processes(
    path: Path, side: str, see: str, *, time_limit: float = TIME_LIMIT
) -> list[Mapping[str, Any]]:
    """Run the function named see of a proof in two processes that can find each other.

    Returns the answers of process 0 and process 1, as the task `process` of the child gives them.
    Raises ProcessError when one of them fails, ends without answer, or time runs out.
    """
    port = _free_port()
    with (
        tempfile.TemporaryDirectory(prefix="placement-lint-") as name,
        contextlib.ExitStack() as all_,
    ):
        members = [
            all_.enter_context(_member(number, port, Path(name), path, side, see))
            for number in range(PROCESSES)
        ]
        return _answers(members, time.monotonic() + time_limit)


class _Member:
    """One of the processes: it answers, and waits until all have before it leaves.

    A process that left early would take the others with it: JAX's coordination service ends
    those whose peer is gone.
    """

    def __init__(
        self, number: int, process: "subprocess.Popen[bytes]", answer: Path, printed: Path
    ) -> None:
        self.number = number
        self.process = process
        self._answer = answer
        self._printed = printed

    def answer(self) -> "dict[str, Any] | None":
        """Return its answer, None while there is none; raises ProcessError when none will come."""
        ended = self.process.poll()
        if not self._answer.exists():
            if ended is None:
                return None
            msg = f"process {self.number} ended with status {ended}{self.last_line()}"
            raise ProcessError(msg)
        value: dict[str, Any] = json.loads(self._answer.read_text(encoding="utf-8"))
        if "error" in value:
            msg = f"process {self.number} {value['error']}"
            raise ProcessError(msg)
        return value

    def last_line(self) -> str:
        """Return the last line that it printed, with a colon before it, or nothing."""
        text = self._printed.read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f": {lines[-1][:_OUTPUT_KEPT]}" if lines else ""


def _answers(members: list[_Member], deadline: float) -> list[Mapping[str, Any]]:
    while True:
        answers = [member.answer() for member in members]
        silent = [member for member, answer in zip(members, answers, strict=True) if answer is None]
        if not silent:
            return [answer for answer in answers if answer is not None]
        if time.monotonic() > deadline:
            msg = f"process {silent[0].number} did not answer in time{silent[0].last_line()}"
            raise ProcessError(msg)
        time.sleep(_TICK)


@contextlib.contextmanager
def _member(
    number: int, port: int, folder: Path, path: Path, side: str, see: str
) -> Iterator[_Member]:
    task = {"task": "process", "path": str(path), "side": side, "see": see, "process": number}
    place = folder / str(number)
    place.mkdir()
    answer, printed = folder / f"{number}.json", folder / f"{number}.txt"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "placement_lint.verify.child", json.dumps(task), str(answer)],
            cwd=place,
            env=cluster_environment(os.environ, number=number, port=port),
            # It lives as long as this pipe is open: see `lifeline`.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _Member(number, process, answer, printed)
    finally:
        process.kill()
        process.communicate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def in_two_processes_of(
    path: Path, side: str
) -> Callable[[Callable[..., Any]], tuple[list[Any], int]]:
    """Return what a Run needs: from a function of the proof to what both processes saw, and
    calls.
    """

    def look(see: Callable[..., Any]) -> tuple[list[Any], int]:
        answers = see_in_two_processes(path, side, see.__name__)
        calls = min(int(answer["calls"]) for answer in answers)
        return [answer["saw"] for answer in answers], calls

    return look
