"""Where runs leave what they found out for the next one: `.placement_lint_cache`.

For each way in which the tool is called there are two files of JSON. The first says what the files
of the run looked like and what came of it all: where nothing has changed, that is the answer, and
neither LibCST nor the rules are imported. The second is read where something has changed. Nothing
in either is executed. What is damaged, or of another version of anything, is as good as absent.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from placement_lint.files.folders import OWN, one_in_each
from placement_lint.files.source import UnreadableError
from placement_lint.files.stamps import blake2b
from placement_lint.files.store import digest
from placement_lint.findings import INTERNAL_ERROR, IO_ERROR, Finding
from placement_lint.isolation import isolating
from placement_lint.lint.incremental.cache_folder import FILES, RUN, CacheFolder
from placement_lint.lint.incremental.cache_key import KeyProblemError
from placement_lint.lint.incremental.codec import Codec
from placement_lint.lint.incremental.file_state import FileState
from placement_lint.lint.incremental.tool_identity import tool_identity
from placement_lint.lint.results import Outcome, Skipped, Suppressed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from placement_lint.files.stamps import Stamp
    from placement_lint.files.store import FileStore
    from placement_lint.lint.incremental.records import Records
    from placement_lint.lint.incremental.revision import PreviousRun

_FORMAT = 12
_ABSENT_IF_DAMAGED = isolating(lambda _: None)
"""A block that reads a cache: one that is damaged, or deleted meanwhile, is as good as absent."""
_DEPENDING_ON_CHANCE = frozenset({IO_ERROR, INTERNAL_ERROR})
"""Findings of what could not be read, and of our own failures: the next run tries again."""


@dataclass(frozen=True)
class LastRun:
    """What the last run left."""

    paths: Sequence[str]
    stamps: Sequence[Stamp]
    contents: Sequence[str]
    """Digests of the bytes of the files, each at the place of its path."""
    settings: Mapping[str, str]
    """Digests of settings: for one file of each folder."""
    surroundings: Any
    outcome: Any
    """Findings and what was passed over, as JSON has them; None where they may change by chance."""
    second: str
    """The name of what belongs to it in the second file."""
    beside: Mapping[str, str]
    """See `PreviousRun.beside`."""

    @cached_property
    def files(self) -> dict[str, FileState]:
        """The files as that run has seen them."""
        of_folder = {os.path.dirname(path): settings for path, settings in self.settings.items()}
        return {
            path: FileState(stamp, content, of_folder[os.path.dirname(path)])
            for path, stamp, content in zip(self.paths, self.stamps, self.contents, strict=True)
        }


@dataclass(frozen=True)
class _KeptOutcome:
    """What is kept of an outcome."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    suppressed: tuple[Suppressed, ...]


def _kept_codec() -> Codec:
    classes = (Finding, Skipped, Suppressed)
    return Codec(_KeptOutcome, {each.__name__: each for each in classes})


