"""Settings as they are read: keys and values checked against the table, and said what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.config.options import (
    BY_NAME,
    EFFECTS,
    EXTEND,
    GIVES,
    SEVERITIES,
    Option,
    OptionKind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

VERSION = re.compile(r"v?[0-9]+(\.[0-9]+)*((a|b|rc|\.?dev|\.post|\+[A-Za-z0-9])[A-Za-z0-9_.]*)?")
"""What is taken for a version; the JSON schema has it too."""

_RANGE = re.compile(r"[<>=~!,*+]|\.x\b")

MODELLED = re.compile(
    r"(?!(jax|numpy|builtins)\.)[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){1,20}"
)
"""The qualified names for which settings may have models; the JSON schema has it too."""

_ONE = r"((==|!=|<=|>=|<|>) ?[0-9]+|~= ?[0-9]+\.[0-9]+)(\.[0-9]+){0,5}"
VERSIONS = re.compile(rf"{_ONE}(, ?{_ONE})*|[0-9]+(\.[0-9]+){{0,5}}")
"""What is taken for versions of this tool; the JSON schema has it too."""

MOST = 10**9
"""The largest number that a setting may be: in seconds, thirty years."""


_OF_RUFF = ": it belongs in the settings of ruff"
_BY_ENDING = ": files are chosen by their endings, and by `exclude`"
_ON_COMMAND_LINE = ": use `{}` on the command line"
_NOT_HERE = {
    "lint": ": unlike in ruff, all settings are in one table, without `lint`",
    "cache-dir": ": a repository must not choose it; use `--cache-dir` or PLACEMENT_LINT_CACHE_DIR",
    "target-version": ": use `target-jax`; no version of Python is needed",
    "builtins": _OF_RUFF,
    "cache": ": use `--no-cache` on the command line",
    "extend-fixable": ": use `fixable`",
    "extend-include": _BY_ENDING,
    "extend-unfixable": ": use `unfixable`",
    "fix-only": _ON_COMMAND_LINE.format("--fix"),
    "include": _BY_ENDING,
    "jobs": _ON_COMMAND_LINE.format("--jobs"),
    "line-length": ": lines are measured by the formatter's own settings",
    "namespace-packages": ": every directory that is imported is a package",
    "show-fixes": _ON_COMMAND_LINE.format("--show-fixes"),
    "src": ": modules are found from the files of the run",
    "preview": ": rules that are off by default run where they are selected",
    "external": _OF_RUFF,
}
"""What to say of settings that ruff has, and this tool has in another way or not."""


class SettingsError(Exception):
    """Settings that cannot be used; the message names the key, the file and the nearest name.

    `path` is the settings file that it is about, `key` the setting or value in it that is wrong,
    `place` the line and column (from 1) if the file is no TOML; each None if it is about none.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        key: str | None = None,
        place: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.key = key
        self.place = place


def check_table(
    table: Mapping[str, object], where: str, *, is_file: bool = False
) -> dict[str, object]:
    """Return the fields of `Settings` that a table of settings sets.

    `where` is the file or option that the table is from. Raises SettingsError for an unknown key, a
    value of the wrong type, or a key that a file cannot have.
    """
    options = {key: _known(key, where) for key in table}
    for key, option in options.items():
        if is_file and not option.in_files:
            message = f"{where}: `{key}` is not a setting of files: use --{key} on the command line"
            raise SettingsError(message, key=key)
    return {option.field: _check(option, table[key], where) for key, option in options.items()}


def check_extend(value: object, where: str) -> str:
    """Return the path in `extend`. Raises SettingsError for what is no path."""
    return str(_check(EXTEND, value, where))


def _known(key: str, where: str) -> Option:
    if key in BY_NAME:
        return BY_NAME[key]
    if key == EXTEND.name:
        message = f"{where}: `{key}` belongs in a settings file"
        raise SettingsError(message, key=key)
    from placement_lint.config.suggest import nearest

    near = nearest(key.replace("_", "-"), [*BY_NAME, EXTEND.name])
    hint = f"; did you mean `{near}`?" if near else f"; known settings: {', '.join(BY_NAME)}"
    hint = _NOT_HERE.get(key, hint)
    message = f"{where}: unknown setting `{key}`{hint}"
    raise SettingsError(message, key=key)


_NOT_THIS = object()
"""What a check returns for a value of another type."""


def _check(option: Option, value: object, where: str) -> object:
    """Return the value of an option as it is used. Raises SettingsError for what is none."""
    found = _CHECKS[option.kind](option, value, where)
    if found is _NOT_THIS:
        message = f"{where}: `{option.name}` must be {option.kind.value}, not {_describe(value)}"
        raise SettingsError(message, key=option.name)
    return found


def _boolean(_option: Option, value: object, _where: str) -> object:
    return value if isinstance(value, bool) else _NOT_THIS


def _listed(_option: Option, value: object, _where: str) -> object:
    strings = _strings(value)
    return _NOT_THIS if strings is None else strings


def _map(_option: Option, value: object, _where: str) -> object:
    if not isinstance(value, dict):
        return _NOT_THIS
    entries = {key: _strings(entry) for key, entry in value.items()}
    return _NOT_THIS if None in entries.values() else entries


def _levels(_option: Option, value: object, _where: str) -> object:
    is_table = isinstance(value, dict) and all(level in SEVERITIES for level in value.values())
    return value if is_table else _NOT_THIS


