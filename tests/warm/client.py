"""Asks a warm process for a fork that runs a command, and ends as that ends.

Run by the path of this file: `python -I -S client.py SOCKET -m placement_lint …`. It hands over its
standard streams, folder and environment, hands on the signals that it gets, and ends with the same
exit code or by the same signal. Where the warm process will not do, it becomes the command itself.

What it imports is in Python itself: starting it takes a hundredth of a second.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys

START_IT = 1 << 16
"""An answer in place of an exit status: the command has to be started as ever."""
HANDED = 4
"""Descriptors: standard input, output and error output, and the folder."""
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def asked(address: str, words: list[str]) -> _socket.socket:
    """Ask for a fork that runs this command, and give the connection on which it is told of."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(address)
    # Raises where one of them is closed, or the folder is gone.
    handed = (0, 1, 2, os.open(".", os.O_RDONLY))
    for descriptor in handed:
        os.fstat(descriptor)
    umask = os.umask(0)
    os.umask(umask)
    request = marshal.dumps((words, dict(os.environ), umask))
    packed = b"".join(number.to_bytes(4, sys.byteorder) for number in handed)
    size = len(request).to_bytes(4, "big")
    connection.sendmsg([size], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
    # Before the fork can say that it is there: whoever hears that may send a signal at once.
    for name in _FORWARDED:
        number = getattr(_signal, name)
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, lambda got, _: connection.send(bytes([got])))
    connection.sendall(request)
    return connection


def answer(connection: _socket.socket) -> int:
    """Wait until the fork has ended, and give how: its exit code, or minus a signal."""
    data = b""
    while len(data) < 4:
        got = connection.recv(4 - len(data))
        if not got:
            sys.exit("the warm process has ended")
        data += got
    return int.from_bytes(data, "big", signed=True)


def end(status: int) -> None:
    """End as a process that ended with this status."""
    if status < 0:
        if -status in {_signal.SIGKILL, _signal.SIGSTOP}:
            os.kill(os.getpid(), -status)
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    try:
        told: "_socket.socket | None" = asked(sys.argv[1], sys.argv[2:])
    except OSError:
        told = None
    if told is not None and (how := answer(told)) != START_IT:
        end(how)
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])  # noqa: S606
