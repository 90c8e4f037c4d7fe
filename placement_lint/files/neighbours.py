"""What the files beside a file import, by the words of their import statements."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from placement_lint.files import store
from placement_lint.files.source import UnreadableError
from placement_lint.files.stamps import stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.files.store import FileStore

_STATEMENT = re.compile(rb"^[ \t]*(?:from|import)[ \t][^#\n]*", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_SUFFIX = ".py"


class Neighbours:
    """What lies beside files, in the same folder and in the one above. A run has one, in its store.

    Each folder is listed once.
    """

    def __init__(self) -> None:
        """List nothing yet."""
        self._importing: dict[str, dict[bytes, list[str]]] = {}
        self._stamps: dict[str, str] = {}

    def may_import(self, path: str, files: FileStore) -> bool:
        """Return whether a file beside another one may import that."""
        file = os.path.abspath(path)
        word = os.fsencode(os.path.splitext(os.path.basename(file))[0])
        return any(
            other != file
            for folder in _folders_of(path)
            for other in self._by_word(folder, files).get(word, ())
        )

    def stamp(self, path: str) -> str:
        """Return what is another one where `may_import` may give another answer.

        Empty where one of the files was changed a moment before: then it may change unseen.
        """
        stamps = [self._stamp(folder) for folder in _folders_of(path)]
        return " ".join(stamps) if all(stamps) else ""

    def _by_word(self, folder: str, files: FileStore) -> dict[bytes, list[str]]:
        """Return, for each word of an import in a folder, two files that have it, or the one."""
        if folder not in self._importing:
            found: dict[bytes, list[str]] = {}
            paths = [path for path, _ in _python_files(folder)]
            for word, path in ((word, each) for each in paths for word in _imported(each, files)):
                importing = found.setdefault(word, [])
                # One of them may be the file that asks.
                if len(importing) < 2:
                    importing.append(path)
            self._importing[folder] = found
        return self._importing[folder]

    def _stamp(self, folder: str) -> str:
        if folder not in self._stamps:
            rows = [*_python_files(folder)]
            newest = max((time_ns for _, stamp in rows for time_ns in stamp[2:]), default=0)
            is_settled = newest <= time.time_ns() - store.SETTLED
            data = repr(rows).encode("utf-8", "surrogatepass")
            self._stamps[folder] = store.digest(data) if is_settled else ""
        return self._stamps[folder]


def _folders_of(path: str) -> tuple[str, str]:
    folder = os.path.dirname(os.path.abspath(path))
    return folder, os.path.dirname(folder)


def _python_files(folder: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the files of a folder that may be modules, in order, with their stamps."""
    try:
        with os.scandir(folder) as listing:
            entries = [entry for entry in listing if entry.name.endswith(_SUFFIX)]
    except OSError:
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        try:
            yield os.path.join(folder, entry.name), stamp_of(entry.stat())
        except OSError:
            continue  # a link to nothing: what nobody can read, nobody can run


def _imported(path: str, files: FileStore) -> frozenset[bytes]:
    """Return the words of the import statements of a file."""
    try:
        data = files.read(path)
    except UnreadableError:
        return frozenset()
    return frozenset(_WORD.findall(b"\n".join(_STATEMENT.findall(data))))
