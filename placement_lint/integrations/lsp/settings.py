"""What the editor sets: the same as a settings file, and what only an editor has."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from placement_lint.config.settings import Settings
from placement_lint.config.suggest import nearest
from placement_lint.config.values import SettingsError, check_table
from placement_lint.rules.selection import UnknownSelectorError, select_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS = ("placement-lint", "placementLint", "placement_lint")
"""The names under which editors keep what is for us."""
_WHERE = "the editor's settings"
_INLAY_HINTS = "inlay-hints"
_DIAGNOSTIC_MODE = "diagnostic-mode"
_MODES = ("open-files", "workspace")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class EditorSettings:
    """What holds beside the settings files of the projects, and goes before them."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Settings`."""
    inlay_hints: bool = False
    """Whether uncommitted arrays are marked where they are bound."""
    whole_workspace: bool = False
    """Whether findings in files that are not open are reported as well."""


def read_settings(sent: object) -> EditorSettings:
    """Read what an editor says of its settings: under a name of ours, or the settings alone.

    Keys may be written `extend-select`, `extendSelect` or `extend_select`. Raises SettingsError.
    """
    table = _section(sent)
    inlay_hints = table.pop(_INLAY_HINTS, False)
    if not isinstance(inlay_hints, bool):
        message = f"{_WHERE}: `{_INLAY_HINTS}` must be true or false"
        raise SettingsError(message)
    mode = table.pop(_DIAGNOSTIC_MODE, _MODES[0])
    if mode not in _MODES:
        message = f"{_WHERE}: `{_DIAGNOSTIC_MODE}` must be one of {' and '.join(_MODES)}"
        raise SettingsError(message)
    _check_keys(table)
    options = check_table(table, _WHERE)
    try:
        select_rules(Settings(**options), "")  # type: ignore[arg-type]
    except UnknownSelectorError as error:
        message = f"{_WHERE}: {error}"
        raise SettingsError(message) from error
    return EditorSettings(options, inlay_hints, mode == _MODES[1])


def has_settings(sent: object) -> bool:
    """Return whether an editor says anything of its settings at all."""
    return isinstance(sent, dict) and bool(_section(sent))


def _section(sent: object) -> dict[str, Any]:
    if not isinstance(sent, dict):
        return {}
    inside = next((sent[name] for name in ("settings", *SECTIONS) if name in sent), None)
    if inside is not None:
        return _section(inside)
    return {_kebab(key): value for key, value in sent.items() if value is not None}


def _kebab(key: str) -> str:
    return _HUMP.sub("-", key).replace("_", "-").lower()


def _check_keys(table: Mapping[str, object]) -> None:
    for key in table:
        near = nearest(key, (_INLAY_HINTS, _DIAGNOSTIC_MODE))
        if near is not None and near != key:
            from placement_lint.config.options import BY_NAME

            if key not in BY_NAME and nearest(key, BY_NAME) is None:
                message = f"{_WHERE}: unknown setting `{key}`; did you mean `{near}`?"
                raise SettingsError(message)
