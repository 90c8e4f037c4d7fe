"""Linting for another tool that asks for one file at a time, and silences by `# noqa` itself."""

from __future__ import annotations

import io
import tokenize
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.config.values import SettingsError
from placement_lint.lint.examined import failure
from placement_lint.lint.examining import Examiner, examine, examine_neighbours
from placement_lint.lint.outcome import FixMode
from placement_lint.lint.run import request_for
from placement_lint.lint.sifting import Sifted
from placement_lint.lint.target import forget
from placement_lint.lint.unused import Sight
from placement_lint.rules.selection import UnknownSelectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding
    from placement_lint.lint.examined import Examined, Request
    from placement_lint.lint.project import Project


class HostedRun:
    """The files of one run. What is found in each is worked out when it is asked for."""

    def __init__(
        self,
        files: Iterable[str],
        settings_for: Callable[[str], Settings],
        *,
        folders: bool = False,
    ) -> None:
        """Sort the files. Raises SettingsError.

        `folders` says that these are all the files of the folders that were asked for.
        """
        forget()
        sight = Sight.WHOLE if folders else Sight.IMPORTS
        self._sifted = Sifted()
        for path in sorted(dict.fromkeys(files)):
            self._sifted.take(path, _hosted(settings_for(path), path, sight))
        self._project: Project = self._sifted.with_reexports()
        self._sifted.pin(self._project)
        self._tasks = {task.path: task for task in self._sifted.tasks}

    def findings(self, path: str) -> tuple[Finding, ...]:
        """Give what is found in a file of the run, in the order of every report."""
        found = [finding for finding in self._sifted.findings if finding.path == path]
        try:
            if path in self._program:
                found += self._program[path].findings
            elif path in self._tasks:
                found += Examiner(self._project, FixMode.NONE)(self._tasks[path]).findings
        except Exception as error:  # our fault, and no reason to end the other tool
            found.append(failure(path, error))
        return tuple(sorted(found, key=lambda finding: finding.sort_key))

    @cached_property
    def _program(self) -> dict[str, Examined]:
        """What is found in the files that have to be looked at together."""
        found: dict[str, Examined] = {}
        for neighbours in self._sifted.neighbourhoods(self._project):
            found |= examine_neighbours(neighbours, self._sifted, self._project, FixMode.NONE)
        return found


def lint_hosted_text(text: str, path: str, settings: Settings) -> tuple[Finding, ...]:
    """Check a text that no file may hold yet. Raises SettingsError."""
    forget()
    request = _hosted(settings, path, Sight.IMPORTS)
    data = _encoded(text)
    sifted = Sifted()
    sifted.add(path, data, request)
    found = list(sifted.findings)
    for task in sifted.tasks:
        found += examine(task.path, data, task.request, FixMode.NONE).findings
    return tuple(sorted(found, key=lambda finding: finding.sort_key))


def _encoded(text: str) -> bytes:
    """Give the bytes that will be read as this text, whatever encoding its first lines declare."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
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
