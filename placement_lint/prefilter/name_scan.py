"""What names a text may hold, found by regular expressions: never fewer than it can have.

LibCST needs 60 µs for a line, these expressions one: they decide which files are parsed. So they
must find every name that `Names` could resolve, in any way of writing it, and may find more.
"""

from __future__ import annotations

import copy
import functools
import keyword
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.syntax.bindings_text import CHAIN, Assignments, joined, read_imports
from placement_lint.syntax.brackets_text import Brackets
from placement_lint.syntax.code_text import code_of, outside_functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.syntax.bindings_text import Way

_LONGEST_NAME = 200
"""Longer ones come of names that stand for a part of themselves, as in walks over linked lists."""

_MOST_MEANINGS = 64
_MOST_PARTS = 12
_LONGEST_HEADER = 1_500
"""Characters behind a `with` that may say what is entered."""

_BETWEEN = " \t\f\n\\)"
_LONGEST_KEYWORD = max(map(len, keyword.kwlist))

_CHAINS = re.compile(CHAIN)
_TIGHT = re.compile(r"[^\W\d][\w.]*")
_TIGHT_IN_ASCII = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
# A dot that is not right behind the name, or not right before one.
_LOOSE_DOT = re.compile(r"\.(?:(?<![\w\]\"'}]\.)|(?=[\s\\]))")
_CALLED = re.compile(r"(?:def|class)\s+\w+|([^\W\d][\w.]*)([\s\\)]*\()?")
_CALLS = re.compile(r"(?<![\w.])([^\W\d][\w.]*)[\s\\)]*\(")
_ENTERED = re.compile(r"\bwith\b")
# What may stand before a statement on its line: a block's header, another statement, a bracket.
_STATEMENTS = re.compile(rf"(?:^|[;:])[ \t\f\\(]*({CHAIN})", re.MULTILINE)
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NO_OWNER = re.compile(r"(?<![\w.])[^\W\d]\w*\b(?![\s\\]*\.)")
_DECORATORS = re.compile(r"@[ \t]{0,8}([^\W\d]\w*)")
_ITEM_CALLED = re.compile(r"\][ \t]{0,8}\(")
_DEFINED = re.compile(r"\bdef[\s\\]+([^\W\d]\w*)")
_BOUND = re.compile(r"(?<!\w)([^\W\d]\w*)[\s\\)]*=(?!=)")
_ANNOTATED = re.compile(r"(?<!\w)([^\W\d]\w*)[\s\\)]*:")
_STAR = re.compile(r"\s*\*")
_PART_OF_NAME = re.compile(r"[\w.]*")
_BY_TEXT = ("import_module", "importorskip")
"""Functions that import what a string names."""

_FROM_EXPORTS = (
    "calls_imported_at_import",
    "_bound",
    "_meant_by_called",
    "_meant_by_loose",
    "above",
    "called",
    "called_at_import",
    "calls_own_function_at_import",
    "imported",
    "names",
)
"""What is found out once, and depends on other files."""

Exports: TypeAlias = Callable[[str], "Iterable[str]"]
"""Given a qualified name in a module of the project, what it may have been imported from."""


