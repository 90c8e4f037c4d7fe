"""Functions that files of the run give to callbacks and data loaders of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.semantic.program_queries import EffectOrigin, GivenComputation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.model import ModuleFacts

WORDS = (
    *(b"pure_callback", b"io_callback", b"debug.callback"),
    *(b"DataLoader", b"mp_prefetch", b"num_proc"),
)
"""A file that gives something has one of these."""

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
    # A run in which nothing is parsed needs none of these.
    import libcst as cst

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.given_functions import computations_given

    found: dict[str, list[GivenComputation]] = {}
    for path in sorted(modules.giving):
        with borrowed(path) as facts:
            if facts is None:
                continue
            view = FileView(facts)
            for call in facts.tree.every(cst.Call):
                for given in computations_given(call, view):
                    at = given.origin
                    if at is None or at.path == path:
                        continue
                    loader = view.called(call) or "a data loader"
                    by = EffectOrigin(path, facts.line_of(call), loader)
                    one = GivenComputation(at.line, at.what, given.to, by, given.is_certain)
                    found.setdefault(at.path, []).append(one)
    return {path: tuple(each) for path, each in found.items()}
