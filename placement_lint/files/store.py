"""The files of one run: each is read once, decoded once, and parsed once for each of its texts.

A run, or a session of the language server, makes one store and hands it to whatever needs a file.
What was read first is what the run is about, even if the file changes meanwhile; before a fix is
written, `files/write.py` compares the file on disk with it.

Memory is bounded. The bytes and texts of at most `MOST_BYTES` are kept: the file that was asked for
least recently is read again when it is next needed, and counts as unreadable if it has changed.
Trees and whatever else is `derived` are kept for at most `MOST_DERIVED` characters of text. Each
worker process has a store of its own.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict

from placement_lint.files.source import UnreadableError
from placement_lint.files.stamps import Stamp, blake2b, stamp_of
from placement_lint.regular import most_of, read_regular
from placement_lint.timing import READING, timed

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from placement_lint.files.source import Source

    T = TypeVar("T")

MOST_BYTES = 64 * 1024 * 1024
MOST_DERIVED = 250_000
"""Characters. A LibCST tree takes some 40 bytes for each, the positions of its nodes 95, and a tree
of Python's own parser 40 (LibCST 1.9.0, Python 3.11)."""

SETTLED = 2_000_000_000
"""In nanoseconds: a file changed less than this before it was read may change once more without
that showing in its times."""

_NO_STAMP: Stamp = (0, 0, 0, 0)


class _Revision:
    """A file as it was when it was first read."""

    def __init__(self, stamp: Stamp | None) -> None:
        self.stamp = stamp
        self.read_at = time.time_ns()
        self.data: bytes | None = None
        self.problem = ""
        """Why it cannot be read."""
        self.digest = ""
        self.source: Source | None = None
        self.not_python: Exception | None = None
        """Why it cannot be opened."""

    @property
    def settled(self) -> Stamp:
        """The stamp, if the file has long been what it was; else zeros."""
        if self.stamp is None or max(self.stamp[2:]) > self.read_at - SETTLED:
            return _NO_STAMP
        return self.stamp


