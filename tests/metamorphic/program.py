"""Programs whose lines carry a mark, by which they are found again however they are moved."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from tests.metamorphic.text import NotApplicableError, Text
from tests.variants import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Place: TypeAlias = tuple[str, int]
"""A file and a line, from 1."""

_MARK = re.compile("  #\ue000(?P<file>\\d+):(?P<line>\\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """The files of one program: paths to texts, each line with its mark."""

    files: dict[str, str]
    paths: tuple[str, ...]
    """The paths of the program as it was at first: marks count them."""
    run: str = ""
    """What starts it: statements of another module."""

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The files, parsed. Raises NotApplicableError if one is not Python."""
        return {path: Text(text) for path, text in self.files.items()}

    def mark(self, path: str, line: int) -> str:
        """Give the mark of a line of the program as it is now, to be put behind another line."""
        text = self.files[path].split("\n")[line - 1]
        found = _MARK.search(text)
        return found.group() if found else ""

    def elsewhere(self, path: str, name: str) -> bool:
        """Tell whether another file of the program says a name."""
        others = [text for other, text in self.files.items() if other != path]
        return any(
            re.search(rf"\b{re.escape(name)}\b|import \*", text) for text in (*others, self.run)
        )

    def unused(self, name: str) -> str:
        """Give a name that the program does not say: this one, or this one and a number."""
        texts = "\n".join((*self.files.values(), self.run))
        number, new = 1, name
        while re.search(rf"\b{re.escape(new)}\b", texts):
            number, new = number + 1, f"{name}{number}"
        return new

    def changed(self, files: dict[str, str]) -> Program:
        """Give the program with some files written another way, or new."""
        return Program({**self.files, **files}, self.paths, self.run)


@dataclass(frozen=True)
class Variant:
    """A program written another way."""

    program: Program
    merged: dict[Place, Place] = field(default_factory=dict)
    """Lines of the program as it was at first that are now a part of another one."""
    site: str = ""
    """Where it was changed, for the reader."""


Transformation: TypeAlias = "Callable[[Program], Sequence[Variant]]"
"""Gives the program written another way, once for each place where that is possible.

Raises NotApplicableError, which says why not, where there is none.
"""


def marked(files: dict[str, str], run: str = "") -> Program:
    """Mark every line of the files that takes a comment."""
    paths = tuple(files)
    found = {}
    for number, (path, text) in enumerate(files.items()):
        layout = Layout(text)
        lines = text.split("\n")
        for line, content in enumerate(lines, 1):
            if content.strip() and layout.takes_comment(line):
                lines[line - 1] = f"{content}  #\ue000{number}:{line}"
        found[path] = "\n".join(lines)
    return Program(found, paths, run)


def unmarked(text: str) -> str:
    """Give a text without marks."""
    return _MARK.sub("", text)


def origins(program: Program) -> dict[Place, Place]:
    """Give the line of the program as it was at first for each line that has a mark."""
    found: dict[Place, Place] = {}
    for path, text in program.files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if mark := _MARK.search(line):
                found[path, number] = program.paths[int(mark["file"])], int(mark["line"])
    return found


def mapped(places: Iterable[tuple[str, int, str]], variant: Variant) -> Counter[tuple[Place, str]]:
    """Count findings (path, line, code) of a variant by the lines that they were on at first."""
    original = origins(variant.program)
    found: Counter[tuple[Place, str]] = Counter()
    for path, line, code in places:
        place = original.get((path, line), (f"new line of {path}", line))
        found[variant.merged.get(place, place), code] += 1
    return found


def require(condition: object, reason: str) -> None:
    """Raise NotApplicableError with a reason unless a condition holds."""
    if not condition:
        raise NotApplicableError(reason)
