"""What keeps results from one run to the next: on disk (`cache.py`), or in memory (here)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from placement_lint.limits.budget import SECONDS_OF_WAITING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from placement_lint.files.store import FileStore
    from placement_lint.lint.incremental.file_state import FileState
    from placement_lint.lint.incremental.records import Records
    from placement_lint.lint.incremental.revision import ExhaustedFile, Layouts, PreviousRun
    from placement_lint.lint.results import Outcome

SECONDS_AGAIN = 1
"""What a file may take that ran out of its time when it was checked last, and was changed."""


class RunCache(Protocol):
    """Results of the last run, for this one.

    `surroundings` are what all results depend on beside files and their settings; `settings`
    returns the digest of the settings of a file.
    """

    def recall(
        self,
        files: Sequence[str],
        surroundings: Any,
        settings: Callable[[str], str],
        store: FileStore,
        started: float,
    ) -> Outcome | None:
        """Return the outcome of the last run if nothing has changed since."""
        ...

    def previous(
        self, surroundings: Any, settings: Callable[[str], str], store: FileStore
    ) -> PreviousRun:
        """Return the last run, of which nothing holds in other surroundings (None: the same)."""
        ...

    def keep(self, surroundings: Any, previous: PreviousRun, outcome: Outcome) -> None:
        """Keep what a run found out, as the previous run has noted it."""
        ...

    def most_seconds(self, path: str) -> int:
        """Return the most that a file may take, whatever its settings say; 0: what they say."""
        ...


class MemoryCache:
    """The cache of an editor session. A file that took too long gets little time until it fits."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._surroundings: Any = None
        self._records: Records | None = None
        self._seen: Mapping[str, FileState] = {}
        self._beside: Mapping[str, str] = {}
        self._exhausted: dict[str, ExhaustedFile] = {}
        self._layouts: Layouts | None = None

    def recall(self, *_: object) -> None:
        """Return nothing: which files have changed is found out by reading them."""

    def previous(
        self, surroundings: Any, settings: Callable[[str], str], store: FileStore
    ) -> PreviousRun:
        """See `RunCache`."""
        from placement_lint.lint.incremental.revision import Layouts, PreviousRun

        if surroundings is not None and surroundings != self._surroundings:
            self._records, self._seen, self._surroundings = None, {}, surroundings
        previous = PreviousRun(self._records, self._seen, settings, store, self._beside)
        previous.exhausted = dict(self._exhausted)
        previous.layouts = self._layouts = self._layouts or Layouts()
        return previous

    def keep(self, surroundings: Any, previous: PreviousRun, outcome: Outcome) -> None:
        """See `RunCache`."""
        del surroundings, outcome
        self._records, self._seen = previous.now, previous.files
        self._beside = previous.beside
        if self._layouts is not None:
            executed = {
                path for group in previous.now.groups.values() for path in group.reads.codes
            }
            for path in self._layouts.alone.keys() - previous.now.checked.keys():
                del self._layouts.alone[path]
            for path in self._layouts.together.keys() - executed:
                del self._layouts.together[path]
        self._exhausted = {
            path: known
            for path, known in previous.exhausted.items()
            if previous.known_exhausted(path) is not None
        }

    def most_seconds(self, path: str) -> int:
        """See `RunCache`."""
        return SECONDS_AGAIN if path in self._exhausted else SECONDS_OF_WAITING
