"""Which rules a file is checked by: codes, prefixes of codes, names, or `ALL`."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from placement_lint.config.rebase import alternatives
from placement_lint.files.discovery import is_matched
from placement_lint.rules.redirects import redirected
from placement_lint.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.config.settings import Settings
    from placement_lint.rules.base import Rule

_PREFIX = re.compile(r"JDP[0-9]{0,2}")


class UnknownSelectorError(ValueError):
    """A selector that names no rule."""

    def __init__(self, selector: str, near: str | None) -> None:
        hint = f"did you mean `{near}`?" if near else "`placement-lint rule` lists the rules"
        super().__init__(f"unknown rule `{selector}`; {hint}")
        self.selector = selector
        self.nearest = near


def matching_codes(selector: str) -> frozenset[str]:
    """Return the codes that a selector names. Raises UnknownSelectorError where there is none."""
    rules = all_rules()
    selector = redirected(selector)
    if selector.upper() == "ALL":
        return frozenset(rule.code for rule in rules)
    upper, lower = selector.upper(), selector.lower()
    codes = frozenset(
        rule.code
        for rule in rules
        if upper == rule.code
        or lower == rule.name
        or (_PREFIX.fullmatch(upper) and rule.code.startswith(upper))
    )
    if not codes:
        from placement_lint.config.suggest import nearest, nearest_code

        names = [rule.name for rule in rules]
        near = nearest_code(upper, [rule.code for rule in rules]) or nearest(lower, names)
        raise UnknownSelectorError(selector, near)
    return codes


def select_rules(settings: Settings, path: str) -> tuple[type[Rule], ...]:
    """Return the rules for one file, sorted by code.

    A longer selector wins over a shorter one, and where both are equally long, ignoring wins.
    Raises UnknownSelectorError.
    """
    _demand_known(
        (
            *(settings.fixable or ()),
            *(*settings.unfixable, *settings.severity),
            *(*settings.extend_safe_fixes, *settings.extend_unsafe_fixes),
        )
    )
    ignored_here: list[str] = []
    for ignores in (settings.per_file_ignores, settings.extend_per_file_ignores):
        for pattern, selectors in ignores.items():
            _check(selectors)
            # As in ruff. Alone, a pattern that takes others back would say nothing.
            negated = pattern.startswith("!")
            globs = alternatives(pattern.removeprefix("!"))
            if is_matched(path, globs, settings.root) != negated:
                ignored_here += selectors
    return _selected(
        settings.select,
        settings.extend_select,
        (*settings.ignore, *settings.extend_ignore),
        tuple(ignored_here),
    )


@functools.cache
def _selected(
    select: tuple[str, ...] | None,
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    ignored_here: tuple[str, ...],
) -> tuple[type[Rule], ...]:
    wanted = weights((*(select or ()), *extend_select))
    unwanted = weights(ignore)
    never = weights(ignored_here)
    chosen = []
    for rule in all_rules():
        weight = wanted.get(rule.code, -1)
        if select is None and not rule.pedantic:
            weight = max(weight, 0)
        if unwanted.get(rule.code, -1) < weight and rule.code not in never:
            chosen.append(rule)
    return tuple(chosen)


def weights(selectors: Iterable[str]) -> dict[str, int]:
    """Return, for each code, how precisely the most precise selector names it."""
    weights: dict[str, int] = {}
    for selector in selectors:
        precise = 0 if selector.upper() == "ALL" else min(len(selector), 6)
        for code in matching_codes(selector):
            weights[code] = max(weights.get(code, 0), precise)
    return weights


@functools.cache
def _demand_known(selectors: tuple[str, ...]) -> None:
    _check(selectors)


def _check(selectors: Iterable[str]) -> None:
    for selector in selectors:
        matching_codes(selector)
