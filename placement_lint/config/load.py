"""Which settings hold for a file: the nearest settings file above it, and the command line.

A folder's settings are the first of `.placement-lint.toml`, `placement-lint.toml` and a
`pyproject.toml` that has a `[tool.placement-lint]` section, looked for in the folder and then in
each one above it. Files are not merged, the nearest wins, unless it names another one:
`extend = "../base.toml"`. Then what the nearer one sets replaces what the other one sets,
`extend-…` lists are added to its lists, and with `select` the rules are chosen again. Paths and
globs are relative to the file that they stand in. Where no folder has settings, those of the user
hold, if there are any; their globs are relative to the current folder.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.config.options import EXTEND
from placement_lint.config.rebase import (
    common_root,
    has_anchored_globs,
    rebase_table,
    written_in,
)
from placement_lint.config.settings import Settings
from placement_lint.config.values import SettingsError, check_extend, check_table, demand_version
from placement_lint.regular import MOST_OF_SETTINGS, read_given, read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OWN_FILE = "placement-lint.toml"
HIDDEN_FILE = ".placement-lint.toml"
PROJECT_FILE = "pyproject.toml"
SECTION = "placement-lint"
_MISSPELT = "placement_lint"

_MOST_EXTENDED = 50
"""Settings files that extend one another; more than anybody needs."""

_UNREAD_FILES = ("setup.cfg", "tox.ini")
"""Where other tools have settings, and we have none."""
_UNREAD_SECTION = re.compile(rb"^\[(tool:)?placement[-_]lint", re.MULTILINE)

# Naming rules with --select is a fresh start: what a file adds or leaves out goes with its own.
_REPLACED_BY_SELECT = ("select", "extend_select", "ignore", "extend_ignore")
_EXTENDING = (
    *("extend_select", "extend_ignore", "extend_exclude", "extend_per_file_ignores"),
    *("extend_safe_fixes", "extend_unsafe_fixes"),
)
_ADDING = (*_EXTENDING, "ignore")


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
    _of_given: dict[tuple[str, str], Settings] = field(default_factory=dict, init=False, repr=False)
    """Of folders as they were asked for, with the current one."""
    _fixed: Settings | None = field(default=None, init=False, repr=False)
    _inline: dict[str, object] = field(default_factory=dict, init=False, repr=False)
    is_extended: bool = field(default=False, init=False, repr=False)
    """Whether a settings file that was found names another one."""

    def __post_init__(self) -> None:
        """Read what `--config` says. Raises SettingsError."""
        files = [config for config in self.configs if is_file_argument(config)]
        if len(files) > 1:
            message = f"--config: one settings file at most, not {' and '.join(files)}"
            raise SettingsError(message)
        if files and self.isolated:
            raise SettingsError("--config: a settings file cannot be read with --isolated")
        for config in self.configs:
            if not is_file_argument(config):
                self._inline.update(_read_pair(config))
        if files:
            layer = _read_file(Path(files[0]), must_have_section=True, is_given=True)
            # As on the command line that names it: its globs are relative to where one stands.
            here = Path.cwd()
            values, root = ({}, here) if layer is None else _whole(layer, here)
            self._fixed = self._resolve(values, Path(files[0]), None if root == here else root)
        elif self.isolated:
            self._fixed = self._resolve({}, None, root=None)

    def for_file(self, path: str) -> Settings:
        """Return the settings of a file, whether it exists or not. Raises SettingsError."""
        return self._fixed or self.for_folder(os.path.dirname(path))

    def for_folder(self, folder: str) -> Settings:
        """Return the settings of the files in a folder. Raises SettingsError."""
        if self._fixed is not None:
            return self._fixed
        given = os.getcwd(), folder
        if given not in self._of_given:
            self._of_given[given] = self._found_for(os.path.abspath(folder))
        return self._of_given[given]

    def _found_for(self, folder: str) -> Settings:
        pending = []
        while folder not in self._of_folder:
            pending.append(folder)
            settings = self._read_folder(Path(folder))
            parent = os.path.dirname(folder)
            if settings is None and parent == folder:
                settings = self._of_user()
            if settings is not None:
                self._of_folder[folder] = settings
                break
            folder = parent
        found = self._of_folder[folder]
        self._of_folder.update(dict.fromkeys(pending, found))
        return found

    def _of_user(self) -> Settings:
        """Return the settings where no folder has any."""
        folder = user_folder(os.environ)
        for name in (HIDDEN_FILE, OWN_FILE, PROJECT_FILE) if folder else ():
            path = Path(folder, name)
            if os.path.isfile(path):
                layer = _read_file(path, must_have_section=False)
                if layer is not None:
                    here = Path.cwd()
                    self.is_extended |= layer.extends is not None
                    values, root = _whole(layer, here)
                    return self._resolve(values, path, None if root == here else root)
        return self._resolve({}, None, root=None)

    def _read_folder(self, folder: Path) -> Settings | None:
        for name in (HIDDEN_FILE, OWN_FILE, PROJECT_FILE):
            path = folder / name
            # A folder of that name is none, and neither is a link to nothing.
            if os.path.exists(path) and not os.path.isdir(path):
                layer = _read_file(path, must_have_section=False)
                if layer is not None:
                    self.is_extended |= layer.extends is not None
                    values, root = _whole(layer, folder)
                    return self._resolve(values, path, root, project=folder)
        for name in _UNREAD_FILES:
            _demand_no_section(folder / name)
        return None

    def _resolve(
        self,
        values: Mapping[str, Any],
        source: Path | None,
        root: Path | None,
        project: Path | None = None,
    ) -> Settings:
        here = Path.cwd()
        inline: Mapping[str, Any] = written_in(here, self._inline)
        options = written_in(here, self.options)
        if root is not None and (has_anchored_globs(inline) or has_anchored_globs(options)):
            common = common_root(root, here)
            if common is not None:
                values = rebase_table(values, root, common)
                inline, options = (rebase_table(table, here, common) for table in (inline, options))
                root = common
        merged = {**values, **inline}
        if "select" in options:
            merged = {k: v for k, v in merged.items() if k not in _REPLACED_BY_SELECT}
        for key, value in options.items():
            merged[key] = _added(merged.get(key), value) if key in _ADDING else value
        return Settings(**merged, root=root, source=source, project=project)


def user_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of a user's own settings, as ruff places its: empty if there is none."""
    if os.name == "nt":
        base = environment.get("APPDATA", "")
    else:
        base = environment.get("XDG_CONFIG_HOME", "")
        # The specification has relative ones ignored: they would be a repository's.
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, SECTION) if os.path.isabs(base) else ""


