"""The background process: listens, and forks for each run."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from placement_lint.daemon.messages import STREAMS, BrokenOffError, receive_with_files, send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[Sequence[str]], int]

IDLE_SECONDS = 30 * 60.0
"""After so long without a run the process ends."""

_CODE = ("libcst", "placement_lint")
"""Packages whose code may be replaced by an upgrade, or by whoever works on it."""

_PATIENCE = 5.0
"""Seconds in which a request must have arrived: nobody else is served meanwhile."""


def serve(path: str, run: Run, prepare: Callable[[], object], idle: float = IDLE_SECONDS) -> bool:
    """Listen on a socket until told to stop, or unused for so long, or the code is replaced.

    `run` is the command: arguments to exit code. `prepare` is called first, to import what runs
    need. Returns False at once if another process listens there.
    """
    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        prepare()
        # What is there now is never garbage: no fork is to copy its pages by counting it.
        gc.collect()
        gc.freeze()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(path)
            try:
                listening.listen()
                _Server(listening, run, idle).serve()
            finally:
                os.unlink(path)
    return True


class _Server:
    """One process that listens."""

    def __init__(self, listening: socket.socket, run: Run, idle: float) -> None:
        self._listening = listening
        self._run = run
        self._idle = idle
        self._code = _stamps()
        self._started = time.time()
        self._runs = 0
        self._children: set[int] = set()

    def serve(self) -> None:
        """Answer one request after the other."""
        self._listening.settimeout(self._idle)
        while True:
            try:
                connection, _ = self._listening.accept()
            except TimeoutError:
                self._reap()
                if self._children:
                    continue
                return
            self._reap()
            with connection:
                if not self._answer(connection):
                    return

    def _answer(self, connection: socket.socket) -> bool:
        """Answer a request; return whether to go on."""
        connection.settimeout(_PATIENCE)
        try:
            request, files = receive_with_files(connection)
        except (BrokenOffError, OSError):
            return True
        try:
            if "question" in request:
                stops = request["question"] == "stop"
                with contextlib.suppress(OSError):
                    send(connection, self._status())
                return not stops
            if _stamps() != self._code:
                # The caller finds nobody, does it itself and starts another process.
                return False
            self._fork(connection, request, files)
        finally:
            for file in files:
                os.close(file)
        return True

    def _status(self) -> dict[str, Any]:
        return {"process": os.getpid(), "seconds": time.time() - self._started, "runs": self._runs}

    def _fork(self, connection: socket.socket, request: dict[str, Any], files: list[int]) -> None:
        if len(files) != STREAMS:
            return
        try:
            child = os.fork()
        except OSError:
            return
        if not child:
            self._listening.close()
            _Fork(connection, request, files, self._run).end()
        self._children.add(child)
        self._runs += 1

    def _reap(self) -> None:
        """Forget the runs that have ended."""
        while self._children:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            if not ended:
                return
            self._children.discard(ended)


class _Fork:
    """One run, in a process of its own."""

    def __init__(
        self, connection: socket.socket, request: dict[str, Any], files: list[int], run: Run
    ) -> None:
        self._connection = connection
        self._request = request
        self._files = files
        self._run = run

    def end(self) -> None:
        """Run the command and end the process; does not return."""
        code = 2
        try:
            self._become_the_caller()
            code = self._exit_code()
            # From here on there is nothing left to interrupt.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
            send(self._connection, {"code": code})
        # The caller has gone, or nothing can be told to it: there is nobody to report to.
        except (KeyError, OSError, TypeError, ValueError, KeyboardInterrupt):
            code = 2
        finally:
            os._exit(code)

    def _exit_code(self) -> int:
        """Send the caller the process to interrupt, and run the command; return its exit code."""
        try:
            send(self._connection, {"process": os.getpid()})
            threading.Thread(target=self._end_with_the_caller, daemon=True).start()
            return self._run(self._request["arguments"])
        except KeyboardInterrupt:
            # Before the command had begun: later it answers with this code itself.
            return 128 + signal.SIGINT

    def _become_the_caller(self) -> None:
        """Take over the directory, the environment and the streams of the caller."""
        request = self._request
        # A group of its own, so that its processes can be ended together.
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._connection.settimeout(None)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.umask(request["umask"])
        if request["nice"] > os.nice(0):
            os.nice(request["nice"] - os.nice(0))
        for number, file in enumerate(self._files):
            os.dup2(file, number)
        reader, output, errors = request["streams"]
        sys.stdin = open(0, encoding=reader[0], errors=reader[1], closefd=False)  # noqa: SIM115
        sys.stdout = _writer(1, *output)
        sys.stderr = _writer(2, *errors)

    def _end_with_the_caller(self) -> None:
        """Wait until the caller goes; then nobody wants what this run finds."""
        with contextlib.suppress(OSError):
            while self._connection.recv(1):
                pass
        os.killpg(0, signal.SIGTERM)


def _writer(number: int, encoding: str, errors: str) -> io.TextIOWrapper:
    """Return a stream like those that Python starts with."""
    file = open(number, "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(file, encoding, errors, line_buffering=os.isatty(number))


def _stamps() -> dict[str, tuple[int, int] | None]:
    """Return when each file of the modules that are loaded was written, and its size."""
    stamps: dict[str, tuple[int, int] | None] = {}
    for module in [*sys.modules.values()]:
        path = getattr(module, "__file__", None)
        if path is None or not module.__name__.startswith(_CODE):
            continue
        try:
            status = os.stat(path)
        except OSError:
            stamps[path] = None
        else:
            stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps
