"""Checking files: the one entry, for the command line, the language server, flake8 and Python.

Importing this module imports neither LibCST nor the rules: a run in which nothing has changed needs
neither.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from placement_lint.files.folders import one_in_each
from placement_lint.files.store import FileStore
from placement_lint.lint.incremental.file_state import SettingsDigests, packages_around
from placement_lint.lint.progress import no_progress
from placement_lint.lint.results import FixMode, empty_outcome
from placement_lint.timing import CACHE, FILTER, IMPORTING, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Limits
    from placement_lint.lint.file_queries import FileQueries
    from placement_lint.lint.incremental.revision import PreviousRun
    from placement_lint.lint.incremental.run_cache import RunCache
    from placement_lint.lint.lookup import NameLookup
    from placement_lint.lint.progress import OnProgress
    from placement_lint.lint.results import Outcome
    from placement_lint.lint.tasks import Change, Request
    from placement_lint.syntax.edits import Editor


class Linter:
    """Checks files, each by its own settings, as far as they are known as one program.

    `settings_for` returns the settings of a file, by its path; those of the files in one directory
    are the same but for `per_file_ignores`. `folders`: the files are all those of the directories
    that were asked for. `fix` says what happens to fixes, and `reveal` whether `# reveal:` comments
    are answered. `respect_noqa`: whether `# noqa` silences, or the host sees to that.
    `offers_fixes` False: findings come without fixes, for which `with_fixes` is asked.

    `jobs` processes check files where that is worth it, within `limits` (by default, its share of
    the memory). `cache` keeps results from one run to the next; `here` are the settings of the
    current directory, on which they depend as well. `store` reads the files. `on_progress` is
    called all along with the counts of the run, and `prepare` before the rules are imported.

    Where settings cannot be used, each method raises SettingsError or UnknownSelectorError.
    """

    def __init__(
        self,
        settings_for: Callable[[str], Settings],
        *,
        folders: bool = False,
        fix: FixMode = FixMode.NONE,
        reveal: bool = False,
        respect_noqa: bool = True,
        offers_fixes: bool = True,
        jobs: int = 1,
        limits: Limits | None = None,
        cache: RunCache | None = None,
        here: Settings | None = None,
        store: FileStore | None = None,
        on_progress: OnProgress = no_progress,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings_for = settings_for
        self.limits = limits
        self.files: Sequence[str] = ()
        """What `check` checks, and what the other methods know of beside the file they get."""
        self.store = store or FileStore()
        self._folders = folders
        self._fix = fix
        self._reveal = reveal
        self._respect_noqa = respect_noqa
        self._offers_fixes = offers_fixes
        self._jobs = jobs
        self._cache = cache
        self._here = here
        self._on_progress = on_progress
        self._prepare = prepare
        self._by_file: FileQueries | None = None
        self._requests: dict[object, tuple[Settings, Request]] = {}

    def begin(self, unsaved: Mapping[str, bytes] | None = None) -> None:
        """Take files as they are from now on, and some as they are in an editor."""
        self.store.begin(unsaved)

    def check(self, files: Iterable[str] | None = None) -> Outcome:
        """Check files: those given, or those set before."""
        started = time.perf_counter()
        if files is not None:
            self.files = files = sorted(dict.fromkeys(files))
        cache = self._cache
        if cache is None:
            candidates = self._candidates()
            if candidates == frozenset():
                return empty_outcome(len(self.files), time.perf_counter() - started)
            self._prepare()
            return self._checked(None, candidates)
        digests = SettingsDigests(self.settings_for, self.store)
        here = None if self._here is None else digests.of_settings(self._here, "", None)
        surroundings = [self._folders, here, packages_around(self.files)]
        with timed(CACHE):
            outcome = cache.recall(self.files, surroundings, digests, self.store, started)
        if outcome is not None:
            return outcome
        candidates = self._candidates()
        if candidates == frozenset():
            return empty_outcome(len(self.files), time.perf_counter() - started)
        self._prepare()
        with timed(CACHE):
            previous = cache.previous(surroundings, digests, self.store)
        outcome = self._checked(previous, candidates)
        with timed(CACHE):
            cache.keep(surroundings, previous, outcome)
        return outcome

    def check_text(self, path: str, data: bytes) -> tuple[Outcome, bytes | None]:
        """Check bytes as those of a file, and nothing beside it.

        Returns with the outcome the bytes as they are after fixing; None without fixing.
        """
        with timed(IMPORTING):
            from placement_lint.limits.budget import limits_of
            from placement_lint.lint.run import check_text

        settings = self.settings_for(path)
        limits = self.limits or limits_of(settings.time_limit, settings.memory_limit)
        self.store.replace({path: data})
        return check_text(path, self._request(path), self._fix, limits, self.store)

    def select(self) -> None:
        """Find out, for `check_file`, in which of the files anything can be found."""
        self._by_file = self._queries()
        self._by_file.select()

    def check_file(self, path: str) -> tuple[Finding, ...]:
        """Return what is found in one of the files, worked out when it is asked for."""
        if self._by_file is None:
            self.select()
        return () if self._by_file is None else self._by_file.findings(path)

    def lookup(self, path: str) -> NameLookup | None:
        """Return what is known of the names in one of the files.

        None where it cannot be read or parsed, or takes too long.
        """
        return self._queries().lookup(path)

    def with_fixes(self, findings: Iterable[Finding], path: str) -> list[Finding]:
        """Return findings of one file with the fixes that there are for them.

        Those that take too much are left as they are.
        """
        return self._queries().with_fixes(findings, path)

    def fixes(self, paths: Iterable[str]) -> list[Change]:
        """Return what all safe fixes make of files, and of those that they edit together with them.

        The files have to do with one another: they are a file, and what its own fixes edit. Those
        that take too much are left as they are.
        """
        return self._queries().fixes(paths)

    def editor(self, path: str) -> Editor | None:
        """Return where the nodes of a file stand; None where it cannot be parsed."""
        return self._queries(()).editor(path)

    def _checked(self, previous: PreviousRun | None, candidates: frozenset[str] | None) -> Outcome:
        with timed(IMPORTING):
            from placement_lint.lint.run import check_files

        if self._fix is not FixMode.NONE:
            # What a fix writes may be what another rule looks for.
            candidates = None
        return check_files(
            self.files,
            functools.partial(self._request, candidates=candidates),
            jobs=self._jobs,
            fix=self._fix,
            previous=previous,
            on_progress=self._on_progress,
            limits=self.limits,
            store=self.store,
        )

    def _candidates(self) -> frozenset[str] | None:
        """Return the modules of the rules that may find something; None: that is not known.

        No rule is imported for it.
        """
        if self.store.is_lasting or self._reveal:
            return None
        settings = map(self.settings_for, one_in_each(self.files).values())
        if any(each.names_rules or each.models for each in settings):
            return None
        with timed(FILTER):
            from placement_lint.prefilter.quick_look import candidates

            return candidates(self.files, self.store)

    def _request(self, path: str, candidates: frozenset[str] | None = None) -> Request:
        from placement_lint.lint.file_results import Sight
        from placement_lint.lint.run import request_for

        settings = self.settings_for(path)
        seconds = 0 if self._cache is None else self._cache.most_seconds(path)
        key = id(settings), seconds, candidates
        known = self._requests.get(key)
        if known is not None and known[0] is settings:
            return known[1]
        request = request_for(
            settings,
            path,
            reveal=self._reveal,
            respect_noqa=self._respect_noqa,
            sight=Sight.WHOLE if self._folders else Sight.IMPORTS,
            most_seconds=seconds,
            offers_fixes=self._offers_fixes,
            candidates=candidates,
        )
        if not (settings.per_file_ignores or settings.extend_per_file_ignores):
            self._requests[key] = settings, request
        return request

    def _queries(self, files: Sequence[str] | None = None) -> FileQueries:
        from placement_lint.lint.file_queries import FileQueries

        digests = SettingsDigests(self.settings_for, self.store)
        previous = None
        if self._cache is not None:
            previous = self._cache.previous(None, digests, self.store)
        requests = {path: self._request(path) for path in (self.files if files is None else files)}
        return FileQueries(requests, self.store, previous, self.limits)
