"""What executing a module does, in order and said without its tree: nothing of other files in it.

Imports are in it by name, so that a summary depends on the text of its own file, and on what the
names in it stand for, and on nothing else. What they do is found out where summaries are executed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.jaxmodel.startup import IMPORTS_JAX

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BRANCHES = 16
"""How deep branches may lie in branches: an `elif` is in the `else` of what is before it."""


class Kind(enum.Enum):
    """What can happen."""

    IMPORTS = "imports"
    """JAX is imported: it reads its `JAX_…` variables."""
    STARTS = "starts"
    """The backend is started: the platform is chosen, XLA reads its variables."""
    RESETS = "resets"
    """The backend is given up again."""
    SETS = "sets"
    """An environment variable is set."""


@dataclass(frozen=True, slots=True)
class Does:
    """Something happens."""

    kind: Kind
    what: str
    """`jax.devices()`, `import jax`; for a variable its name."""
    line: int


@dataclass(frozen=True, slots=True)
class Imports:
    """A module is imported, by its name as Python writes it: a leading dot for each level."""

    name: str


@dataclass(frozen=True, slots=True)
class Either:
    """One of two branches is executed."""

    body: Summary
    orelse: Summary


@dataclass(frozen=True, slots=True)
class Perhaps:
    """Modules that are imported on some ways and not on others."""

    names: tuple[str, ...]


Step: TypeAlias = Does | Imports | Either | Perhaps
Summary: TypeAlias = "tuple[Step, ...]"


def import_of_jax(name: str) -> str | None:
    """Return an import that brings JAX as a message names it; None if the import brings no JAX."""
    if any(f"{name}.".startswith(f"{module}.") for module in IMPORTS_JAX):
        return f"import {'jax' if name.startswith('jax') else name}"
    return None


def either(summary: list[Step], body: Summary, orelse: Summary) -> None:
    """Add two branches of which one is executed."""
    if body and orelse:
        summary.append(Either(body, orelse))
    else:
        perhaps(summary, imported_in(body or orelse))


def perhaps(summary: list[Step], names: Iterable[str]) -> None:
    """Add modules that are imported on some ways."""
    found = tuple(dict.fromkeys(names))
    if found:
        summary.append(Perhaps(found))


def imported_in(summary: Summary) -> list[str]:
    names: list[str] = []
    for step in summary:
        if isinstance(step, Imports):
            names.append(step.name)
        elif isinstance(step, Perhaps):
            names += step.names
        elif isinstance(step, Either):
            names += [*imported_in(step.body), *imported_in(step.orelse)]
    return names