class FileStore:
    """Reads, decodes and keeps the files of one run or session."""

    def __init__(
        self, unsaved: Mapping[str, bytes] | None = None, *, is_lasting: bool = False
    ) -> None:
        """Read nothing yet. `unsaved` has the bytes that replace those of files, by path.

        `is_lasting`: the files are checked again and again while somebody edits them. Then what is
        derived of a text is kept without a bound, until `keep_only` or a new text of that file, and
        whatever derives it for the new text gets the old one.
        """
        self._unsaved = dict(unsaved or {})
        self.is_lasting = is_lasting
        self._revisions: OrderedDict[str, _Revision] = OrderedDict()
        self._bytes = 0
        self._derived: OrderedDict[tuple[object, str], tuple[str, Any]] = OrderedDict()
        self._characters = 0
        self._shared: dict[Callable[[], Any], Any] = {}

    def __reduce__(self) -> tuple[type[FileStore], tuple[Mapping[str, bytes]]]:
        """Travel without contents: another process reads for itself."""
        return FileStore, (self._unsaved,)

    # -- reading --------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises UnreadableError."""
        return self._bytes_of(path, self._revision(path))

    def source(self, path: str) -> Source:
        """Return the text of a file. Raises UnreadableError, or NotPythonError for a notebook."""
        revision = self._revision(path)
        if revision.not_python is not None:
            raise revision.not_python.with_traceback(None)
        if revision.source is None:
            data = self._bytes_of(path, revision)
            from placement_lint.files.notebook import NotPythonError
            from placement_lint.files.opening import open_source

            try:
                revision.source = open_source(path, data)
            except (UnreadableError, NotPythonError) as error:
                revision.not_python = error
                raise
        return revision.source

    def source_if_readable(self, path: str) -> Source | None:
        """Return the text of a file; None if it cannot be read: its own findings say so."""
        from placement_lint.files.notebook import NotPythonError

        try:
            return self.source(path)
        except (UnreadableError, NotPythonError):
            return None

    def text(self, path: str) -> str:
        """Return the text of a module or a notebook; the empty one if it cannot be read."""
        source = self.source_if_readable(path)
        return "" if source is None else source.text

    def digest(self, path: str) -> str:
        """Return what stands for the bytes of a file. Raises UnreadableError."""
        revision = self._revision(path)
        data = self._bytes_of(path, revision)
        revision.digest = revision.digest or digest(data)
        return revision.digest

    def stamp(self, path: str) -> Stamp:
        """Return the stamp of a file just before it was read, if it is sure to show a change."""
        return self._revision(path).settled

    def stamp_now(self, path: str) -> Stamp | None:
        """Return the stamp that a file has now; None for one that is not there, or is unsaved."""
        if path in self._unsaved:
            return None
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return stamp_of(status)

    def stamps_now(self, paths: Sequence[str]) -> Sequence[Stamp | None]:
        """Return the stamps that several files have now."""
        if self._unsaved.keys().isdisjoint(paths):
            try:
                return [*map(stamp_of, map(os.stat, paths))]
            except (OSError, ValueError):  # one of them is not there
                pass
        return [*map(self.stamp_now, paths)]

    def _revision(self, path: str) -> _Revision:
        revision = self._revisions.get(path)
        if revision is None:
            revision = _Revision(self.stamp_now(path))
            try:
                revision.data = self._read(path)
            except UnreadableError as error:
                revision.problem = str(error)
            self._revisions[path] = revision
            self._make_room(revision)
        else:
            self._revisions.move_to_end(path)
        return revision

    def _bytes_of(self, path: str, revision: _Revision) -> bytes:
        if revision.problem:
            raise UnreadableError(revision.problem)
        if revision.data is None:
            data = self._read(path)
            if digest(data) != revision.digest:
                raise UnreadableError("changed during the run")
            revision.data = data
            self._make_room(revision)
            return data
        return revision.data

    def _read(self, path: str) -> bytes:
        if path in self._unsaved:
            return self._unsaved[path]
        return read_bytes(path)

    def _make_room(self, newest: _Revision) -> None:
        self._bytes += len(newest.data or b"")
        if self._bytes <= MOST_BYTES:
            return
        for path, revision in self._revisions.items():
            if revision.data is not None and revision is not newest and path not in self._unsaved:
                revision.digest = revision.digest or digest(revision.data)
                self._bytes -= len(revision.data)
                revision.data = revision.source = None
                if self._bytes <= MOST_BYTES // 2:
                    return

    # -- what is derived ------------------------------------------------------------------------

    def shared(self, make: Callable[[], T]) -> T:
        """Return what a function makes for the whole run, made once."""
        if make not in self._shared:
            self._shared[make] = make()
        found: T = self._shared[make]
        return found

    def derived(
        self,
        make: Callable[[Source, T | None], T],
        source: Source,
        *,
        name: Callable[..., T] | None = None,
    ) -> T:
        """Return what a function makes of the text of a source, made once for each text.

        In a lasting store the function also gets what it made of the file's text before. `name`
        stands for the function where that is not the same object each time.
        """
        key = (name or make, source.path)
        known = self._derived.get(key)
        if known is not None and known[0] == source.text:
            self._derived.move_to_end(key)
            found: T = known[1]
            return found
        made = make(source, known[1] if known is not None and self.is_lasting else None)
        self._characters += len(source.text) - (0 if known is None else len(known[0]))
        self._derived[key] = (source.text, made)
        self._derived.move_to_end(key)
        while self._characters > MOST_DERIVED and not self.is_lasting and len(self._derived) > 1:
            self._characters -= len(self._derived.popitem(last=False)[1][0])
        return made

    def free(self) -> None:
        """Free what was derived: memory is short."""
        self._derived.clear()
        self._characters = 0

    def keep_only(self, paths: Iterable[str]) -> None:
        """Free what was derived of other files."""
        wanted = {*paths}
        for key in [key for key in self._derived if key[1] not in wanted]:
            self._characters -= len(self._derived.pop(key)[0])

    # -- new revisions --------------------------------------------------------------------------

    def begin(self, unsaved: Mapping[str, bytes] | None = None) -> None:
        """Begin a new run of a session: files are read again that may have changed."""
        before, self._unsaved = self._unsaved, dict(unsaved or {})
        self._shared.clear()
        for path in [*self._revisions]:
            is_same = self._revisions[path].settled == self.stamp_now(path)
            if before.get(path) != self._unsaved.get(path) or not (path in before or is_same):
                self._drop(path)

    def replace(self, texts: Mapping[str, bytes]) -> None:
        """Take other bytes for some files, whatever the disk has: what fixes make of them."""
        self._unsaved |= texts
        for path in texts.keys() & self._revisions.keys():
            self._drop(path)

    def renew(self) -> None:
        """Read again what is not as it was when it was read: the run has written files."""
        for path in [*self._revisions]:
            stamp = self._revisions[path].stamp
            if stamp is not None and stamp != self.stamp_now(path):
                self._drop(path)

    def _drop(self, path: str) -> None:
        self._bytes -= len(self._revisions.pop(path).data or b"")


def read_bytes(path: str) -> bytes:
    """Read a file from disk: a regular one, of bounded size.

    Raises UnreadableError, with the system's own words, or those of `read_regular`.
    """
    try:
        with timed(READING):
            return read_regular(path, most_of(path))
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error
    except MemoryError as error:
        raise UnreadableError("not enough memory") from error


def digest(data: bytes) -> str:
    """Return what stands for some bytes."""
    return blake2b(data, digest_size=16).hexdigest()
