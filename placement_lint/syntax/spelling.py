"""How a name is written at a place, and what has to be imported for it. Light: rules import it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst


@dataclass(frozen=True)
class Needed:
    """A name to import: `from module import name`, or the module itself."""

    path: str
    """The file in which it is needed."""
    beside: cst.Import | cst.ImportFrom
    """The import that it goes next to, or is merged into."""
    module: str
    name: str | None
    """What is imported from the module. None: the module itself."""


@dataclass(frozen=True)
class Spelling:
    """A qualified name as it can be written at a place, and the imports that this takes."""

    text: str
    imports: tuple[Needed, ...] = ()

    def __str__(self) -> str:
        """Return what to write."""
        return self.text


def needed(spellings: Sequence[Spelling | None]) -> tuple[Needed, ...]:
    """Return the imports that some spellings take together."""
    return tuple(each for spelling in spellings if spelling for each in spelling.imports)
