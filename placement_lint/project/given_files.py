"""Functions that files of the run give to callbacks and data loaders of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import GivenComputation

_MOST_STEPS = 3
"""Imports from a file that gives something to the one with the computation."""


def may_be_given(path: str, modules: Modules) -> bool:
    """Return whether a file that gives something imports a file, in a few steps."""
    return bool(modules.giving) and path in modules.fact(_imported_by_giving)


def _imported_by_giving(modules: Modules) -> frozenset[str]:
    found: set[str] = set()
    current = set(modules.giving)
    for _ in range(_MOST_STEPS):
        following: set[str] = set()
        for path in sorted(current):
            with modules.isolating(path):
                following |= {imported for _, imported, _ in modules.imports_of(path)}
        current = following - found
        found |= current
    return frozenset(found)


def given_computations(
    modules: Modules, borrowed: Callable[[str], AbstractContextManager[ModuleFacts | None]]
) -> Mapping[str, tuple[GivenComputation, ...]]:
    """Return by file the computations that other files let callbacks and workers run.

    `borrowed` lends the facts of a file.
    """
    # A run in which nothing is parsed does not need it.
    from placement_lint.semantic.given_functions import given_to_others

    found: dict[str, list[GivenComputation]] = {}
    for path in sorted(modules.giving):
        with borrowed(path) as facts:
            if facts is None:
                continue
            for there, given in given_to_others(facts):
                found.setdefault(there, []).append(given)
    return {path: tuple(each) for path, each in found.items()}
