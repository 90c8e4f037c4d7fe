"""The directory of a cache: files of JSON, each written in one step, signed, and bounded.

Nothing in it is executed. What is damaged, or signed by another key, counts as absent, so that a
cache that a repository brings along is never used.
"""

from __future__ import annotations

import os
import stat
import time

from placement_lint.files.stamps import are_equal, blake2b
from placement_lint.lint.incremental.cache_key import key_for
from placement_lint.regular import MOST_OF_RECORDS, read_regular

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

RUN, FILES, WRITTEN = ".run.json", ".files.json", ".written"
"""How the names of the files end: of what a run gave, of what is known of its files, and of what
it has written."""
_MOST_FILES = 96
_MOST_BYTES = 64 * 1024 * 1024
_WRITING = ".writing-"
_ABOUT = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# What placement-lint found out, to be faster the next time. Delete it whenever you like.\n",
}


class CacheFolder:
    """The directory that a cache is in."""

    def __init__(self, path: str, *, is_own: bool, is_signed: bool = False) -> None:
        """Take where it is. `is_own`: nobody asked for it there.

        Then what it holds is used only if this user's key has signed it: a repository cannot bring
        it along. `is_signed`: so it is wherever it lies.
        """
        self.path = path
        self._is_own = is_own
        self._is_signed = is_own or is_signed
        self._known_key: bytes | None = None
        self._started = time.time_ns()

    def signed(self) -> CacheFolder:
        """Return the same folder, for what is used only if this user's key has signed it."""
        return CacheFolder(self.path, is_own=self._is_own, is_signed=True)

    @property
    def _key(self) -> bytes:
        """What records are signed with. Raises KeyProblemError."""
        if self._known_key is None:
            path = os.path.abspath(self.path)
            project = os.path.dirname(path) if self._is_own else path
            self._known_key = key_for(project) if self._is_signed else b""
        return self._known_key

    def _signature(self, text: bytes) -> str:
        return blake2b(text, digest_size=16, key=self._key).hexdigest()

    def make(self) -> None:
        """Create the directory, with what says what it is. Raises OSError or KeyProblemError."""
        _ = self._key  # without one nothing could be used again
        os.makedirs(self.path, exist_ok=True)
        if self._is_own and not _is_folder(self.path):
            message = f"{self.path} is a link"
            raise OSError(message)
        for name, text in _ABOUT.items():
            path = os.path.join(self.path, name)
            if not os.path.lexists(path):
                with open(path, "x", encoding="utf-8") as file:
                    file.write(text)

    def read(self, name: str) -> Any:
        """Return what was written to a file; None where there is none, or it is not ours."""
        import json

        text = self.read_bytes(name)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError, MemoryError):
            return None  # damaged: the run finds out for itself

    def read_bytes(self, name: str) -> bytes | None:
        """Return the bytes that were written to a file; None as for `read`."""
        try:
            if self._is_own and not _is_folder(self.path):
                return None
            data = read_regular(os.path.join(self.path, name), MOST_OF_RECORDS)
            checksum, _, text = data.partition(b"\n")
            return text if are_equal(checksum, self._signature(text).encode()) else None
        except (OSError, MemoryError):
            return None  # absent or unreadable

    def write(self, name: str, value: Any) -> None:
        """Put a file in its place in one step."""
        import json

        self.write_bytes(name, json.dumps(value, separators=(",", ":")).encode("ascii"))

    def write_bytes(self, name: str, text: bytes) -> None:
        """Put the bytes of a file in their place in one step."""
        # With all that it brings, a tenth of a run that only reads.
        import tempfile

        if len(text) > MOST_OF_RECORDS:
            message = f"the records of so many files take more than {MOST_OF_RECORDS >> 20} MiB"
            raise ValueError(message)
        descriptor, temporary = tempfile.mkstemp(dir=self.path, prefix=_WRITING)
        try:
            with open(descriptor, "wb") as file:
                file.write(self._signature(text).encode() + b"\n" + text)
            os.replace(temporary, os.path.join(self.path, name))
        except BaseException:
            _delete(temporary)
            raise

    def prune(self) -> None:
        """Delete the oldest records where there are too many, and what a killed run left."""
        with os.scandir(self.path) as entries:
            kept = [
                (entry.stat(follow_symlinks=False), entry.path)
                for entry in entries
                if _is_ours(entry.name) and entry.name not in _ABOUT
            ]
        kept.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
        size = 0
        for number, (status, path) in enumerate(kept):
            size += status.st_size
            is_left_over = (
                os.path.basename(path).startswith(_WRITING)
                and status.st_mtime_ns < self._started - 3600 * 10**9
            )
            if is_left_over or number >= _MOST_FILES or size > _MOST_BYTES:
                _delete(path)


def clean(folder: str) -> bool:
    """Delete a cache, and give whether there was one. What else lies in the folder stays.

    Raises OSError where it cannot be deleted.
    """
    if not os.path.isdir(folder) or os.path.islink(folder):
        return False
    with os.scandir(folder) as entries:
        ours = [entry.path for entry in entries if _is_ours(entry.name)]
    for path in ours:
        os.unlink(path)
    try:  # noqa: SIM105 - `contextlib` takes longer to import than this module
        os.rmdir(folder)
    except OSError:
        pass  # something else lies in it
    return bool(ours)


def _is_ours(name: str) -> bool:
    return name in _ABOUT or name.endswith((RUN, FILES, WRITTEN)) or name.startswith(_WRITING)


def _delete(path: str) -> None:
    try:  # noqa: SIM105
        os.unlink(path)
    except OSError:
        pass


def _is_folder(path: str) -> bool:
    """Return whether this is a folder, and no link to one."""
    return stat.S_ISDIR(os.lstat(path).st_mode)
