"""What `placement-lint` prints of the settings and versions that it goes by, where asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.report.escape import escape, inert_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.config.load import SettingsLoader
    from placement_lint.files.store import FileStore


def show_settings(loader: SettingsLoader, files: Sequence[str]) -> None:
    """Print the settings of files, those that several have once; "": of the current directory."""
    from placement_lint.config.show import show

    shown: dict[int, str] = {}
    for path in files:
        settings = loader.for_file(path) if path else loader.for_folder(".")
        head = f"# settings of: {escape(path)}\n" if path else ""
        shown.setdefault(id(settings), head + show(settings))
    streams.write(inert_toml("\n".join(shown.values())))


def say_targets(files: Sequence[str], loader: SettingsLoader, store: FileStore) -> None:
    """Print the versions of JAX that files are checked for, and which metadata was not read."""
    from placement_lint.project.target import ProjectMetadata

    metadata = store.shared(ProjectMetadata)
    folders = {os.path.dirname(path): path for path in reversed(files)}
    said = {
        str(metadata.target(loader.for_file(path).target_jax, path)): folder
        for folder, path in sorted(folders.items(), reverse=True)
    }
    for target, folder in sorted(said.items(), key=lambda each: each[1]):
        where = "" if len(said) == 1 else f" for {escape(folder or '.')}"
        streams.complain(f"note: target JAX{where}: {escape(target)}")
    for path, reason in metadata.unreadable.items():
        streams.complain(f"note: {escape(os.path.relpath(path))}: not read: {reason}")
