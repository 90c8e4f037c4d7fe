"""What the names that a module binds stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.files.store import FileStore

STAR_NAME = "*"
"""What `from … import *` is kept under, beside the names that a module binds."""


def read_bindings(path: str, store: FileStore) -> dict[str, tuple[str, ...]]:
    """Return the names that each name of a module may stand for; none for what is no name.

    And the modules of star imports, the last one first.
    """
    from placement_lint.syntax.names import Ambiguous, Known
    from placement_lint.syntax.parse import names_of

    names = names_of(path, store)
    if names is None:
        return {}
    bound: dict[str, tuple[str, ...]] = {}
    for name in names.module_scope.bindings:
        resolution = names.lookup(name, names.module_scope)
        if isinstance(resolution, Known):
            bound[name] = (resolution.name,)
        elif isinstance(resolution, Ambiguous):
            bound[name] = tuple(sorted(resolution.names))
    if names.star_imports:
        bound[STAR_NAME] = tuple(names.star_imports)
    return bound
