"""Writing a file back: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


class WriteError(Exception):
    """A file that was not written and is what it was; the message says why, without the path."""


class FileChangedError(WriteError):
    """A file that someone else has written since it was read."""


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Put other bytes in the place of a file's, in one step that cannot be seen half done.

    The file that a link leads to is replaced, the link stays. Mode and, where the system lets us,
    owner stay. `before` is what was read: nothing is written over what is something else by now.

    Raises WriteError (FileChangedError where the file is not what was read).
    """
    target = Path(os.path.realpath(path))
    try:
        _replace(target, before, after)
    except OSError as error:
        raise WriteError(error.strerror or str(error)) from error


def _replace(target: Path, before: bytes, after: bytes) -> None:
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise WriteError("not a regular file")
    # Renaming asks only for a folder that may be written; a file that may not be is meant to stay.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise WriteError("read-only")
    if not os.access(target, os.W_OK):
        raise WriteError("no permission to write")
    prefix = f".{target.name[:100]}."
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        _keep_owner(temporary, status)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        _demand_unchanged(target, before)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _demand_unchanged(target: Path, before: bytes) -> None:
    if target.read_bytes() != before:
        raise FileChangedError("changed since it was read")


def _keep_owner(temporary: Path, status: os.stat_result) -> None:
    """Give the file to whom it belonged, or at least to the group, as far as we are allowed to."""
    own = temporary.stat()
    if (own.st_uid, own.st_gid) == (status.st_uid, status.st_gid) or not hasattr(os, "chown"):
        return
    try:
        os.chown(temporary, status.st_uid, status.st_gid)
    except PermissionError:
        # Only root gives files away.
        with contextlib.suppress(PermissionError):
            os.chown(temporary, -1, status.st_gid)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too. The file is replaced by then, whether or not we can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
