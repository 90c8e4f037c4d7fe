"""Files that are looked at again and again while somebody edits them.

The same is found as by a run of its own each time; what cannot have changed is remembered from the
last time, in memory. Each question comes with the texts that replace files on disk: those of the
documents that are open.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.files.store import FileStore
from placement_lint.limits.budget import Budget, LimitError, limits_of, spending, using
from placement_lint.lint import check_file
from placement_lint.lint.check_file import Analysis
from placement_lint.lint.check_program import group
from placement_lint.lint.file_results import FileResult, Sight
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.lint.incremental.cached_run import Digests, packages_around
from placement_lint.lint.incremental.records import Memory
from placement_lint.lint.incremental.revision import Recollection
from placement_lint.lint.parsing import parse_what_can_be
from placement_lint.lint.results import FixMode
from placement_lint.lint.run import lint_paths, request_for
from placement_lint.lint.schedule import examine, examine_neighbours
from placement_lint.lint.select_files import Sifted
from placement_lint.semantic.model import UnfollowedError
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.files.source import Source
    from placement_lint.lint.check_program import Neighbours
    from placement_lint.lint.file_results import FileOptions
    from placement_lint.lint.incremental.cache import Seen
    from placement_lint.lint.incremental.revision import Exhausted
    from placement_lint.lint.lookup import Known
    from placement_lint.lint.results import Outcome
    from placement_lint.lint.tasks import Change, Examined, Request
    from placement_lint.project.project import Project
    from placement_lint.syntax.edits import Editor


MOST_SECONDS = 10
"""What a file may take of processor time while somebody waits for an answer."""
SECONDS_AGAIN = 1
"""What a file may take that ran out of its time when it was looked at last, and was changed."""


class Session:
    """The files of one program, and what is remembered of the last look at them."""

    def __init__(self, settings_for: Callable[[str], Settings], *, folders: bool) -> None:
        """Begin with no files. `folders` says that they are always all that there are.

        Both the files and what gives their settings may be set anew between two looks.
        """
        self.files: Sequence[str] = ()
        self.settings_for = settings_for
        self._sight = Sight.WHOLE if folders else Sight.IMPORTS
        self._memory = Memory()
        self._seen: dict[str, Seen] = {}
        self._around = ""
        self._store = FileStore(is_lasting=True)
        self._exhausted: dict[str, Exhausted] = {}
        self.limits = limits_of()

    def lint(self, unsaved: Mapping[str, bytes] | None = None) -> Outcome:
        """Check the files as they are now. Raises SettingsError or UnknownSelectorError."""
        self._store.begin(unsaved)
        around = packages_around(self.files)
        if around != self._around:
            # What an import means may be something else: nothing that was found out holds.
            self._memory, self._seen, self._around = Memory(), {}, around
        recollection = self._recollection()
        outcome = lint_paths(
            self.files,
            self.settings_for,
            reveal=True,
            folders=self._sight is Sight.WHOLE,
            recollection=recollection,
            limits=self.limits,
            most_seconds=self._most_seconds,
            store=self._store,
        )
        self._store.keep_only(self.files)
        self._memory, self._seen = recollection.now, recollection.files
        self._exhausted = {
            path: known
            for path, known in recollection.exhausted.items()
            if recollection.known_exhausted(path) is not None
        }
        return outcome

    def _most_seconds(self, path: str) -> int:
        return SECONDS_AGAIN if path in self._exhausted else MOST_SECONDS

    def mended(
        self, paths: Iterable[str], unsaved: Mapping[str, bytes] | None = None
    ) -> list[Change]:
        """Give what all safe fixes make of files, and of those that they edit together with them.

        The files have to do with one another: they are a file, and what its own fixes edit. Those
        that take too much are left as they are.
        """
        self._store.begin(unsaved)
        with using(Budget(self.limits)):
            return run_deep(self._mended, paths)

    def _mended(self, paths: Iterable[str]) -> list[Change]:
        try:
            return self._changes(paths)
        except LimitError:
            # The next look at the file says so.
            return []

    def _changes(self, paths: Iterable[str]) -> list[Change]:
        sifted, project = self._sifted()
        paths = [path for path in paths if path in sifted.requests]
        sifted.requests = {
            each: replace(request, unsafe_fixes=False) for each, request in sifted.requests.items()
        }
        found: dict[str, Examined] = {}
        for path in paths:
            neighbours = None if path in found else _around(path, sifted, project)
            if neighbours is not None:
                found |= examine_neighbours(neighbours, sifted, project, FixMode.DIFF)
            if path not in found:
                found[path] = examine(path, sifted.requests[path], FixMode.DIFF, project)
        changes = {path: one.change for path, one in found.items() if one.change is not None}
        wanted = {path for path in paths if path in changes}
        linked = frozenset(wanted).union(*(changes[path].linked for path in wanted))
        return [changes[path] for path in sorted(linked & changes.keys())]

    def known(self, path: str, unsaved: Mapping[str, bytes] | None = None) -> Known | None:
        """Give what is known of the names in a file; None where it cannot be read or parsed.

        Nor is anything known of one that takes too long.
        """
        self._store.begin(unsaved)
        with using(Budget(self.limits)):
            return run_deep(self._known_or_none, path)

    def _known_or_none(self, path: str) -> Known | None:
        try:
            with spending(path):
                return self._known(path)
        except (LimitError, UnfollowedError):
            # The findings of the file say so.
            return None

    @collection_paused()
    def _known(self, path: str) -> Known | None:
        from placement_lint.lint.lookup import Known

        sifted, project = self._sifted()
        if path not in sifted.requests or path in sifted.left_out:
            return None
        analysis = None
        neighbours = _around(path, sifted, project)
        if neighbours is not None:
            options_for = functools.partial(_options, sifted.requests)
            together = group(neighbours, options_for, project, frozenset(sifted.left_out))
            analysis = together.analysed().get(path)
        if analysis is None:
            analysis = _alone(path, sifted.requests[path].options, project)
        return None if analysis is None else Known(analysis.facts.flow, analysis.editor)

    def _sifted(self) -> tuple[Sifted, Project]:
        """Sort the files, by what is remembered of them; what is found in them is left open."""
        sifted = Sifted(self._store, self._recollection())
        for path in self.files:
            sifted.take(path, self._request(path))
        project = sifted.project
        sifted.pin(project)
        sifted.recollection = None
        return sifted, project

    def _request(self, path: str) -> Request:
        return request_for(
            self.settings_for(path),
            path,
            reveal=True,
            sight=self._sight,
            most_seconds=self._most_seconds(path),
        )

    def _recollection(self) -> Recollection:
        recollection = Recollection(
            self._memory, self._seen, Digests(self.settings_for, self._store), self._store
        )
        recollection.exhausted = dict(self._exhausted)
        return recollection


def editor_of(path: str, unsaved: Mapping[str, bytes] | None = None) -> Editor | None:
    """Give where the nodes of a file stand, as it is now; None where it cannot be parsed."""
    with using(Budget(limits_of())) as budget:
        budget.allow(path, MOST_SECONDS)
        return run_deep(_editor_of, path, FileStore(unsaved))


def _editor_of(path: str, store: FileStore) -> Editor | None:
    source = store.source_if_readable(path)
    try:
        with spending(path):
            opened = None if source is None else check_file.editor_of(source, store)
    except LimitError:
        return None
    return None if isinstance(opened, FileResult) else opened


def _around(path: str, sifted: Sifted, project: Project) -> Neighbours | None:
    """Give the files that a file is interpreted together with, if there are any."""
    found = sifted.neighbourhoods(project)
    return next((neighbours for neighbours in found if path in neighbours.paths), None)


def _alone(path: str, options: FileOptions, project: Project) -> Analysis | None:
    source = project.store.source_if_readable(path)
    parsed = None if source is None else parse_what_can_be(source, project.store)
    if parsed is None or isinstance(parsed, FileResult):
        return None
    asked = project.questions(path)
    return Analysis(parsed, options, asked.name, asked, project.store)


def _options(requests: dict[str, Request], source: Source) -> FileOptions:
    return requests[source.path].options
