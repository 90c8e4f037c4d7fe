"""Reading what anyone may have put there: regular files of bounded size, and nothing else.

A repository can hold a link to a device, a pipe that nobody writes to, or a sparse file of a
terabyte, under any name that is read. So a file is opened without waiting, its kind and size are
asked of what was opened (not of the path, which may lead elsewhere by then), and no more is read
than its limit. Whatever reads a file of a user or of a repository does it here.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path

_MIB = 1024 * 1024

MOST_OF_SOURCE = 16 * _MIB
"""Bytes of a Python file: nobody writes a larger one by hand."""
MOST_OF_NOTEBOOK = 128 * _MIB
"""Bytes of a notebook, which holds its outputs: pictures, most of it."""
MOST_OF_SETTINGS = 4 * _MIB
"""Bytes of a settings file, of a `.gitignore`, and of what says which JAX a project asks for."""
MOST_OF_BASELINE = 16 * _MIB
"""Bytes of a baseline: some 100,000 findings."""
MOST_OF_RECORDS = 32 * _MIB
"""Bytes of one file of the cache; a larger one is neither written nor read."""

_FLAGS = (
    os.O_RDONLY
    # A pipe without a writer, and some devices, would make us wait.
    | getattr(os, "O_NONBLOCK", 0)
    # A terminal must not become the one that controls this process.
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_KINDS = (
    (stat.S_ISFIFO, "it is a named pipe"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)
_CHUNK = 1 * _MIB


def most_of(path: str) -> int:
    """Return how many bytes a source file may have."""
    return MOST_OF_NOTEBOOK if path.endswith(".ipynb") else MOST_OF_SOURCE


def read_regular(path: str | Path, most: int) -> bytes:
    """Read a regular file of at most so many bytes.

    Raises OSError, whose `strerror` says in a few words what is wrong, also for what is no regular
    file, for what is larger, and for a path that no system has.
    """
    descriptor = open_regular(path)
    try:
        return _read(descriptor, most)
    finally:
        os.close(descriptor)


def read_given(path: str | Path, most: int) -> bytes:
    """Read a file that somebody named on the command line, of any kind: it may be a pipe.

    Raises OSError as `read_regular` does.
    """
    descriptor = _opened(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return _read(descriptor, most)
    finally:
        os.close(descriptor)


def open_regular(path: str | Path, flags: int = 0) -> int:
    """Open a regular file to be read, and give its descriptor. Raises OSError."""
    try:
        descriptor = _opened(path, _FLAGS | flags)
    except OSError as error:
        if error.errno in {errno.ENXIO, getattr(errno, "EOPNOTSUPP", errno.ENXIO)}:
            # A socket, or a device with nothing behind it.
            raise OSError(error.errno, "not a regular file") from error
        raise
    try:
        _demand_regular(os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _demand_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        reason = next((text for test, text in _KINDS if test(mode)), "")
        raise OSError(errno.EINVAL, f"not a regular file{reason and ': ' + reason}")


def _opened(path: str | Path, flags: int) -> int:
    try:
        return os.open(path, flags)
    except ValueError as error:
        # A null byte, or a character that no path of this system can have.
        raise OSError(errno.EINVAL, f"not a path: {error}") from error


def _read(descriptor: int, most: int) -> bytes:
    size = os.fstat(descriptor).st_size
    if size > most:
        raise too_large(most)
    chunks: list[bytes] = []
    left = most + 1
    # What the system makes up as it is read has no size; what is being written has another one.
    wanted = size + 1
    while left > 0:
        chunk = os.read(descriptor, min(left, max(wanted, 1)))
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
        wanted = max(wanted - len(chunk), _CHUNK)
    if left <= 0:
        raise too_large(most)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def too_large(most: int) -> OSError:
    """Return the error of a file with more bytes than these."""
    return OSError(errno.EFBIG, f"larger than {most // _MIB} MiB")
