"""What a text may bind names to, by its import statements and assignments: never too little.

It takes code as `code_text.code_of` leaves it, without comments; nothing takes more time than in
proportion to the text.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# What may stand between the parts of a dotted name, in brackets and out of them.
CHAIN = r"[^\W\d]\w*(?:[\s\\)]*\.[\s\\]*[^\W\d]\w*)*"
"""Matches a dotted name."""

_MOST_PREFIXES = 32
"""Of a dotted name that may end at a bracket: no name that means anything has so many parts."""

_IMPORT = re.compile(r"(?<![\w.])import(?!\w)")
_BEFORE_IMPORT = re.compile(r"(?<![.\w\s\\])[.\w\s\\]*\Z")
_FROM = re.compile(r"(?<!\w)from(?!\w)(?P<module>.+)", re.DOTALL)
_NAMES = re.compile(r"(?:[ \t\f]|\\\n)*(?:\((?P<inside>[^()]*)\)|(?P<line>(?:[\w.,* \t\f]|\\\n)*))")
_ALIAS = re.compile(r"(?P<name>[^\W\d][\w.]*)(?: as (?P<alias>\w+))?")
_LINE_END = re.compile(r"(?<!\\)\n")
_VALUE = re.compile(
    rf"=(?!=)[\s\\(]*(?P<chain>{CHAIN})"
    r"(?:(?P<bracket>[\s\\)]*\()|(?![ \t\f)]*[\w.(\[])(?![\s\\)]*=(?!=)))"
)
_TEXT_VALUE = re.compile(r"\s*[rRuU]?[\"']+(?P<text>[\w.]+)")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_GAPS = re.compile(r"[\s\\).]+")


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a text may bind a name: an import of this, or an assignment of it."""

    target: str
    is_import: bool = True


class Ways:
    """Every way in which names may be bound; `*` may be a name among them."""

    def __init__(self) -> None:
        self._of: dict[str, dict[Way, None]] = {}

    def add(self, name: str, way: Way) -> None:
        """Add a way to bind a name, once."""
        self._of.setdefault(name, {})[way] = None

    def lists(self) -> dict[str, list[Way]]:
        """Return the ways to bind each name, in the order in which they were added."""
        return {name: [*ways] for name, ways in self._of.items()}


def read_imports(code: str) -> dict[str, list[Way]]:
    """Read every way in which import statements may bind a name; `*` is a name among them."""
    ways = Ways()
    done = 0
    while found := _IMPORT.search(code, done):
        names = _NAMES.match(code, found.end())
        module = _module_before(code, done, found.start())
        inside = "" if names is None else names["inside"] or names["line"] or ""
        done = found.end() if names is None else max(names.end(), found.end())
        for name, alias in _aliases(inside):
            if module is not None:
                target = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
                ways.add(alias or name, Way(target))
            else:
                target = name if alias else name.partition(".")[0]
                ways.add(alias or target, Way(target))
    return ways.lists()


def _module_before(code: str, lowest: int, place: int) -> str | None:
    """Return the module of the statement whose `import` stands here; None: it has none."""
    start = code.rfind("\n", lowest, place) + 1
    while lowest < start and code[max(start - 2, 0) : start] == "\\\n":
        start = code.rfind("\n", lowest, start - 1) + 1
    before = _BEFORE_IMPORT.search(code[max(start, lowest) : place])
    origin = None if before is None else _FROM.search(before.group())
    return None if origin is None else "".join(origin["module"].replace("\\", " ").split())


def _aliases(text: str) -> Iterator[tuple[str, str | None]]:
    single = " ".join(text.replace("\\", " ").split())
    for item in single.replace(" .", ".").replace(". ", ".").split(","):
        match = _ALIAS.fullmatch(item.strip())
        if item.strip() == "*":
            yield "*", None
        elif match:
            yield match["name"], match["alias"]


