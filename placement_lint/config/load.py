"""Which settings hold for a file: the nearest settings file above it, and the command line.

A folder's settings are the first of `placement-lint.toml` and a `pyproject.toml` that has a
`[tool.placement-lint]` section, looked for in the folder and then in each one above it. Files are
not merged: the nearest wins.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.config.rebase import common_root, has_anchored_globs, rebase_table
from placement_lint.config.settings import Settings
from placement_lint.config.values import SettingsError, check_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OWN_FILE = "placement-lint.toml"
PROJECT_FILE = "pyproject.toml"
SECTION = "placement-lint"

_SIZE_LIMIT = 4 * 1024 * 1024

# Naming rules with --select is a fresh start: what a file adds or leaves out goes with its own.
_SET_ASIDE_BY_SELECT = ("select", "extend_select", "ignore", "extend_ignore")
_ADDING = ("extend_select", "ignore", "extend_ignore", "extend_exclude")


@dataclass
class SettingsLoader:
    """Finds the settings of files and folders, and reads each settings file once.

    `configs` are the values of `--config`: the path of a settings file, or KEY=VALUE in TOML.
    `options` are fields of `Settings` that the command line sets; they have the last word.
    """

    isolated: bool = False
    configs: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    _of_folder: dict[str, Settings] = field(default_factory=dict, init=False, repr=False)
    _fixed: Settings | None = field(default=None, init=False, repr=False)
    _inline: dict[str, object] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Read what `--config` says. Raises SettingsError."""
        files = [config for config in self.configs if _is_file_argument(config)]
        if len(files) > 1:
            message = f"--config: one settings file at most, not {' and '.join(files)}"
            raise SettingsError(message)
        if files and self.isolated:
            raise SettingsError("--config: a settings file cannot be read with --isolated")
        for config in self.configs:
            if not _is_file_argument(config):
                self._inline.update(_read_pair(config))
        if files:
            values = _read_file(Path(files[0]), must_have_section=True) or {}
            # As on the command line that names it: its globs are relative to where one stands.
            self._fixed = self._resolve(values, Path(files[0]), root=None)
        elif self.isolated:
            self._fixed = self._resolve({}, None, root=None)

    def for_file(self, path: str) -> Settings:
        """Give the settings of a file, whether it exists or not. Raises SettingsError."""
        return self._fixed or self.for_folder(os.path.dirname(os.path.abspath(path)))

    def for_folder(self, folder: str) -> Settings:
        """Give the settings of the files in a folder. Raises SettingsError."""
        if self._fixed is not None:
            return self._fixed
        folder = os.path.abspath(folder)
        pending = []
        while folder not in self._of_folder:
            pending.append(folder)
            settings = self._read_folder(Path(folder))
            parent = os.path.dirname(folder)
            if settings is None and parent == folder:
                settings = self._resolve({}, None, root=None)
            if settings is not None:
                self._of_folder[folder] = settings
                break
            folder = parent
        found = self._of_folder[folder]
        self._of_folder.update(dict.fromkeys(pending, found))
        return found

    def _read_folder(self, folder: Path) -> Settings | None:
        for name in (OWN_FILE, PROJECT_FILE):
            path = folder / name
            if os.path.isfile(path):
                values = _read_file(path, must_have_section=False)
                if values is not None:
                    return self._resolve(values, path, root=folder)
        return None

    def _resolve(
        self, values: Mapping[str, Any], source: Path | None, root: Path | None
    ) -> Settings:
        inline: Mapping[str, Any] = self._inline
        options = self.options
        if root is not None and (has_anchored_globs(inline) or has_anchored_globs(options)):
            here = Path.cwd()
            common = common_root(root, here)
            if common is not None:
                values = rebase_table(values, root, common)
                inline, options = (rebase_table(table, here, common) for table in (inline, options))
                root = common
        merged = {**values, **inline}
        if "select" in options:
            merged = {k: v for k, v in merged.items() if k not in _SET_ASIDE_BY_SELECT}
        for key, value in options.items():
            merged[key] = (*merged.get(key, ()), *value) if key in _ADDING else value
        return Settings(**merged, root=root, source=source)


def _is_file_argument(config: str) -> bool:
    return "=" not in config or Path(config).is_file()


def _read_pair(pair: str) -> dict[str, object]:
    where = f"--config {pair}"
    try:
        table = _toml(pair)
    except ValueError as error:
        message = f"{where}: neither a settings file nor KEY=VALUE in TOML ({error})"
        raise SettingsError(message) from error
    return check_table(table, where)


def _read_file(path: Path, *, must_have_section: bool) -> dict[str, object] | None:
    """Read the settings in a file. None: it has no section of ours."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise SettingsError(message) from error
    whole = path.name != PROJECT_FILE
    # A project file that never names us is not parsed: it may be a template and no TOML at all.
    if not whole and not must_have_section and SECTION.encode() not in data:
        return None
    if len(data) > _SIZE_LIMIT:
        message = f"{path}: {len(data)} bytes is too large for a settings file"
        raise SettingsError(message)
    try:
        table = _toml(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"{path}: not valid UTF-8 at byte {error.start}"
        raise SettingsError(message) from error
    except (ValueError, RecursionError) as error:
        message = f"{path}: not valid TOML: {error}"
        raise SettingsError(message) from error
    if not whole:
        tool = table.get("tool")
        section = tool.get(SECTION) if isinstance(tool, dict) else None
        if section is None:
            if must_have_section:
                message = f"{path}: there is no [tool.{SECTION}] section in it"
                raise SettingsError(message)
            return None
        if not isinstance(section, dict):
            message = f"{path}: `tool.{SECTION}` must be a table"
            raise SettingsError(message)
        table = section
    return check_table(table, str(path))


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