class Mentions:
    """The qualified names that a text may hold."""

    def __init__(self, text: str, exports: Exports | None = None) -> None:
        """`text` may have any line ends; `exports` returns what names in other files stand for."""
        self._code = code_of(with_line_feeds(text))
        self._exports = exports or _nothing

    @classmethod
    def in_code(cls, code: str, exports: Exports | None = None) -> Mentions:
        """Return the names that code may hold, as `code_text.code_of` leaves it."""
        mentions = cls("", exports)
        mentions._code = code
        return mentions

    def knowing(self, exports: Exports) -> Mentions:
        """Return the same names with what names in other files stand for."""
        mentions = copy.copy(self)
        mentions._exports = exports
        for name in _FROM_EXPORTS:
            vars(mentions).pop(name, None)
        return mentions

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every identifier, in code and in short strings."""
        return frozenset(part for chain in self._chains for part in chain.split("."))

    @property
    def is_open(self) -> bool:
        """Whether names may come from where no name is written: any word may then be any name."""
        return self._bound[1]

    @property
    def may_hide_names(self) -> bool:
        """Whether there may be names of other files that are not written: by `*`, or as above."""
        return self.is_open or "*" in self._imported

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Every qualified name that an import, a name or an attribute may stand for.

        A dotted name is there as a whole: of `jax.devices.x` this has no `jax.devices`.
        """
        meanings, _ = self._bound
        imported = {target for targets in meanings.values() for target in targets}
        return frozenset(imported | self._meant_by(self._chains))

    @functools.cached_property
    def imported(self) -> frozenset[str] | None:
        """Those of the names that come of an import; None where others may, that are not written.

        No other name can be one of another file.
        """
        if self.may_hide_names:
            return None
        meanings, _ = self._bound
        chains = (chain for chain in self._chains if chain.partition(".")[0] in meanings)
        imported = {target for targets in meanings.values() for target in targets}
        return frozenset(imported | self._meant_by(chains))

    @functools.cached_property
    def above(self) -> frozenset[str]:
        """Everything that lies above one of the names: `jax` and `jax.lib` above `jax.lib.x`."""
        found: set[str] = set()
        for name in self.names:
            # No rule asks for more parts, and there may be thousands.
            part = ".".join(name.split(".", _MOST_PARTS)[:_MOST_PARTS]).rpartition(".")[0]
            while part and part not in found:
                found.add(part)
                part = part.rpartition(".")[0]
        return frozenset(found)

    @functools.cached_property
    def called_at_import(self) -> set[str]:
        """Every qualified name that may be called outside of the bodies of functions."""
        return self.called_in(self._outside)

    @functools.cached_property
    def _outside(self) -> str:
        """The code outside of the bodies of functions."""
        return outside_functions(self._code)

    @functools.cached_property
    def called(self) -> set[str]:
        return self.called_in(self._code)

    @functools.cached_property
    def calls_own_function_at_import(self) -> bool:
        """Whether a function of the file may be called outside of the bodies of functions."""
        defined = set(_DEFINED.findall(self._code))
        called = {name.rpartition(".")[2] for name in self.called_at_import}
        outside = self._outside if defined else ""
        if not defined.isdisjoint(called) or _ITEM_CALLED.search(outside):
            return bool(defined)
        # A decorator may call what it decorates at once.
        return not defined.isdisjoint(_DECORATORS.findall(outside))

    @functools.cached_property
    def calls_imported_at_import(self) -> bool:
        """Whether what is called outside of the bodies of functions may be of another file of the
        run: it comes of an import, and not of Python's own library or a package that is known.
        """
        from placement_lint.jaxmodel.known_packages import KNOWN_PACKAGES

        return any(
            "." in name and name.partition(".")[0] not in KNOWN_PACKAGES
            for name in self.called_at_import & (self.imported or frozenset())
        )

    def called_in(self, part: str) -> set[str]:
        together = (chain for chain, bracket in set(_CALLED.findall(part)) if bracket)
        return self._meant_by(together) | self._meant_by_all(_loose_chains(part))

    def enters(self, names: frozenset[str]) -> bool:
        """Return whether a `with` may enter what a call of one of these makes, or a name for it."""
        parts = [*self._behind_with()]
        if not parts:
            return False
        made: set[str] = set()
        for place, chains in self._assignments.calls():
            if not names.isdisjoint(self._meant_by(chains)):
                targets = self._assignments.targets(place)
                if targets is None:
                    return True
                made.update(targets)
        return any(
            not made.isdisjoint(_IDENTIFIER.findall(part))
            or not names.isdisjoint(self.called_in(part))
            for part in parts
        )

    def _behind_with(self) -> Iterator[str]:
        """Yield the code behind each `with`, as far as its header may go; none of it twice."""
        start = end = 0
        for match in _ENTERED.finditer(self._code):
            if match.end() > end:
                if end:
                    yield self._code[start:end]
                start = match.end()
            end = match.end() + _LONGEST_HEADER
        if end:
            yield self._code[start:end]

    def arguments_of(self, names: frozenset[str]) -> Iterator[str | None]:
        """Yield what is between the brackets of each call of one of these; None: unknown.

        Never fewer calls than there are, and never less than a call is given. What a call is given
        that is between the brackets of another one of these is a part of what that is given.
        """
        done = 0
        for bracket in self._calls_of(names):
            if bracket is None:
                yield None
            elif bracket >= done:
                given = self._brackets.between(bracket)
                done = bracket + len(given or "")
                yield given

    def gives_function(self, names: frozenset[str]) -> bool:
        """Return whether the first argument of a call of one of these may be a function.

        One of this file, or an imported one.
        """
        done = 0
        for bracket in self._calls_of(names):
            if bracket is None or _STAR.match(self._code, bracket + 1):
                return True
            # Where another one stands that was asked for already, so are the names in this.
            if bracket >= done:
                first = self._brackets.first_of(bracket)
                if first is None or self._names_function(first):
                    return True
                done = bracket + len(first)
        return False

    def _calls_of(self, names: frozenset[str]) -> Iterator[int | None]:
        """Yield the bracket of each call of one of these; None where there may be one."""
        brackets = [
            bracket
            for chain, every in self._brackets_by_chain.items()
            if not names.isdisjoint(self._meant_by_called[chain])
            for bracket in every
        ]
        yield from sorted(brackets)
        if not names.isdisjoint(self._meant_by_loose):
            yield None

    @functools.cached_property
    def _brackets_by_chain(self) -> dict[str, list[int]]:
        """The brackets of calls, by the dotted name that is called."""
        found: dict[str, list[int]] = {}
        for match in _CALLS.finditer(self._code):
            found.setdefault(match[1].strip("."), []).append(match.end() - 1)
        return found

    @functools.cached_property
    def _meant_by_called(self) -> dict[str, set[str]]:
        """What each dotted name that is called may stand for."""
        return {chain: self._meant_by([chain]) for chain in self._brackets_by_chain}

    @functools.cached_property
    def _meant_by_loose(self) -> set[str]:
        """What the dotted names may stand for whose parts are apart."""
        return self._meant_by_all(self._loose)

    def _names_function(self, argument: str) -> bool:
        """Return whether an argument may be a function of this file, or imported."""
        if "lambda" in argument:
            return True
        meanings, _ = self._bound
        for chain in set(_CHAINS.findall(argument)):
            for whole in joined(chain):
                head, _, _ = whole.partition(".")
                if not meanings.get(head, set()) <= {"functools", "functools.partial"}:
                    return True
                if whole.rpartition(".")[2] in self._made_here:
                    return True
        return False

    @functools.cached_property
    def _made_here(self) -> frozenset[str]:
        """The names of functions of the file, and those that may be assigned to."""
        found = {*_DEFINED.findall(self._code), *_BOUND.findall(self._code)}
        for line in self._code.replace("\\\n", " ").split("\n"):
            before, equals, _ = line.rpartition("=")
            if equals and ":" in before:
                found.update(_ANNOTATED.findall(before))
        return frozenset(found)

    def reads_of_value(self, attribute: str, *, called: bool) -> bool:
        """Whether this may be read of something that is no module; and called, if so asked."""
        end = r"(?=[\s\\)]*\()" if called else ""
        return any(
            (owner := _owner_of(self._code, start, stop)) is not None
            and not (owner and self._is_module(owner))
            for start, stop in _names_that_end_in(rf"(?<!\w){attribute}\b{end}", self._code)
        )

    def _is_module(self, name: str) -> bool:
        """Return whether a name is imported, and never anything but the owner of what is read."""
        return name in self._imported and name not in self._without_owner

    @functools.cached_property
    def _without_owner(self) -> frozenset[str]:
        """The names that are used by themselves somewhere, but in imports."""
        lines = self._code.split("\n")
        others = "\n".join(";" if "import" in line else line for line in lines)
        return frozenset(_NO_OWNER.findall(others))

    @functools.cached_property
    def _imported(self) -> dict[str, list[Way]]:
        return read_imports(self._code)

    @functools.cached_property
    def _assignments(self) -> Assignments:
        return Assignments(self._code)

    @functools.cached_property
    def _brackets(self) -> Brackets:
        return Brackets(self._code)

    @functools.cached_property
    def _loose(self) -> frozenset[str]:
        return frozenset(_loose_chains(self._code))

    def begins_statement(self, names: frozenset[str]) -> bool:
        return not names.isdisjoint(self._meant_by_all(_STATEMENTS.findall(self._code)))

    def _meant_by_all(self, chains: Iterable[str]) -> set[str]:
        return self._meant_by(chain for each in set(chains) for chain in joined(each))

    def _meant_by(self, chains: Iterable[str]) -> set[str]:
        meanings, _ = self._bound
        found: set[str] = set()
        for chain in chains:
            head, dot, rest = chain.partition(".")
            targets = meanings.get(head)
            if targets is None:
                found.add(chain)
            else:
                found.update([f"{target}{dot}{rest}" for target in targets])
        if self._exports is not _nothing:
            found.update([each for name in found for each in self._exports(name)])
        return found

    @functools.cached_property
    def _chains(self) -> frozenset[str]:
        tight = _TIGHT_IN_ASCII if self._code.isascii() else _TIGHT
        found = {chain.strip(".") for chain in set(tight.findall(self._code))}
        for chain in self._loose:
            found.update(joined(chain))
        return frozenset(found)

    @functools.cached_property
    def _bound(self) -> tuple[dict[str, set[str]], bool]:
        """What each name that is bound may stand for, and whether that is not all of it."""
        meanings: dict[str, set[str]] = {}
        pending: list[tuple[str, set[str]]] = []
        is_tangled = False

        def learn(name: str, targets: Iterable[str]) -> None:
            nonlocal is_tangled
            known = meanings.setdefault(name, set())
            more = {*targets} - known
            if len(known) + len(more) > _MOST_MEANINGS:
                is_tangled = True
            elif more:
                known |= more
                pending.append((name, more))

        for name, ways in self._imported.items():
            if name != "*":
                learn(name, (each for way in ways for each in self._meant_by_import(way.target)))
        if any(word in self._code for word in _BY_TEXT):
            for place, target in self._assignments.calls_with_text():
                for name in self._assignments.targets(place) or ():
                    learn(name, [target])
        users: dict[str, list[tuple[int, str]]] = {}
        for place, value in self._assignments.copies():
            head, dot, rest = value.partition(".")
            users.setdefault(head, []).append((place, dot + rest))
        while pending and not is_tangled:
            head, targets = pending.pop()
            for place, rest in users.get(head, ()):
                names = self._assignments.targets(place)
                if names is None:
                    is_tangled = True
                for name in names or ():
                    longer = (f"{target}{rest}" for target in targets)
                    learn(name, (each for each in longer if len(each) <= _LONGEST_NAME))
        return meanings, is_tangled

    def _meant_by_import(self, target: str) -> tuple[str, ...]:
        return (target, *self._exports(target))