def is_file_argument(config: str) -> bool:
    """Return whether a value of `--config` names a file, and is no KEY=VALUE."""
    return "=" not in config or os.path.isfile(config)


def _read_pair(pair: str) -> dict[str, object]:
    where = f"--config {pair}"
    from placement_lint.config import toml

    try:
        table = toml.loads(pair)
    except (ValueError, RecursionError) as error:
        message = f"{where}: neither a settings file nor KEY=VALUE in TOML ({error})"
        raise SettingsError(message) from error
    return check_table(table, where)


@dataclass(frozen=True)
class _Layer:
    """What one settings file says."""

    path: Path
    values: dict[str, Any]
    extends: Path | None


def _whole(first: _Layer, root: Path) -> tuple[dict[str, Any], Path]:
    """Return what a settings file and those that it extends say together.

    `root` is the folder that its own globs are relative to; returned is the one that all of them
    are.
    """
    layers, seen = [first], [_real(first.path)]
    while layers[-1].extends is not None:
        here, base = layers[-1].path, layers[-1].extends
        real = _real(base)
        if real in seen:
            message = f"{here}: `extend` forms a cycle through {base}"
            raise SettingsError(message, path=str(here), key=EXTEND.name)
        if len(layers) > _MOST_EXTENDED:
            message = f"{first.path}: `extend` leads through more than {_MOST_EXTENDED} files"
            raise SettingsError(message, path=str(first.path), key=EXTEND.name)
        try:
            layer = _read_file(base, must_have_section=True)
        except SettingsError as error:
            message = f"{here}: `extend`: {error}"
            raise SettingsError(message, path=str(here), key=EXTEND.name) from error
        if layer is None:
            break
        layers.append(layer)
        seen.append(real)
    values: dict[str, Any] = {}
    folder = root
    for layer in reversed(layers):
        own = root if layer is first else layer.path.absolute().parent
        given = written_in(own, layer.values)
        is_last = layer is layers[-1]
        values, folder = (given, own) if is_last else _extended(values, folder, given, own)
    return values, folder


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _extended(
    base: Mapping[str, Any], base_root: Path, own: Mapping[str, Any], root: Path
) -> tuple[dict[str, Any], Path]:
    """Return what two settings files say together, and the folder that all globs are
    relative to.
    """
    if has_anchored_globs(base):
        common = common_root(base_root, root)
        if common is None:
            message = f"patterns of {base_root} cannot be applied in {root}, on another drive"
            raise SettingsError(message)
        base, own = rebase_table(base, base_root, common), rebase_table(own, root, common)
        root = common
    merged = dict(base)
    if "select" in own:
        merged = {key: value for key, value in merged.items() if key not in _REPLACED_BY_SELECT}
    for key, value in own.items():
        merged[key] = _added(merged.get(key), value) if key in _EXTENDING else value
    return merged, root


