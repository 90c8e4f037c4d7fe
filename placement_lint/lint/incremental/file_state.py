"""What decides whether a result still holds: the content of a file, its settings, packages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.files.folders import one_in_each
from placement_lint.files.store import digest
from placement_lint.project.target import ProjectMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.files.stamps import Stamp
    from placement_lint.files.store import FileStore


@dataclass(frozen=True)
class FileState:
    """A file as a run has seen it: its stamp, and digests of its bytes and of its settings."""

    stamp: Stamp
    content: str
    settings: str


class SettingsDigests:
    """Returns, for the path of a file, a digest of all its settings: one for each directory."""

    def __init__(self, settings_for: Callable[[str], Settings], store: FileStore) -> None:
        self._settings_for = settings_for
        self._metadata = store.shared(ProjectMetadata)
        self._of_folder: dict[str, str] = {}
        self._of_settings: dict[tuple[int, str, int | None], str] = {}

    def __call__(self, path: str) -> str:
        """Return it for one file."""
        folder = os.path.dirname(path)
        if folder not in self._of_folder:
            settings = self._settings_for(path)
            target = self._metadata.deciding_text(settings.target_jax, path)
            length = self._metadata.line_length(path)
            by_settings = (id(settings), target, length)
            if by_settings not in self._of_settings:
                self._of_settings[by_settings] = self.of_settings(settings, target, length)
            self._of_folder[folder] = self._of_settings[by_settings]
        return self._of_folder[folder]

    @staticmethod
    def of_settings(settings: Settings, target: str, length: int | None) -> str:
        """Return the digest of settings, target versions and line length."""
        parts = [
            settings.select,
            settings.extend_select,
            settings.ignore,
            settings.extend_ignore,
            sorted(settings.per_file_ignores.items()),
            sorted(settings.extend_per_file_ignores.items()),
            str(settings.root),
            settings.accelerator,
            settings.fixable,
            settings.unfixable,
            settings.extend_safe_fixes,
            settings.extend_unsafe_fixes,
            sorted(settings.severity.items()),
            sorted((name, sorted(each.items())) for name, each in settings.models.items()),
            settings.min_confidence,
            target,
            length,
        ]
        return digest(json.dumps(parts).encode())[:16]


def packages_around(files: Sequence[str]) -> str:
    """Return a digest of which directories of the files, or above them, are packages."""
    within = {os.path.abspath(folder) for folder in one_in_each(files)}
    folders = set(within)
    for folder in within:
        above = os.path.dirname(folder)
        while above not in folders:
            folders.add(above)
            above = os.path.dirname(above)
    packages = [
        folder for folder in sorted(folders) if os.path.exists(os.path.join(folder, "__init__.py"))
    ]
    return digest("\n".join(packages).encode("utf-8", "surrogatepass"))