def _models(_option: Option, value: object, where: str) -> object:
    if not isinstance(value, dict):
        return _NOT_THIS
    return {name: _model(name, model, where) for name, model in value.items()}


def _versions(option: Option, value: object, where: str) -> object:
    if not isinstance(value, str):
        return _NOT_THIS
    if VERSIONS.fullmatch(value):
        return value
    message = f"{where}: `{option.name}` must be {option.kind.value}, not `{value}`"
    raise SettingsError(message, key=value)


def _path(option: Option, value: object, where: str) -> object:
    if not isinstance(value, str) or not value:
        return _NOT_THIS
    if "\0" in value:
        message = f"{where}: `{option.name}` is not a path: it holds a null character"
        raise SettingsError(message, key=option.name)
    return value


def _version(option: Option, value: object, where: str) -> object:
    if not isinstance(value, str):
        return _NOT_THIS
    if value == "auto" or VERSION.fullmatch(value):
        return value
    hint = version_hint(value)
    message = f"{where}: `{option.name}` must be {option.kind.value}, not `{value}`{hint}"
    raise SettingsError(message, key=value or option.name)


def _number(option: Option, value: object, where: str) -> object:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return _NOT_THIS
    if value > MOST:
        message = f"{where}: `{option.name}` may be {MOST:,} at most"
        raise SettingsError(message, key=option.name)
    return value


def _choice(option: Option, value: object, where: str) -> object:
    if not isinstance(value, str):
        return _NOT_THIS
    value = option.aliases.get(value, value)
    if value in option.choices:
        return value
    hint = _hint(value, option.choices)
    choices = ", ".join(f"`{choice}`" for choice in option.choices)
    message = f"{where}: `{option.name}` must be one of {choices}, not `{value}`{hint}"
    raise SettingsError(message, key=option.name)


_CHECKS: dict[OptionKind, Callable[[Option, object, str], object]] = {
    OptionKind.BOOLEAN: _boolean,
    OptionKind.STRINGS: _listed,
    OptionKind.MAP: _map,
    OptionKind.LEVELS: _levels,
    OptionKind.MODELS: _models,
    OptionKind.VERSIONS: _versions,
    OptionKind.PATH: _path,
    OptionKind.VERSION: _version,
    OptionKind.NUMBER: _number,
    OptionKind.CHOICE: _choice,
}


def _model(name: str, model: object, where: str) -> dict[str, str]:
    """Return the model of a function. Raises SettingsError for what is none."""
    here = f"{where}: `models`"
    if not MODELLED.fullmatch(name):
        package = name.partition(".")[0]
        message = f"{here}: `{name}` is not the qualified name of a function, such as `pkg.load`"
        if package in {"jax", "numpy", "builtins"} and package != name:
            message = f"{here}: `{name}`: what functions of {package} do is built in"
        raise SettingsError(message, key=name)
    here = f"{here}: `{name}`"
    if not isinstance(model, dict):
        message = f"{here} must be a table with an `effect`, not {_describe(model)}"
        raise SettingsError(message, key=name)
    choices: dict[str, tuple[str, ...]] = {"effect": EFFECTS, "gives": GIVES, "example": ()}
    for key, value in model.items():
        if key not in choices:
            message = f"{here}: unknown key `{key}`{_hint(key, choices)}"
            raise SettingsError(message, key=name)
        if not isinstance(value, str):
            message = f"{here}: `{key}` must be a string, not {_describe(value)}"
            raise SettingsError(message, key=name)
        if choices[key] and value not in choices[key]:
            near = _hint(value, choices[key])
            listed = ", ".join(f"`{choice}`" for choice in choices[key])
            message = f"{here}: `{key}` must be one of {listed}, not `{value}`{near}"
            raise SettingsError(message, key=value or name)
    if "effect" not in model:
        message = f"{here} has no `effect`"
        raise SettingsError(message, key=name)
    return dict(model)


def _hint(word: str, known: Iterable[str]) -> str:
    from placement_lint.config.suggest import value_hint

    hint = value_hint(word, known)
    return f"; {hint}" if hint else ""


def version_hint(value: str) -> str:
    """Return what to add about a value that is no version, if it is meant as a range of them."""
    if not _RANGE.search(value):
        return ""
    return "; for a range, use `auto`: it reads the project's dependencies"


def demand_version(versions: str, where: str) -> None:
    """Raise SettingsError if this tool is of another version than those demanded."""
    from packaging.specifiers import SpecifierSet

    from placement_lint.version import __version__

    demanded = SpecifierSet(versions if versions[0] in "<>=!~" else f"=={versions}")
    if not demanded.contains(__version__, prereleases=True):
        message = f"{where}: placement-lint {versions} is required, and this is {__version__}"
        raise SettingsError(message, key="required-version")


def _strings(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    strings = tuple(item for item in value if isinstance(item, str))
    return strings if len(strings) == len(value) else None


def _describe(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a string", int: "a number", float: "a number", dict: "a table"}
    if isinstance(value, list):
        others = sorted({_describe(item) for item in value if not isinstance(item, str)})
        return f"a list with {', '.join(others)}" if others else "a list"
    if isinstance(value, dict):
        wrong = next((key for key, entry in value.items() if _strings(entry) is None), None)
        if wrong is not None:
            return f"{_describe(value[wrong])} at `{wrong}`"
    return names.get(type(value), f"a {type(value).__name__}")
