"""The words by which settings and options name rules, checked before anything is linted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from placement_lint.cli.parser import settings_in
from placement_lint.timing import IMPORTING, timed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from placement_lint.config.settings import Settings

_FIELDS = (
    *("select", "extend_select", "ignore", "extend_ignore", "fixable", "unfixable"),
    *("extend_safe_fixes", "extend_unsafe_fixes", "severity"),
)


def check_selectors(settings: Iterable[Settings], args: argparse.Namespace) -> None:
    """Raise SettingsError for a word that names no rule; `args` are those of the command line."""
    # Many files have the same ones.
    different = {id(each): each for each in settings}.values()
    named = [each for each in different if _selectors(each)]
    for each in sorted(named, key=lambda each: str(each.source)):
        _check(each, args)


def _check(settings: Settings, args: argparse.Namespace) -> None:
    with timed(IMPORTING):
        from placement_lint.config.values import SettingsError
        from placement_lint.rules.selection import UnknownSelectorError, select_rules

    try:
        select_rules(settings, "")
    except UnknownSelectorError as error:
        origin = _origin(settings, error.selector, args)
        path = origin if origin == str(settings.source) else None
        message = f"{origin}: {error}"
        raise SettingsError(message, path=path, key=error.selector) from error


def _origin(settings: Settings, selector: str, args: argparse.Namespace) -> str:
    """Return where a selector was written, for an error message."""
    given = settings_in(args)
    option = next((key for key in given if selector in _selectors_at(given, key)), None)
    return f"--{option.replace('_', '-')}" if option else str(settings.source or "--config")


def _selectors(settings: Settings) -> list[str]:
    table = vars(settings)
    return [selector for key in table for selector in _selectors_at(table, key)]


def _selectors_at(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if key in {"per_file_ignores", "extend_per_file_ignores"}:
        return tuple(selector for selectors in table[key].values() for selector in selectors)
    return tuple(table[key] or ()) if key in _FIELDS else ()
