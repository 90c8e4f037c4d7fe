"""Which rules there are: found by walking the package, so that a new file is a new rule."""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

import placement_lint.rules
from placement_lint.rules.base import Rule
from placement_lint.syntax.lazy import deferred
from placement_lint.timing import IMPORTING, timed

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOR_PARSED_FILES = {
    "placement_lint.rules.context",
    "placement_lint.rules.meshes.entered_calls",
    "placement_lint.semantic.model",
    "placement_lint.semantic.execution_order",
}

_FOR_FILES_THAT_PASS = (
    "libcst",
    "placement_lint.placement.domain.program_values",
    "placement_lint.placement.domain.record",
    "placement_lint.placement.domain.values",
)


@functools.cache
def all_rules() -> tuple[type[Rule], ...]:
    """Return every rule, sorted by code."""
    modules = pkgutil.walk_packages(
        placement_lint.rules.__path__, placement_lint.rules.__name__ + "."
    )
    # What a rule sees of a file is imported with the first file that is parsed.
    _import(module.name for module in modules if module.name not in _FOR_PARSED_FILES)
    return tuple(sorted(_concrete(Rule), key=lambda rule: rule.code))


@functools.cache
def rules_in(modules: frozenset[str]) -> tuple[type[Rule], ...]:
    """Return the rules that some modules define, sorted by code, without importing the others."""
    _import(sorted(modules))
    rules = (rule for rule in _concrete(Rule) if rule.__module__ in modules)
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _import(modules: Iterable[str]) -> None:
    with contextlib.ExitStack() as stack:
        for name in _FOR_FILES_THAT_PASS:
            stack.enter_context(deferred(name))
        for module in modules:
            with timed(IMPORTING):
                importlib.import_module(module)


def _concrete(base: type[Rule]) -> list[type[Rule]]:
    found = []
    for rule in base.__subclasses__():
        in_package = rule.__module__.startswith(placement_lint.rules.__name__ + ".")
        if in_package and "code" in vars(rule):
            found.append(rule)
        found += _concrete(rule)
    return found


@functools.cache
def rule_by_code(code: str) -> type[Rule]:
    """Return the rule with a code. Raises KeyError for an unknown one."""
    return {rule.code: rule for rule in all_rules()}[code]


def taking_effect() -> frozenset[str]:
    """Return the codes of the imported rules by whose fixes something takes effect."""
    return frozenset(rule.code for rule in _concrete(Rule) if rule.fix_takes_effect)
