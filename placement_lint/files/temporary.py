"""Temporary files beside those that they will replace, and what runs that were killed left of them.

The name says which process is writing: `.placement-lint-MACHINE-PROCESS-RANDOM.tmp`. It cannot be
foreseen, and is never one that exists: nobody can have put a link there.
"""

from __future__ import annotations

import binascii
import contextlib
import os
import stat
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX, SUFFIX = ".placement-lint-", ".tmp"
_ABANDONED = 3600
"""In seconds: nobody writes a file for so long."""
_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)


def create(folder: str, mode: int = 0o600) -> tuple[int, str]:
    """Make a new file in a folder, and give its descriptor and its path. Raises OSError."""
    name = f"{PREFIX}{_machine()}-{os.getpid()}-{os.urandom(8).hex()}{SUFFIX}"
    path = os.path.join(folder, name)
    return os.open(path, _FLAGS, mode), path


def target_of(path: str) -> str:
    """Return where a file that somebody named is to be written, without links.

    In a repository of somebody else its name may be a link to any file of the user's: one is
    followed only as far as it stays in its own directory or below. Raises OSError.
    """
    target = os.path.realpath(path)
    folder = os.path.realpath(os.path.dirname(path) or ".")
    is_below = target.startswith(os.path.join(folder, ""))
    # `/dev/stdout` is a link to wherever that goes.
    if not is_below and not folder.startswith(("/dev", "/proc")):
        raise OSError("it is a link that leads out of its directory")
    return target


def write_whole(target: str, data: bytes) -> None:
    """Put a file in its place in one step, with the mode that it had, or that a new one gets.

    What is no regular file is not replaced. Raises OSError.
    """
    try:
        status = os.stat(target)
    except FileNotFoundError:
        mode = None
    else:
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        mode = stat.S_IMODE(status.st_mode)
        if not os.access(target, os.W_OK):
            # Renaming asks only for a folder that may be written; a file that may not be stays.
            raise PermissionError("it is read-only")
    descriptor, temporary = create(os.path.dirname(target) or ".", 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def sweep(folders: Iterable[str]) -> int:
    """Delete what runs that were killed left in some folders, and give how many files that were."""
    count = 0
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                count += _delete_if_abandoned(entry)
    return count


def _delete_if_abandoned(entry: os.DirEntry[str]) -> bool:
    """Delete a file that a run which was killed has left; return whether it is deleted."""
    if not (entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX)):
        return False
    with contextlib.suppress(OSError):
        if entry.is_file(follow_symlinks=False) and _is_abandoned(entry):
            os.unlink(entry.path)
            return True
    return False


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Return whether the process that wrote a file has gone."""
    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
        return True
    machine, _, rest = entry.name[len(PREFIX) : -len(SUFFIX)].partition("-")
    process = rest.partition("-")[0]
    # A process of another machine, or of another container, cannot be asked about.
    if os.name != "posix" or machine != _machine() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OverflowError:
        return True
    return False


def _machine() -> str:
    """Return what stands for where the numbers of processes are those of this process."""
    told = os.uname().nodename if hasattr(os, "uname") else ""
    with contextlib.suppress(OSError):
        told += os.readlink("/proc/self/ns/pid")
    return f"{binascii.crc32(told.encode('utf-8', 'replace')):08x}"