class Assignments:
    """What a text may assign to which names; each `=` is known by the place at which it stands."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._known: dict[int, list[str] | None] = {}

    @functools.cached_property
    def _values(self) -> list[re.Match[str]]:
        return [*_VALUE.finditer(self._code)]

    def copies(self) -> Iterator[tuple[int, str]]:
        """Return the dotted names that something may be assigned to be."""
        for match in self._values:
            if match["bracket"] is None:
                yield match.start(), joined(match["chain"])[-1]

    def copies_of(self, heads: Container[str]) -> Iterator[tuple[str, str]]:
        """Return each name that may be assigned to what one of these leads to, and what that is."""
        for place, value in self.copies():
            if value.partition(".")[0] in heads:
                for name in self.targets(place) or ():
                    yield name, value

    def calls(self) -> Iterator[tuple[int, list[str]]]:
        """Return the dotted names whose calls something may be assigned to be."""
        for match in self._values:
            if match["bracket"] is not None:
                yield match.start(), joined(match["chain"])

    def calls_with_text(self) -> Iterator[tuple[int, str]]:
        """Return the dotted names that are written as a string, as the first argument of a call."""
        for match in self._values:
            given = match["bracket"] and _TEXT_VALUE.match(self._code, match.end())
            if given:
                yield match.start(), given["text"]

    def targets(self, place: int) -> list[str] | None:
        """Return the names that an assignment may bind; None: any."""
        if place not in self._known:
            self._read_line(place)
        return self._known[place]

    @functools.cached_property
    def _places(self) -> list[int]:
        return [match.start() for match in self._values]

    @functools.cached_property
    def _lines(self) -> list[int]:
        """Where lines begin, with those that they go on with behind a backslash."""
        return [0, *(match.end() for match in _LINE_END.finditer(self._code))]

    def _read_line(self, place: int) -> None:
        """Find what all assignments on a line bind: each part of it is read once."""
        number = bisect.bisect_right(self._lines, place)
        start = self._lines[number - 1]
        end = self._lines[number] if number < len(self._lines) else len(self._code)
        first = bisect.bisect_left(self._places, start)
        statement = _Statement()
        at = start
        for index in range(first, bisect.bisect_left(self._places, end)):
            place = self._places[index]
            _, semicolon, piece = self._code[at:place].rpartition(";")
            if semicolon:
                statement = _Statement()
            statement.read(piece.replace("\\\n", " "))
            self._known[place] = statement.targets
            at = place + 1
            statement.part_begins()


class _Statement:
    """What stands before an `=`, which is read as far as that, and then as far as the next one."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._is_plain = True
        """Whether all parts between the `=`s are names."""
        self._is_annotated = False
        self._identifiers: list[str] = []
        """The first and the last one."""
        self._first = self._last = ""
        """The characters with which it begins and ends."""
        self._parts = 0

    def part_begins(self) -> None:
        self._last = "="

    def read(self, piece: str) -> None:
        bare = piece.strip()
        if bare:
            self._first = self._first or bare[0]
            self._last = bare[-1]
        self._is_annotated = self._is_annotated or ":" in piece
        found = _IDENTIFIER.findall(piece)
        if found:
            self._identifiers = [*self._identifiers[:1], *found][:1] + found[-1:]
        parts = piece.split("=") if self._is_plain else []
        if self._parts == 0 and len(parts) == 1:
            parts = [piece.strip("() \t\f\n")]
        self._parts += len(parts) or 1
        for part in parts:
            if not self._is_plain:
                break
            if part.strip().isidentifier():
                self._names.append(part.strip())
            else:
                self._is_plain = False

    @property
    def targets(self) -> list[str] | None:
        if self._is_plain:
            return [*self._names]
        if self._is_annotated:
            # Annotated, or behind the colon of a block on one line.
            return self._identifiers
        # What is assigned to may have begun on another line.
        is_inside = self._first in {"]", ")"} and self._last in {"]", ")"}
        return None if is_inside else []


def joined(chain: str) -> list[str]:
    """Return a dotted name without what stands between its parts, the whole of it last.

    `f(a.b).c` reads as `a.b.c`, though it may be the `c` of what a call gives: so `a.b` is there
    as well.
    """
    if chain.isidentifier():
        return [chain]
    whole = _GAPS.sub(".", chain)
    if ")" not in chain:
        return [whole]
    ends = (match.start() for match in _GAPS.finditer(chain) if ")" in match.group())
    prefixes = [_GAPS.sub(".", chain[:end]) for end in itertools.islice(ends, _MOST_PREFIXES)]
    return [*prefixes, whole]
