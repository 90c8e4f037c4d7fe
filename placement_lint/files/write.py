"""Writing files back: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.files.temporary import create
from placement_lint.regular import most_of, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

_ASKING = ("SIGINT", "SIGTERM", "SIGHUP")


class WriteError(Exception):
    """A file that was not written and is what it was; the message says why, without the path."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.path = path
        """The file, of those that were to be written together."""


class FileChangedError(WriteError):
    """A file that someone else has written since it was read."""


@dataclass(frozen=True)
class Replacement:
    """The bytes that a file had when it was read, and those that it is to have."""

    path: str
    before: bytes
    after: bytes


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Put other bytes in the place of a file's; see `replace_files`."""
    replace_files([Replacement(path, before, after)])


def replace_files(replacements: Iterable[Replacement]) -> None:
    """Put other bytes in the place of files', in all of them or in none.

    Each file is replaced in one step that cannot be seen half done, once all new bytes are on the
    disk. The file that a link leads to is replaced, the link stays. Mode, extended attributes and,
    where the system lets us, the owner stay. Nothing is written over what is neither the bytes that
    were read nor those that are to be written, and not to a file with other names, which would go
    on with the old bytes. Interrupts wait until it is done, or undone; what ends the process at
    once can come between two files, and leave a temporary file behind.

    Raises WriteError (FileChangedError where a file is not what was read).
    """
    staged: list[_Staged] = []
    with _undisturbed():
        try:
            for replacement in replacements:
                with _named(replacement.path):
                    staged.append(_Staged(replacement))
            _demand_one_text_each(staged)
            for each in staged:
                with _named(each.replacement.path):
                    each.demand_unchanged()
            _replace_all(staged)
        finally:
            for each in staged:
                _take_away(each.temporary)


class _Staged:
    """The new bytes of a file, beside it."""

    def __init__(self, replacement: Replacement) -> None:
        self.replacement = replacement
        self.target = Path(os.path.realpath(replacement.path))
        self.status = _writable(self.target)
        self.temporary = _beside(self.target, self.status, replacement.after)

    def demand_unchanged(self) -> None:
        content = read_regular(self.target, most_of(str(self.target)))
        if content not in {self.replacement.before, self.replacement.after}:
            raise FileChangedError("changed since it was read")

    def put_back(self) -> None:
        """Return the file the bytes that it had."""
        temporary = _beside(self.target, self.status, self.replacement.before)
        try:
            temporary.replace(self.target)
        finally:
            _take_away(temporary)


def _writable(target: Path) -> os.stat_result:
    """Return the status of a file that is meant to be written; else raise WriteError."""
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise WriteError("not a regular file")
    if status.st_nlink > 1:
        raise WriteError("it has other names (hard links), which would keep the old text")
    # Renaming asks only for a folder that may be written; a file that may not be is meant to stay.
    if not _has_a_writer(status):
        raise WriteError("read-only")
    if not os.access(target, os.W_OK):
        raise WriteError("no permission to write")
    # The superuser may write to any folder.
    if not _has_a_writer(target.parent.stat()):
        raise WriteError("its directory is read-only")
    if not os.access(target.parent, os.W_OK):
        raise WriteError("no permission to write in its directory")
    return status


def _has_a_writer(status: os.stat_result) -> bool:
    return bool(status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


def _beside(target: Path, status: os.stat_result, content: bytes) -> Path:
    """Write bytes to a new file beside another, with all that is to be as it is with that."""
    descriptor, name = create(str(target.parent))
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _keep_owner(temporary, status)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        _keep_attributes(target, temporary)
    except BaseException:
        _take_away(temporary)
        raise
    return temporary


def _take_away(temporary: Path) -> None:
    """Delete a temporary file, as far as the system lets us: what went wrong before is told."""
    with contextlib.suppress(OSError):
        temporary.unlink()


def _demand_one_text_each(staged: Iterable[_Staged]) -> None:
    """Refuse two texts for one file, which links give several names."""
    first: dict[Path, Replacement] = {}
    for each in staged:
        other = first.setdefault(each.target, each.replacement)
        if other.after != each.replacement.after:
            reason = f"it is the same file as {other.path}, whose fixes are others"
            raise WriteError(reason, each.replacement.path)


def _replace_all(staged: Iterable[_Staged]) -> None:
    done: list[_Staged] = []
    try:
        for each in staged:
            with _named(each.replacement.path):
                each.temporary.replace(each.target)
            done.append(each)
    except BaseException as error:
        for each in done:
            try:
                each.put_back()
            except OSError as problem:
                reason = f"{error}, and this file, already written, cannot be put back: {problem}"
                raise WriteError(reason, each.replacement.path) from error
        raise


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in the error that is raised inside."""
    try:
        yield
    except WriteError as error:
        error.path = path
        raise
    except OSError as error:
        raise WriteError(error.strerror or str(error), path) from error


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Have signals that ask this process to end wait: they leave things half done.

    Only the main thread can do so; in another, Python raises nothing by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        waiting.append(number)

    asking = [getattr(signal, name) for name in _ASKING if hasattr(signal, name)]
    # None: a handler that is not Python's, and could not be put back.
    handlers = {number: signal.getsignal(number) for number in asking}
    replaced = {
        number: handler
        for number, handler in handlers.items()
        if handler not in {None, signal.SIG_IGN}
    }
    for number in replaced:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(waiting):
            signal.raise_signal(number)


def _keep_owner(temporary: Path, status: os.stat_result) -> None:
    """Restore the owner of the file, or at least its group, as far as that is permitted."""
    own = temporary.stat()
    if (own.st_uid, own.st_gid) == (status.st_uid, status.st_gid) or not hasattr(os, "chown"):
        return
    try:
        os.chown(temporary, status.st_uid, status.st_gid)
    except PermissionError:
        # Only root gives files away.
        with contextlib.suppress(PermissionError):
            os.chown(temporary, -1, status.st_gid)


def _keep_attributes(target: Path, temporary: Path) -> None:
    """Copy what else the system keeps of a file (access lists among it), as far as it lets us."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(target):
            with contextlib.suppress(OSError):
                os.setxattr(temporary, name, os.getxattr(target, name))
