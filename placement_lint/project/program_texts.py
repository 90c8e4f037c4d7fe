"""What is asked of the texts of files when it is found out which of them are executed together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.files.store import digest
from placement_lint.project.passing_names import PassingNames

if TYPE_CHECKING:
    from collections.abc import Collection

    from placement_lint.files.store import FileStore
    from placement_lint.project.dependencies import ProgramReads
    from placement_lint.project.project import Project

_PLACING = re.compile(r"device_put|to_device|default_device|\bdevice\s*=")
"""What a file has that does something with a device which it has from elsewhere."""
_ANY_NAME = re.compile(r"\b(?:getattr|vars|globals|__dict__|eval|exec)\b")
"""What a file has that reads names which its text does not have."""


class ProgramTexts:
    """What is asked of the texts of files that may not be executed, with the answers."""

    def __init__(self, store: FileStore, reads: ProgramReads) -> None:
        """Take what reads the files, and where the answers are noted."""
        self._store = store
        self._reads = reads
        self._marks: dict[frozenset[str], str] = {}

    def says_one(self, path: str, names: Collection[str]) -> bool:
        """Return whether a file has one of some names, or reads names that it need not have."""
        key = frozenset(names)
        if key not in self._marks:
            every = sorted(key)
            self._marks[key] = mark = digest(repr(every).encode("utf-8", "surrogatepass"))
            self._reads.names[mark] = every
        asked = (path, self._marks[key])
        if asked not in self._reads.said:
            self._reads.said[asked] = _says_one(self._store.text(path), key)
        return self._reads.said[asked]

    def is_placing(self, path: str) -> bool:
        """Return whether a file does something with a device which it has from elsewhere."""
        if path not in self._reads.placing:
            self._reads.placing[path] = bool(_PLACING.search(self._store.text(path)))
        return self._reads.placing[path]


def _says_one(text: str, names: Collection[str]) -> bool:
    return any(name in text for name in names) or _ANY_NAME.search(text) is not None


def still_reads(reads: ProgramReads, changed: Collection[str], project: Project) -> bool:
    """Return whether files that were not executed would still be read in the same way.

    `changed` are the files of the run that have changed.
    """
    store = project.store
    texts = ((path, reads.names[mark], known) for (path, mark), known in reads.said.items())
    passing, followed = PassingNames(store, {}), frozenset(reads.passing)
    return (
        all(
            _says_one(store.text(path), names) is known
            for path, names, known in texts
            if path in changed
        )
        and all(
            bool(_PLACING.search(store.text(path))) is known
            for path, known in reads.placing.items()
            if path in changed
        )
        and all(
            passing.does_with(path, followed) == known
            for path, known in reads.passed.items()
            if path in changed
        )
        and all(project.module_of(*asked) == known for asked, known in reads.found.items())
    )
