"""A process that has imported what commands need, and forks for each of them.

Run as a program: `python -m tests.warm.server SOCKET MODULE…`. It lives as long as its standard
input is open. `client.py` asks it. A fork gets the words, streams, folder, environment and umask of
its client, and from there on does what Python does when it is started with them.

The product's own background process (`placement_lint/daemon/`) shares no code with it: that one
runs one known command and may refuse all else; this one runs any module or text, and hands on
signals, encodings and exit codes as a new process would, so that a test cannot tell them apart.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import types
from typing import NamedTuple, TextIO

from tests.warm import interpreter_settings
from tests.warm.client import HANDED, START_IT


class Request(NamedTuple):
    """A command that is to be run."""

    words: list[str]
    environment: dict[str, str]
    umask: int
    handed: list[int]

    @property
    def can_be_run(self) -> bool:
        """Whether a fork of this process is as good as a process that is started."""
        ours = interpreter_settings(os.environ)
        return (
            interpreter_settings(self.environment) == ours
            and len(self.words) > 1
            and self.words[0] in {"-m", "-c"}
        )


class Server:
    """Forks for each client, and tells it how the fork ended."""

    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._clients: dict[int, socket.socket] = {}
        """By the process that was forked."""
        self._selector = selectors.DefaultSelector()
        self._ended, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        os.set_blocking(self._ended, False)
        self._opened = [self._ended, wakeup]
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for each in (self._listener, self._ended, 0):
            self._selector.register(each, selectors.EVENT_READ)

    def serve(self) -> Request | None:
        """Serve until the standard input ends; in a fork, give what it is to run."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for pid in self._clients:
                        os.kill(pid, signal.SIGKILL)
                    return None
                if key.fileobj is self._listener:
                    request = self._accept()
                    if request is not None:
                        return request
                elif key.fileobj == self._ended:
                    self._tell()
                elif key.data in self._clients:
                    self._hand_on(key.data)

    def _accept(self) -> Request | None:
        client, _ = self._listener.accept()
        request = _received(client)
        if request is None or not request.can_be_run:
            with contextlib.suppress(OSError):
                client.sendall(START_IT.to_bytes(4, "big"))
            client.close()
        else:
            pid = os.fork()
            if pid == 0:
                self._leave(client)
                return request
            self._clients[pid] = client
            self._selector.register(client, selectors.EVENT_READ, pid)
        for descriptor in () if request is None else request.handed:
            os.close(descriptor)
        return None

    def _leave(self, client: socket.socket) -> None:
        """Let go, in a fork, of all that is ours."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (self._listener, client, *self._clients.values()):
            each.close()
        for descriptor in self._opened:
            os.close(descriptor)

    def _hand_on(self, pid: int) -> None:
        """Send the signals to a fork that its client got; end it where the client was ended."""
        try:
            got = self._clients[pid].recv(64)
        except OSError:
            got = b""
        for number in got or [signal.SIGKILL]:
            os.kill(pid, number)
        if not got:
            self._selector.unregister(self._clients[pid])

    def _tell(self) -> None:
        """Tell the clients of how their forks ended."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ended, 4096)
        for pid, client in [*self._clients.items()]:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self._clients[pid]
                with contextlib.suppress(KeyError):
                    self._selector.unregister(client)
                code = os.waitstatus_to_exitcode(status)
                with contextlib.suppress(OSError):
                    client.sendall(code.to_bytes(4, "big", signed=True))
                client.close()


def _received(client: socket.socket) -> Request | None:
    """Give what a client asks; None where it went away."""
    room = socket.CMSG_LEN(HANDED * array.array("i").itemsize)
    size, ancillary, _, _ = client.recvmsg(4, room)
    handed = array.array("i")
    for _, _, data in ancillary:
        handed.frombytes(data)
    with client.makefile("rb") as stream:
        data = stream.read(int.from_bytes(size, "big"))
    if len(handed) != HANDED or not data:
        return None
    words, environment, umask = marshal.loads(data)  # noqa: S302
    return Request(words, environment, umask, list(handed))


def become(request: Request) -> None:
    """Be the process that was asked for."""
    *streams, folder = request.handed
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.fchdir(folder)
    os.close(folder)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _look_in(request.environment.get("PYTHONPATH", ""))
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)  # type: ignore[misc]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    kind, what, *rest = request.words
    if kind == "-c":
        sys.argv = ["-c", *rest]
        sys.path[0] = ""
        exec(compile(what, "<string>", "exec"), vars(main))  # noqa: S102
    else:
        sys.argv = ["-m", *rest]
        sys.path[0] = os.getcwd()  # noqa: PTH109
        runpy._run_module_as_main(what)  # type: ignore[attr-defined]


def _look_in(folders: str) -> None:
    """Import from these folders first, and what customises Python, as `site` does."""
    added = [*dict.fromkeys(os.path.abspath(each) for each in folders.split(os.pathsep) if each)]  # noqa: PTH100
    sys.path[1:] = [*added, *(each for each in sys.path[1:] if each not in added)]
    if any(os.path.exists(f"{each}/sitecustomize.py") for each in added):  # noqa: PTH110
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def _stream(descriptor: int, mode: str, like: TextIO) -> io.TextIOWrapper:
    """Open a standard stream as Python does when it starts."""
    assert isinstance(like, io.TextIOWrapper)
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = like.name
    binary: io.RawIOBase | io.BufferedReader | io.BufferedWriter
    if mode == "r":
        binary = io.BufferedReader(raw)
    else:
        # Under PYTHONUNBUFFERED there is nothing between the text and the file.
        binary = raw if like.write_through else io.BufferedWriter(raw)
    text = io.TextIOWrapper(
        binary,
        like.encoding,
        like.errors,
        newline="\n",
        line_buffering=(like is sys.stderr or raw.isatty()) and not like.write_through,
        write_through=like.write_through,
    )
    text.mode = mode  # type: ignore[misc]
    return text


def import_all(name: str) -> None:
    """Import a module, and of a package all that is in it and can be run without being started."""
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        if not found.name.endswith(".__main__"):
            importlib.import_module(found.name)


def main() -> None:
    address, *modules = sys.argv[1:]
    for name in modules:
        import_all(name)
    # What was imported stays for good: there is no use in looking through it.
    gc.collect()
    gc.freeze()
    server = Server(address)
    print("ready", flush=True)
    request = server.serve()
    del server
    if request is None:
        return
    try:
        become(request)
    except SystemExit as stop:
        if not isinstance(stop.code, int | None):
            raise
        code = stop.code or 0
    except BaseException as error:
        code = _told(error)
    else:
        code = 0
    _end(code)


def _told(error: BaseException) -> int:
    """Tell of an error that nothing caught as Python does, and give the exit code."""
    where = error.__traceback__
    while where is not None and where.tb_frame.f_code.co_filename == __file__:
        where = where.tb_next
    sys.excepthook(type(error), error.with_traceback(where), where)
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _end(code: int) -> None:
    """End as Python does, without tidying up all that was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python has something to say about that
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