def _nothing(_: str) -> Iterable[str]:
    return ()


def _names_that_end_in(word: str, code: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the dotted names that end in a word: of one inside another, the longer.

    The word is searched for by itself, and what is before it read backward: of a long file, an
    expression for the whole would look at each name.
    """
    start = stop = -1
    for match in re.finditer(word, code):
        if stop < 0 or _PART_OF_NAME.fullmatch(code, stop, match.start()) is None:
            if stop >= 0:
                yield start, stop
            start = match.start()
            while start and (code[start - 1].isalnum() or code[start - 1] in "_."):
                start -= 1
        stop = match.end()
    if stop >= 0:
        yield start, stop


def _owner_of(code: str, start: int, end: int) -> str | None:
    """Return the first name of what an attribute is read of, with which a dotted name ends here.

    "": it is read of no name; None: it is no attribute.
    """
    owner, dot, _ = code[start:end].partition(".")
    if dot:
        return owner
    before = _end_before(code, start)
    if code[before - 1 : before] != ".":
        return None
    return code[_start_of(code, before) : before].partition(".")[0]


def _loose_chains(code: str) -> Iterator[str]:
    """Yield the dotted names whose parts are apart: over several lines, in brackets."""
    done = 0
    for match in _LOOSE_DOT.finditer(code):
        place = match.start()
        if place < done:
            continue
        end = _end_before(code, place)
        if code[end - 1 : end] in {"", "."}:
            continue
        if code.find(")", end, place) >= 0 and not _is_bracketed(code, end):
            continue
        chain = _CHAINS.match(code, _start_of(code, end))
        if chain is not None:
            done = chain.end()
            yield chain.group()


def _end_before(code: str, place: int) -> int:
    """Return where that ends which is continued here: before spaces and brackets."""
    width = 100
    while True:
        start = max(place - width, 0)
        end = start + len(code[start:place].rstrip(_BETWEEN))
        if end > start or not start:
            return end
        width *= 8


def _start_of(code: str, end: int) -> int:
    """Return where the dotted name begins that ends here, whose parts are not apart."""
    while end and (code[end - 1].isalnum() or code[end - 1] in "_."):
        end -= 1
    return end


def _is_bracketed(code: str, end: int) -> bool:
    """Return whether the name that ends here is alone in brackets, which are no call's."""
    start = end
    while start and (code[start - 1].isalnum() or code[start - 1] in "_. \t\f\n\\"):
        start -= 1
    if code[start - 1 : start] != "(":
        return False
    before = code[max(start - 2 - _LONGEST_KEYWORD, 0) : start - 1]
    if not before[-1:].isidentifier():
        return True
    return any(
        before.endswith(word) and not before[: -len(word)][-1:].isidentifier()
        for word in keyword.kwlist
    )
