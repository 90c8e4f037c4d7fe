"""Which settings hold for the files of the workspace, where some of them cannot be used."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.config.where import place_of
from placement_lint.rules.selection import UnknownSelectorError, select_rules

if TYPE_CHECKING:
    from placement_lint.config.settings import Settings
    from placement_lint.integrations.lsp.settings import EditorSettings


@dataclass(frozen=True, order=True)
class Problem:
    """Settings that cannot be used: in which file, where in it, and why."""

    path: str | None
    line: int
    column: int
    message: str


class ProjectSettings:
    """The settings of files; what cannot be used is a problem, and what held before goes on."""

    def __init__(self, editor: EditorSettings, before: ProjectSettings | None = None) -> None:
        """Read all settings files again. `before` has what held until now."""
        self.problems: set[Problem] = set()
        self._loader = SettingsLoader(options=editor.options)
        self._fallback = SettingsLoader(isolated=True, options=editor.options)
        self._good: dict[str, Settings] = {} if before is None else dict(before._good)
        self._now: dict[str, Settings] = {}
        self._checked: dict[int, SettingsError | None] = {}

    def for_file(self, path: str) -> Settings:
        """Return the settings of a file. Never raises: it is noted what cannot be used."""
        return self.for_folder(os.path.dirname(os.path.abspath(path)))

    def for_folder(self, folder: str) -> Settings:
        """Return the settings of the files in a folder."""
        if folder not in self._now:
            settings = self._read(folder)
            if settings is None:
                settings = self._good.get(folder) or self._fallback.for_folder(folder)
            self._good[folder] = self._now[folder] = settings
        return self._now[folder]

    def _read(self, folder: str) -> Settings | None:
        try:
            settings = self._loader.for_folder(folder)
        except SettingsError as error:
            self.problems.add(_problem(error))
            return None
        wrong = self._wrong_selector(settings)
        if wrong is not None:
            self.problems.add(_problem(wrong))
            return None
        return settings

    def _wrong_selector(self, settings: Settings) -> SettingsError | None:
        key = id(settings)
        if key not in self._checked:
            self._checked[key] = None
            try:
                select_rules(settings, "")
            except UnknownSelectorError as error:
                path = None if settings.source is None else str(settings.source)
                message = f"{settings.source}: {error}"
                self._checked[key] = SettingsError(message, path=path, key=error.selector)
        return self._checked[key]


def _problem(error: SettingsError) -> Problem:
    if error.path is None:
        return Problem(None, 1, 1, str(error))
    place = place_of(error)
    line, column = (1, 1) if place is None else (place.line, place.column)
    return Problem(error.path, line, column, str(error))
