"""Questions about single files of a program: what is found there, what is known, what fixes do."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.isolation import isolating
from placement_lint.limits.budget import (
    SECONDS_OF_WAITING,
    Budget,
    LimitError,
    RunOverError,
    limits_of,
    spending,
    using,
)
from placement_lint.lint import check_file
from placement_lint.lint.check_file import Analysis
from placement_lint.lint.check_program import group
from placement_lint.lint.file_results import FileResult, unfinished
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.lint.parsing import parse_what_can_be
from placement_lint.lint.results import FixMode
from placement_lint.lint.schedule import FileChecker, check_alone, check_component, incomplete
from placement_lint.lint.select_files import Selection
from placement_lint.lint.tasks import failure
from placement_lint.semantic.model import UnfollowedError
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.files.store import FileStore
    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Limits
    from placement_lint.lint.check_program import Component
    from placement_lint.lint.file_results import FileOptions
    from placement_lint.lint.incremental.revision import PreviousRun
    from placement_lint.lint.lookup import NameLookup
    from placement_lint.lint.tasks import Change, CheckedFile, Request, Task
    from placement_lint.project.project import Project
    from placement_lint.syntax.edits import Editor


class FileQueries:
    """The files of one program. What is asked of one is worked out when it is asked."""

    def __init__(
        self,
        requests: Mapping[str, Request],
        store: FileStore,
        previous: PreviousRun | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Take the files; `limits` is what all questions together may take."""
        self._store = store
        self._requests = requests
        self._previous = previous
        self._budget = Budget(limits_of() if limits is None else limits)
        self._selection = Selection(store, previous)

    # -- what is found ----------------------------------------------------------------------------

    def select(self) -> None:
        """Find out in which of the files anything can be found."""
        with using(self._budget), contextlib.suppress(RunOverError):
            run_deep(lambda: self._to_check)

    def findings(self, path: str) -> tuple[Finding, ...]:
        """Return what is found in a file, in the order of every report."""
        found: list[Finding] = []
        with using(self._budget), isolating(lambda error: found.append(failure(path, error))):
            try:
                found += run_deep(self._found, path)
            except RunOverError as error:
                found.append(unfinished(path, error, 0))
        found += [finding for finding in self._selection.findings if finding.path == path]
        return tuple(sorted(dict.fromkeys(found), key=lambda finding: finding.sort_key))

    def _found(self, path: str) -> list[Finding]:
        project, tasks = self._to_check
        if path in self._program:
            return [*self._program[path].findings]
        if path not in tasks:
            return []
        task = replace(tasks[path], spent=self._budget.spent(path))
        return [*FileChecker(project, FixMode.NONE).alone(task).findings]

    @cached_property
    def _to_check(self) -> tuple[Project, dict[str, Task]]:
        for path, request in self._requests.items():
            self._selection.take(path, request)
        project = self._selection.with_reexports()
        self._selection.pin(project)
        return project, {task.path: task for task in self._selection.tasks}

    @cached_property
    def _program(self) -> dict[str, CheckedFile]:
        """What is found in the files that have to be looked at together."""
        project, _ = self._to_check
        found: dict[str, CheckedFile] = {}
        for component in self._selection.components(project):
            found |= check_component(component, self._selection, project, FixMode.NONE)
        self._selection.findings += incomplete(self._selection, project, found.values())
        return found

    # -- what fixes do, and what is known ---------------------------------------------------------

    @cached_property
    def _project(self) -> Project:
        """The files, sorted by the records of the last run; what is found in them is left open."""
        for path, request in self._requests.items():
            self._selection.take(path, request)
        project = self._selection.project
        self._selection.pin(project)
        self._selection.previous = None
        return project

    def with_fixes(self, findings: Iterable[Finding], path: str) -> list[Finding]:
        """See `Linter.with_fixes`."""
        with using(self._budget):
            return run_deep(self._with_fixes, [*findings], path)

    def _with_fixes(self, findings: list[Finding], path: str) -> list[Finding]:
        project, selection = self._project, self._selection
        if path not in selection.requests:
            return findings
        self._offer_fixes()
        try:
            component = self._around(path)
            found = (
                {}
                if component is None
                else check_component(component, selection, project, FixMode.NONE)
            )
            if path not in found:
                found[path] = check_alone(path, selection.requests[path], FixMode.NONE, project)
        except LimitError:
            # The findings of the file say so.
            return findings
        fixed = {each.key: each for each in found[path].findings if each.fix is not None}
        return [fixed.get(finding.key, finding) for finding in findings]

    def fixes(self, paths: Iterable[str]) -> list[Change]:
        """See `Linter.fixes`."""
        with using(self._budget):
            return run_deep(self._fixes, paths)

    def _fixes(self, paths: Iterable[str]) -> list[Change]:
        try:
            return self._changes(paths)
        except LimitError:
            # The next look at the file says so.
            return []

    def _changes(self, paths: Iterable[str]) -> list[Change]:
        project, selection = self._project, self._selection
        paths = [path for path in paths if path in selection.requests]
        self._offer_fixes()
        found: dict[str, CheckedFile] = {}
        for path in paths:
            component = None if path in found else self._around(path)
            if component is not None:
                found |= check_component(component, selection, project, FixMode.DIFF)
            if path not in found:
                found[path] = check_alone(path, selection.requests[path], FixMode.DIFF, project)
        changes = {path: one.change for path, one in found.items() if one.change is not None}
        wanted = {path for path in paths if path in changes}
        linked = frozenset(wanted).union(*(changes[path].linked for path in wanted))
        return [changes[path] for path in sorted(linked & changes.keys())]

    def _offer_fixes(self) -> None:
        """Have fixes worked out from now on; those are made that are safe."""
        self._selection.requests = {
            path: replace(
                request, options=replace(request.options, offers_fixes=True), unsafe_fixes=False
            )
            for path, request in self._selection.requests.items()
        }

    def lookup(self, path: str) -> NameLookup | None:
        """See `Linter.lookup`."""
        with using(self._budget):
            return run_deep(self._known_or_none, path)

    def _known_or_none(self, path: str) -> NameLookup | None:
        try:
            with spending(path):
                return self._known(path)
        except (LimitError, UnfollowedError):
            # The findings of the file say so.
            return None

    @collection_paused()
    def _known(self, path: str) -> NameLookup | None:
        from placement_lint.lint.lookup import NameLookup

        project, selection = self._project, self._selection
        if path not in selection.requests or path in selection.left_out:
            return None
        analysis = None
        component = self._around(path)
        if component is not None:
            together = group(component, self._options, project, frozenset(selection.left_out))
            analysis = together.analysed().get(path)
        if analysis is None:
            analysis = self._alone(path)
        return None if analysis is None else NameLookup(analysis.facts, analysis.editor)

    def _around(self, path: str) -> Component | None:
        """Return the files that a file is interpreted together with, if there are any."""
        found = self._selection.components(self._project)
        return next((component for component in found if path in component.paths), None)

    def _alone(self, path: str) -> Analysis | None:
        source = self._store.source_if_readable(path)
        parsed = None if source is None else parse_what_can_be(source, self._store)
        if source is None or parsed is None or isinstance(parsed, FileResult):
            return None
        asked = self._project.questions(path)
        return Analysis(parsed, self._options(source), asked.name, asked, self._store)

    def _options(self, source: Source) -> FileOptions:
        return self._selection.requests[source.path].options

    def editor(self, path: str) -> Editor | None:
        """See `Linter.editor`."""
        with using(self._budget) as budget:
            budget.allow(path, SECONDS_OF_WAITING)
            return run_deep(self._editor, path)

    def _editor(self, path: str) -> Editor | None:
        source = self._store.source_if_readable(path)
        try:
            with spending(path):
                opened = None if source is None else check_file.editor_of(source, self._store)
        except LimitError:
            return None
        return None if isinstance(opened, FileResult) else opened