def _added(to: Any, more: Any) -> Any:
    """Return a list, or a table of lists, extended by what another one has."""
    if isinstance(more, dict):
        before = to or {}
        return {**before, **{key: (*before.get(key, ()), *more[key]) for key in more}}
    return (*(to or ()), *more)


def _read_file(path: Path, *, must_have_section: bool, is_given: bool = False) -> _Layer | None:
    """Read the settings in a file. None: it has no section of ours.

    `is_given`: somebody named it on the command line; then it may be a pipe.
    """
    try:
        return _layer_of(path, must_have_section=must_have_section, is_given=is_given)
    except SettingsError as error:
        error.path = str(path)
        raise


def _layer_of(path: Path, *, must_have_section: bool, is_given: bool) -> _Layer | None:
    read = read_given if is_given else read_regular
    try:
        data = read(path, MOST_OF_SETTINGS)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise SettingsError(message) from error
    whole = path.name != PROJECT_FILE
    # A project file that never names us is not parsed: it may be a template and no TOML at all.
    is_named = SECTION.encode() in data or _MISSPELT.encode() in data
    if not whole and not must_have_section and not is_named:
        return None
    from placement_lint.config import toml  # most runs have no settings to read

    try:
        table = toml.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"{path}: not valid UTF-8 at byte {error.start}"
        raise SettingsError(message) from error
    except ValueError as error:
        message = f"{path}: not valid TOML: {error}"
        # Without a place it is the end.
        end = (data.rstrip().count(b"\n") + 1, 1)
        raise SettingsError(message, place=toml.place_of(error) or end) from error
    except RecursionError as error:
        message = f"{path}: nested too deeply"
        raise SettingsError(message) from error
    if not whole:
        tool = table.get("tool")
        section = tool.get(SECTION) if isinstance(tool, dict) else None
        if section is None:
            _demand_right_name(path, table, tool)
            if must_have_section:
                message = f"{path}: there is no [tool.{SECTION}] section in it"
                raise SettingsError(message)
            return None
        if not isinstance(section, dict):
            message = f"{path}: `tool.{SECTION}` must be a table"
            raise SettingsError(message)
        table = section
    elif isinstance(table.get("tool"), dict) and SECTION in table["tool"]:
        message = f"{path}: this file needs no table: remove [tool.{SECTION}]"
        raise SettingsError(message, key=SECTION)
    given = dict(table)
    extends = given.pop(EXTEND.name, None)
    values = check_table(given, str(path), is_file=True)
    if "required_version" in values:
        demand_version(str(values["required_version"]), str(path))
    if "baseline" in values:
        values["baseline"] = str(_beside(path, str(values["baseline"])))
    base = None if extends is None else _beside(path, check_extend(extends, str(path)))
    return _Layer(path, values, base)


def _demand_right_name(path: Path, table: Mapping[str, Any], tool: object) -> None:
    """Raise SettingsError for a table that is meant to be ours and has another name."""
    names = [name for name in (SECTION, _MISSPELT) if isinstance(table.get(name), dict)]
    if isinstance(tool, dict) and isinstance(tool.get(_MISSPELT), dict):
        names.append(f"tool.{_MISSPELT}")
    if names:
        message = f"{path}: unknown table [{names[-1]}]; did you mean [tool.{SECTION}]?"
        raise SettingsError(message, key=names[-1])


def _demand_no_section(path: Path) -> None:
    """Raise SettingsError for a file with settings that nobody reads."""
    if not os.path.isfile(path):
        return
    try:
        data = read_regular(path, MOST_OF_SETTINGS)
    except OSError:
        return
    found = _UNREAD_SECTION.search(data)
    if found is not None:
        message = (
            f"{path}: settings are not read from this file: "
            f"put them into [tool.{SECTION}] in {PROJECT_FILE}"
        )
        line = data.count(b"\n", 0, found.start()) + 1
        raise SettingsError(message, path=str(path), place=(line, 1))


def _beside(path: Path, name: str) -> Path:
    """Return a path that stands in a settings file."""
    return Path(os.path.normpath(path.parent / os.path.expanduser(name)))
