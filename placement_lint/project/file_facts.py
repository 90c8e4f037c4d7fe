"""What the text of a file says of names, whatever the other files are: worked out once a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass
class Wording:
    """What is known of one text so far; None is what nobody has asked for yet."""

    imports: dict[str, list[str]] | None = None
    """From names to what import statements may bind them to."""
    assigned: list[tuple[str, str]] | None = None
    """Names, and what imports bind that they may be assigned to, or something in it."""
    imported: frozenset[str] | None = None
    """The qualified names that come by imports; None also where some of them are not written."""
    bound: dict[str, tuple[str, ...]] | None = None
    """What each name of the module stands for, by its tree."""
    pins: bool | None = None
    """Whether it pins the program to the CPU."""


class Wordings:
    """The wordings of the files of a run."""

    def __init__(self, before: Callable[[str], Wording | None] | None = None) -> None:
        """Take what tells what is known already of a text that is what it was."""
        self._before = before
        self._of: dict[str, Wording] = {}

    def __getitem__(self, path: str) -> Wording:
        """Give that of a file, to be read and written."""
        wording = self._of.get(path)
        if wording is None:
            known = None if self._before is None else self._before(path)
            wording = self._of[path] = Wording() if known is None else known
        return wording

    def known(self, paths: Iterable[str]) -> dict[str, Wording]:
        """Give those of which anything is known, by path."""
        nothing = Wording()
        return {path: wording for path in paths if (wording := self[path]) != nothing}


def to_json(wording: Wording) -> list[Any]:
    """Give a wording as what JSON has."""
    imported = None if wording.imported is None else sorted(wording.imported)
    return [wording.imports, wording.assigned, imported, wording.bound, wording.pins]


def from_json(value: Any) -> Wording:
    """Give what `to_json` has made into JSON. Raises TypeError or ValueError for anything else."""
    imports, assigned, imported, bound, pins = value
    if not isinstance(pins, bool | None):
        raise TypeError(pins)
    return Wording(
        None if imports is None else {name: [*targets] for name, targets in imports.items()},
        None if assigned is None else [(name, value) for name, value in assigned],
        None if imported is None else frozenset(imported),
        None if bound is None else {name: tuple(origins) for name, origins in bound.items()},
        pins,
    )
