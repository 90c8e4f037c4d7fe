"""Linting for another tool that asks for one file at a time, and silences by `# noqa` itself."""

from __future__ import annotations

import codecs
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.config.values import SettingsError
from placement_lint.files.source import declared_encoding
from placement_lint.files.store import FileStore
from placement_lint.limits.budget import Budget, RunOverError, limits_of, using
from placement_lint.lint.file_results import Sight, unfinished
from placement_lint.lint.results import FixMode
from placement_lint.lint.run import examine_text, request_for
from placement_lint.lint.schedule import Examiner, examine_neighbours, incomplete
from placement_lint.lint.select_files import Sifted
from placement_lint.lint.tasks import failure
from placement_lint.rules.selection import UnknownSelectorError
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Limits
    from placement_lint.lint.tasks import Examined, Request
    from placement_lint.project.project import Project


class HostedRun:
    """The files of one run. What is found in each is worked out when it is asked for."""

    def __init__(
        self,
        files: Iterable[str],
        settings_for: Callable[[str], Settings],
        *,
        folders: bool = False,
        limits: Limits | None = None,
        store: FileStore | None = None,
    ) -> None:
        """Sort the files. Raises SettingsError.

        `folders` says that these are all the files of the folders that were asked for. `limits` is
        what all questions together may take: by default, of the memory its share.
        """
        sight = Sight.WHOLE if folders else Sight.IMPORTS
        self._budget = Budget(limits_of() if limits is None else limits)
        self._sifted = Sifted(store or FileStore())
        paths = sorted(dict.fromkeys(files))
        requests = {path: _hosted(settings_for(path), path, sight) for path in paths}
        self._is_over = False
        with using(self._budget):
            try:
                self._project = run_deep(self._prepared, requests)
            except RunOverError:
                self._is_over = True
        self._tasks = {task.path: task for task in self._sifted.tasks}

    def _prepared(self, requests: Mapping[str, Request]) -> Project:
        for path, request in requests.items():
            self._sifted.take(path, request)
        project = self._sifted.with_reexports()
        self._sifted.pin(project)
        return project

    def findings(self, path: str) -> tuple[Finding, ...]:
        """Give what is found in a file of the run, in the order of every report."""
        with using(self._budget):
            try:
                found = run_deep(self._found, path)
            except RunOverError as error:
                found = [unfinished(path, error, 0)]
            except Exception as error:  # our fault, and no reason to end the other tool
                found = [failure(path, error)]
        found += [finding for finding in self._sifted.findings if finding.path == path]
        return tuple(sorted(dict.fromkeys(found), key=lambda finding: finding.sort_key))

    def _found(self, path: str) -> list[Finding]:
        if self._is_over:
            raise RunOverError
        if path in self._program:
            return [*self._program[path].findings]
        if path not in self._tasks:
            return []
        task = replace(self._tasks[path], spent=self._budget.spent(path))
        return [*Examiner(self._project, FixMode.NONE)(task).findings]

    @cached_property
    def _program(self) -> dict[str, Examined]:
        """What is found in the files that have to be looked at together."""
        found: dict[str, Examined] = {}
        for neighbours in self._sifted.neighbourhoods(self._project):
            found |= examine_neighbours(neighbours, self._sifted, self._project, FixMode.NONE)
        self._sifted.findings += incomplete(self._sifted, self._project, found.values())
        return found


def lint_hosted_text(text: str, path: str, settings: Settings) -> tuple[Finding, ...]:
    """Check a text that no file may hold yet. Raises SettingsError."""
    request = _hosted(settings, path, Sight.IMPORTS)
    sifted = Sifted(FileStore({path: _encoded(text)}))
    with using(Budget(limits_of(settings.time_limit, settings.memory_limit))):
        examined = run_deep(examine_text, sifted, path, request, FixMode.NONE)
    found = [*sifted.findings, *(finding for one in examined for finding in one.findings)]
    return tuple(sorted(found, key=lambda finding: finding.sort_key))


def _encoded(text: str) -> bytes:
    """Give the bytes that will be read as this text, whatever encoding its first lines declare."""
    data = text.encode("utf-8", "surrogatepass")
    if data.startswith(codecs.BOM_UTF8):
        return data
    try:
        return text.encode(declared_encoding(data))
    except (SyntaxError, LookupError, UnicodeEncodeError):
        # Such a file cannot be read, and it is a finding that says so.
        return data


def _hosted(settings: Settings, path: str, sight: Sight) -> Request:
    try:
        request = request_for(settings, path, sight=sight)
    except UnknownSelectorError as error:
        message = f"{settings.source or 'the settings'}: {error}"
        raise SettingsError(message) from error
    return replace(request, options=replace(request.options, respect_noqa=False))
