"""The caller's side: have the background process run a command, or start one for the next time."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress

from placement_lint.daemon.address import is_supported, socket_path

TYPE_CHECKING = False

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence
    from typing import Any


class NoDaemonError(Exception):
    """No background process answers that has this version of the code."""


class DiedError(Exception):
    """The process that ran the command ended without an exit code."""


def run(arguments: Sequence[str]) -> int:
    """Have the background process run the command with these arguments; return its exit code.

    It uses the standard streams, the directory and the environment of this process. An interrupt
    is passed on. Raises NoDaemonError or NoAddressError before anything is done, and DiedError.
    """
    from placement_lint.daemon.messages import BrokenOffError, receive, send

    streams = (sys.stdin, sys.stdout, sys.stderr)
    try:
        files = [stream.fileno() for stream in streams]
    except (AttributeError, OSError) as error:
        # Closed, or replaced by an object of somebody who calls this as a function.
        raise NoDaemonError from error
    request = {
        "arguments": [*arguments],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "umask": _umask(),
        "nice": os.nice(0),
        "streams": [[stream.encoding, stream.errors] for stream in streams],
    }
    with _connected() as connection:
        try:
            send(connection, request, files)
            process = receive(connection)["process"]
        except (BrokenOffError, KeyError, OSError, ValueError) as error:
            # It ends because its code was replaced, or had nothing left to fork with.
            raise NoDaemonError from error
        try:
            with _passing_interrupts_to(process):
                return int(receive(connection)["code"])
        except (BrokenOffError, KeyError, OSError) as error:
            raise DiedError from error


def ask(question: str) -> dict[str, Any]:
    """Return the answer to a question about the process itself: `status` or `stop`.

    Raises NoDaemonError and NoAddressError.
    """
    from placement_lint.daemon.messages import BrokenOffError, receive, send

    with _connected() as connection:
        try:
            send(connection, {"question": question})
            return receive(connection)
        except (BrokenOffError, OSError) as error:
            raise NoDaemonError from error


def start(code: str) -> None:
    """Start a background process, which outlives this one; another that runs already stays.

    The Python code serves. Does not wait until it listens. Raises OSError where the system starts
    no process.
    """
    import subprocess

    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Behind all others: what stands beside this package is not to hide the standard library.
    path = f"import sys; sys.path[:1] = []; sys.path.append({here!r})"
    subprocess.Popen(
        [sys.executable, "-c", f"{path}; {code}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # It keeps no directory busy, and a run may be in one that is deleted.
        cwd="/",
    )


def _connected() -> socket.socket:
    if sys.platform == "win32" or not is_supported():
        raise NoDaemonError
    import socket

    path = socket_path(os.environ)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise NoDaemonError from error
    return connection


@contextmanager
def _passing_interrupts_to(process: int) -> Iterator[None]:
    """Pass on each interrupt, without breaking off what is being received.

    After one, this process ends as soon as the exit code is there, and further ones are ignored.
    """
    import signal

    is_interrupted = False

    def pass_on(number: int, _: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        # It may just have ended; then its exit code is on the way.
        with suppress(ProcessLookupError):
            os.kill(process, number)

    try:
        before = signal.signal(signal.SIGINT, pass_on)
    except ValueError:
        # Interrupts reach the main thread only, and this is another one.
        yield
        return
    is_done = False
    try:
        yield
        is_done = True
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if is_done and is_interrupted else before)


def _umask() -> int:
    # The only way to read it is to set it.
    found = os.umask(0o077)
    os.umask(found)
    return found
