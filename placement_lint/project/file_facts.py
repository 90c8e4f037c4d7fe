"""What the text of a file says of names, whatever the other files are: worked out once a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class TopStatement:
    """What a statement at the top of a file binds and uses, other than imports."""

    names: tuple[str, ...]
    """The names by which other statements get at it."""
    donates: bool
    """Whether a call in it says what it donates."""
    uses: tuple[str, ...]
    """The names of the file in it, and what it says of imported ones: how dotted names begin
    (`name.`) and end (`.name`), and each two parts in them."""


@dataclass
class FileFacts:
    """What is known of one text so far; None is what nobody has asked for yet."""

    named: frozenset[str] | None = None
    """The words that its import statements hold, and some more."""
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
    pins_at_top: bool = False
    """Whether it does so in no function, once `pins` is known."""
    offers: frozenset[str] = frozenset()
    """The names of functions that do so where another file calls them, once `pins` is known."""
    takes: dict[tuple[str, ...], tuple[bool, frozenset[str]]] = field(default_factory=dict)
    """By names that another file offers so: whether the file surely calls one, and the names of its
    own functions that do."""
    statements: list[TopStatement] | None = None
    """What its statements use, as far as anyone asked who uses what donates."""


class FactsByFile:
    """The facts_by_file of the files of a run."""

    def __init__(self, before: Callable[[str], FileFacts | None] | None = None) -> None:
        """Take what tells what is known already of a text that is what it was."""
        self._before = before
        self._of: dict[str, FileFacts] = {}

    def __getitem__(self, path: str) -> FileFacts:
        """Return that of a file, to be read and written."""
        facts = self._of.get(path)
        if facts is None:
            known = None if self._before is None else self._before(path)
            facts = self._of[path] = FileFacts() if known is None else known
        return facts

    def known(self, paths: Iterable[str]) -> dict[str, FileFacts]:
        """Return those of which anything is known, by path."""
        nothing = FileFacts()
        return {path: facts for path in paths if (facts := self[path]) != nothing}