@dataclass
class Cache:
    """What is kept for one way of calling the tool."""

    folder: CacheFolder
    name: str
    problem: str = ""
    """Why what was found out could not be kept."""
    is_unexpected: bool = False
    """Whether that is for another reason than that the folder cannot be used."""
    is_kept: bool = False
    """Whether the outcome of the run is what the next one takes if no file of it changes."""
    _last: LastRun | None = None

    def last(self) -> LastRun | None:
        """Read what the last run left; None where there is nothing of use."""
        with _ABSENT_IF_DAMAGED:
            value = self.folder.read(self.name + RUN)
            if value is None or value["identity"] != self._identity():
                return None
            stamps: list[Stamp] = [*zip(*value.pop("stamps"), strict=True)]
            del value["identity"]
            last = LastRun(stamps=stamps, **value)
            is_whole = len(last.paths) == len(stamps) == len(last.contents)
            are_tables = isinstance(last.settings, dict) and isinstance(last.beside, dict)
            return last if is_whole and are_tables else None
        return None

    def recall(
        self,
        files: Sequence[str],
        surroundings: Any,
        settings: Callable[[str], str],
        store: FileStore,
        started: float,
    ) -> Outcome | None:
        """See `RunCache`."""
        last = self._last = self.last()
        if last is None or last.outcome is None or last.surroundings != surroundings:
            return None
        if last.beside and not _lies_as_before(last.beside, store):
            return None
        renewed = _renewed(last, files, settings, store)
        if renewed is None:
            return None
        kept: _KeptOutcome | None = None
        with _ABSENT_IF_DAMAGED:
            kept = _kept_codec().decode(last.outcome)
        if kept is None:
            return None
        outcome = Outcome(
            findings=kept.findings,
            skipped=kept.skipped,
            files=len(files),
            parsed=0,
            cached=len(files),
            seconds=time.perf_counter() - started,
            fixed=(),
            sources=store.source_if_readable,
            suppressed=kept.suppressed,
        )
        self.is_kept = not last.beside
        if renewed:
            with self._noting_problems():
                seen = {**last.files, **renewed}
                self._keep_first(
                    seen, last.surroundings, last.outcome, last.second, beside=last.beside
                )
        return outcome

    def previous(
        self, surroundings: Any, settings: Callable[[str], str], store: FileStore
    ) -> PreviousRun:
        """Return what the last run knew of each file."""
        from placement_lint.lint.incremental.revision import PreviousRun

        last = self._last
        if last is None or last.surroundings != surroundings:
            return PreviousRun(None, {}, settings, store)
        with _ABSENT_IF_DAMAGED:
            return PreviousRun(self._records(last), last.files, settings, store, last.beside)
        return PreviousRun(None, {}, settings, store)

    def _records(self, last: LastRun) -> Records:
        """Read what belongs to a run in the second file. Raises an error where that is damaged."""
        from placement_lint.lint.incremental.records import records_codec

        second, value = self.folder.read(self.name + FILES)
        if second != last.second:
            raise ValueError(second)
        records: Records = records_codec().decode(value)
        return records

    def keep(self, surroundings: Any, previous: PreviousRun, outcome: Outcome) -> None:
        """Write what a run found out; what cannot be written is not kept."""
        from placement_lint.lint.incremental.records import records_codec

        is_certain = (
            previous.is_certain
            and len(previous.files) == outcome.files
            and not any(finding.code in _DEPENDING_ON_CHANCE for finding in outcome.findings)
        )
        second = blake2b(os.urandom(16), digest_size=8).hexdigest()
        with self._noting_problems():
            self.folder.make()
            self.folder.write(self.name + FILES, [second, records_codec().encode(previous.now)])
            parts = _KeptOutcome(outcome.findings, outcome.skipped, outcome.suppressed)
            kept = _kept_codec().encode(parts) if is_certain else None
            beside = previous.beside
            self._keep_first(previous.files, surroundings, kept, second, beside=beside)
            self.is_kept = is_certain and not beside
            self.folder.prune()

    def most_seconds(self, _: str) -> int:
        """Return 0: a file may take what its settings say."""
        return 0

    def _noting_problems(self) -> isolating:
        """Return a block that writes: what was found is reported all the same."""

        def note(error: Exception) -> None:
            self.problem = str(error) or type(error).__name__
            self.is_unexpected = not isinstance(error, OSError | KeyProblemError)

        return isolating(note)

    def _keep_first(
        self,
        files: Mapping[str, FileState],
        surroundings: Any,
        outcome: Any,
        second: str,
        *,
        beside: Mapping[str, str],
    ) -> None:
        paths = [*files]
        first = {
            "identity": self._identity(),
            "paths": paths,
            "stamps": [*zip(*(seen.stamp for seen in files.values()), strict=True)],
            "contents": [seen.content for seen in files.values()],
            "settings": {path: files[path].settings for path in one_in_each(paths).values()},
            "surroundings": surroundings,
            "outcome": outcome,
            "second": second,
            "beside": beside,
        }
        self.folder.write(self.name + RUN, first)

    def _identity(self) -> list[Any]:
        """Return all that has to be the same for a record to be of use."""
        return [_FORMAT, *tool_identity()]


def cache_for(root: str, call: Sequence[str], folder: str | None = None) -> Cache:
    """Return the cache of a way of calling the tool: from where, and for which paths.

    `root` is the folder of the project; `folder` is where the cache is to be, if anywhere else.
    """
    name = digest(json.dumps([os.path.realpath("."), *call]).encode())[:20]
    return Cache(CacheFolder(folder or os.path.join(root, OWN), is_own=folder is None), name)


def _lies_as_before(beside: Mapping[str, str], store: FileStore) -> bool:
    """Return whether beside each of some files all is what it was."""
    from placement_lint.files.neighbours import Neighbours

    neighbours = store.shared(Neighbours)
    return all(stamp and stamp == neighbours.stamp(path) for path, stamp in beside.items())


def _renewed(
    last: LastRun, files: Sequence[str], settings: Callable[[str], str], store: FileStore
) -> dict[str, FileState] | None:
    """Return the files that had to be read to know that they are the same; None: one is not."""
    if last.paths != [*files]:
        return None
    if any(settings(path) != before for path, before in last.settings.items()):
        return None
    renewed: dict[str, FileState] = {}
    for number, stamp in enumerate(store.stamps_now(files)):
        if stamp != last.stamps[number]:
            path = files[number]
            try:
                content = store.digest(path)
            except UnreadableError:
                return None
            if content != last.contents[number]:
                return None
            renewed[path] = FileState(store.stamp(path), content, settings(path))
    return renewed
