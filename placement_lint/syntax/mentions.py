"""What names a text may hold, found by regular expressions: never fewer than it can have.

LibCST needs 60 µs for a line, these expressions one: they decide which files are parsed. So they
must find every name that `Names` could resolve, in any way of writing it, and may find more.
"""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.syntax.code_text import COMMENT, STRING, outside_functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST = 1_000
"""Characters from the `from` of a statement to its `import`, and before the `=` of one."""

_LONGEST_NAME = 200
"""Longer ones come of names that stand for a part of themselves, as in walks over linked lists."""

_MOST_MEANINGS = 64
_MOST_PARTS = 12

_BRACKET = re.compile(r"\)")
_QUOTES = frozenset("\"'")
_BETWEEN = " \t\f\n\\)"
_LONGEST_KEYWORD = max(map(len, keyword.kwlist))

_FROM = re.compile(r"\bfrom(?P<module>[.\w\s\\]+)\Z")
_NAMES = re.compile(r"[ \t\f]*(?:\\\n[ \t\f]*)*(?:\((?:[^()#]|#[^\n]*)*\)|(?:[^\n\\;#]|\\\n)*)")
_NOISE = re.compile(r"#[^\n]*|[()\\]")
_ALIAS = re.compile(r"\s*(?P<name>[^\W\d][\w.]*)(?:\s+as\s+(?P<alias>\w+))?\s*")

# What may stand between the parts of a dotted name, in brackets and out of them.
# Of comments there no more and no longer ones than that, so that text full of them takes no time
# that grows with its square.
_NOTES = r"(?:#[^\n]{0,1000}\n[\s\\)]*){0,40}"
_SPACE = rf"[\s\\)]*{_NOTES}"
_GAP = rf"{_SPACE}\.[\s\\]*{_NOTES}"
_CHAIN = rf"[^\W\d]\w*(?:{_GAP}[^\W\d]\w*)*"
_CHAINS = re.compile(_CHAIN)
_CALLED = re.compile(r"(?:def|class)\s+\w+|([^\W\d][\w.]*)([\s\\)]*\()?")
_DEFINED = re.compile(r"\bdef[\s\\]+(\w+)")
_MADE = re.compile(rf"=(?!=)[\s\\(]*{_NOTES}({_CHAIN}){_SPACE}\(")
_ENTERED = re.compile(r"\bwith\b(?=(.{0,1500}))", re.DOTALL)
_CALLS = re.compile(rf"(?<![\w.])([^\W\d][\w.]*){_SPACE}\(")
_IN_BRACKETS = re.compile(rf"[()\[\]{{}}]|{STRING}|{COMMENT}", re.DOTALL)
_IN_ARGUMENTS = re.compile(rf"[,()\[\]{{}}]|{STRING}|{COMMENT}", re.DOTALL)
_LONGEST_CALL = 4_000
"""Characters between the brackets of a call."""
# What may stand before a statement on its line: a block's header, another statement, a bracket.
_STATEMENTS = re.compile(rf"(?:^|[;:])[ \t\f\\(]*({_CHAIN})", re.MULTILINE)
_GAPS = re.compile(r"(?:[\s\\).]|#[^\n]*\n)+")
# Comments and strings as wholes, so that nothing in them is taken for code, and dotted names that
# stand together, with the prefix of a string. What each may begin with is what is searched for.
_TOKENS = re.compile(
    r"""[^\W\d][\w.]*(?:\"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\""""
    r"""|\'\'\'[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*\'\'\')?"""
    rf"|{STRING}|{COMMENT}",
    re.DOTALL,
)
_TOKENS_OF_ASCII = re.compile(
    _TOKENS.pattern.replace(r"[^\W\d]", "[A-Za-z_]"), re.DOTALL | re.ASCII
)
# A dot that is not right behind the name, or not right before one.
_LOOSE_DOT = re.compile(r"\.(?:(?<![\w\]\"'}]\.)|(?=[\s\\#]))")
_FORMATTED = re.compile(r"[fFtT][rR]?[\"']|[rR][fFtT][\"']")
_ASSIGNED = re.compile(rf"=(?!=)[\s\\(]*({_CHAIN})[ \t\f)]*(?![\w.(\[])")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_BY_TEXT = ("import_module", "importorskip")
"""Functions that import what a string names."""
_IMPORTED_BY_TEXT = re.compile(
    rf"(?<!\w)([^\W\d]\w*)[ \t\f]*(?::[^=\n]{{0,1000}})?=(?!=)[\s\\(]*{_CHAIN}"
    r"[\s\\)]*\(\s*[rRuU]?[\"']+([\w.]+)"
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a text may bind a name: an import of this, or an assignment of it."""

    target: str
    is_import: bool = True


def read_imports(text: str) -> dict[str, list[Way]]:
    """Read every way in which import statements may bind a name; `*` is a name among them."""
    ways: dict[str, list[Way]] = {}
    at = text.find("import")
    while at >= 0:
        names = _NAMES.match(text, at + len("import"))
        origin = _FROM.search(text[max(_line_start(text, at), at - _LONGEST) : at])
        module = "".join(origin["module"].replace("\\", " ").split()) if origin else None
        for name, alias in _aliases(names.group() if names else ""):
            if module is not None:
                target = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
                add_way(ways, alias or name, Way(target))
            else:
                target = name if alias else name.partition(".")[0]
                add_way(ways, alias or target, Way(target))
        at = text.find("import", names.end() if names else at + 1)
    return ways


def read_assignments(text: str) -> Iterator[tuple[str, int]]:
    """Give each name that may be assigned to something, and where the `=` of that stands."""
    for match in _ASSIGNED.finditer(text):
        yield _joined(match[1])[-1], match.start()


def targets_at(text: str, end: int) -> list[str] | None:
    """Give the names that the assignment whose `=` is here may bind; None: any."""
    start = _line_start(text, end)
    if end - start > _LONGEST:
        # There may be as many others on the line, each as far from its beginning.
        return None
    before = text[start:end].replace("\\\n", " ").rpartition(";")[2].strip()
    if (name := before.strip("() \t\f")).isidentifier():
        return [name]
    if ":" in before:
        # Annotated, or behind the colon of a block on one line.
        names = _IDENTIFIER.findall(before)
        return [names[0], names[-1]] if names else None
    names = [part.strip() for part in before.split("=")]
    if len(names) > 1 and all(map(str.isidentifier, names)):
        return names
    # What is assigned to may have begun on another line.
    return None if before.startswith(("]", ")")) and before.endswith(("]", ")")) else []


def _line_start(text: str, at: int) -> int:
    """Give where a line begins, with those that it continues, or some place too far back."""
    start = text.rfind("\n", 0, at) + 1
    while at - start <= _LONGEST and text[max(start - 2, 0) : start] == "\\\n":
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def add_way(ways: dict[str, list[Way]], name: str, way: Way) -> None:
    """Add a way to bind a name, once."""
    known = ways.setdefault(name, [])
    if way not in known:
        known.append(way)


def _aliases(text: str) -> Iterator[tuple[str, str | None]]:
    single = " ".join(_NOISE.sub(" ", text).split())
    for item in single.replace(" .", ".").replace(". ", ".").split(","):
        match = _ALIAS.fullmatch(item)
        if item.strip() == "*":
            yield "*", None
        elif match:
            yield match["name"], match["alias"]


Exports: TypeAlias = Callable[[str], "Iterable[str]"]
"""Given a qualified name in a module of the project, what it may have been imported from."""


class Mentions:
    """The qualified names that a text may hold."""

    def __init__(self, text: str, exports: Exports | None = None) -> None:
        """Take the text, with any line ends; `exports` tells of names in other files."""
        self._text = with_line_feeds(text)
        self._exports = exports or _nothing

    def knowing(self, exports: Exports) -> Mentions:
        """Give the same with what tells of names in other files."""
        mentions = Mentions(self._text, exports)
        mentions._chains = self._chains
        mentions._imported = self._imported
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
        return self.called_in(outside_functions(self._text))

    @functools.cached_property
    def called(self) -> set[str]:
        """Every qualified name that may be called."""
        return self.called_in(self._text)

    @functools.cached_property
    def calls_own_function_at_import(self) -> bool:
        """Whether a function of the file may be called outside of the bodies of functions."""
        return not self.called_at_import.isdisjoint(_DEFINED.findall(self._text))

    def called_in(self, part: str) -> set[str]:
        """Give every qualified name that a part of the text may call."""
        together = (chain for chain, bracket in set(_CALLED.findall(part)) if bracket)
        return self._meant_by(together) | self._meant_by_all(_split(part))

    def enters(self, names: frozenset[str]) -> bool:
        """Tell whether a `with` may enter what a call of one of these makes, or a name for it."""
        made = {
            name
            for match in _MADE.finditer(self._text)
            if not names.isdisjoint(self._meant_by(_joined(match[1])))
            for name in targets_at(self._text, match.start()) or ()
        }
        for following in set(_ENTERED.findall(self._text)):
            if not made.isdisjoint(_IDENTIFIER.findall(following)):
                return True
            if not names.isdisjoint(self.called_in(following)):
                return True
        return False

    def arguments_of(self, names: frozenset[str]) -> Iterator[str | None]:
        """Give what stands between the brackets of each call of one of these; None: not to be told.

        Never fewer calls than there are, and never less than a call is given.
        """
        fits: dict[str, bool] = {}
        for match in _CALLS.finditer(self._text):
            chain = match[1]
            if chain not in fits:
                fits[chain] = not names.isdisjoint(self._meant_by([chain.strip(".")]))
            if fits[chain]:
                yield _between_brackets(self._text, match.end())
        if not names.isdisjoint(self._meant_by_all(_split(self._text))):
            yield None

    def names_function(self, arguments: str) -> bool:
        """Tell whether the first of these arguments may be a function of this file, or imported."""
        first = _first_of(arguments)
        if "lambda" in first or first.lstrip().startswith("*"):
            return True
        meanings, _ = self._bound
        for chain in _CHAINS.findall(first):
            for whole in _joined(chain):
                head, _, _ = whole.partition(".")
                last = whole.rpartition(".")[2]
                if not meanings.get(head, set()) <= {"functools", "functools.partial"}:
                    return True
                if re.search(rf"\b{last}\b[\s\\)]*(?::[^=\n]{{0,1000}})?=(?!=)", self._text):
                    return True
                if re.search(rf"\bdef[\s\\]+{last}\b", self._text):
                    return True
        return False

    def reads_of_value(self, attribute: str, *, called: bool) -> bool:
        """Tell whether this may be read of something that is no module; and called, if so asked."""
        end = rf"{_SPACE}\(" if called else ""
        return any(
            (owner := _owner_before(self._text, match.start())) is not None
            and not (owner and self._is_module(owner))
            for match in re.finditer(rf"{attribute}\b{end}", self._text)
        )

    def _is_module(self, name: str) -> bool:
        """Tell whether a name is imported, and never anything but the owner of what is read."""
        if name not in self._imported:
            return False
        for match in re.finditer(rf"(?<![\w.]){name}\b(?![\s\\]*\.)", self._text):
            start = self._text.rfind("\n", 0, match.start()) + 1
            if "import" not in self._text[start : self._text.find("\n", match.start())]:
                return False
        return True

    @functools.cached_property
    def _imported(self) -> dict[str, list[Way]]:
        return read_imports(self._text)

    def begins_statement(self, names: frozenset[str]) -> bool:
        """Tell whether a statement may begin with one of these."""
        return not names.isdisjoint(self._meant_by_all(_STATEMENTS.findall(self._text)))

    def _meant_by_all(self, chains: Iterable[str]) -> set[str]:
        return self._meant_by(chain for each in set(chains) for chain in _joined(each))

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
        text = self._text
        found: set[str] = set()
        for token in set((_TOKENS_OF_ASCII if text.isascii() else _TOKENS).findall(text)):
            if token[-1] in _QUOTES:
                # There is code in f-strings; and quotes nested in one may seem to end it.
                if _holds_code(token):
                    for chain in _CHAINS.findall(token):
                        found.update(_joined(chain))
            elif token[0] != "#":
                found.add(token.strip("."))
        for chain in _split(text):
            found.update(_joined(chain))
        return frozenset(found)

    @functools.cached_property
    def _bound(self) -> tuple[dict[str, set[str]], bool]:
        """What each name that is bound may stand for, and whether that is not all of it."""
        meanings = {
            name: {each for way in ways for each in (way.target, *self._exports(way.target))}
            for name, ways in self._imported.items()
            if name != "*"
        }
        if any(word in self._text for word in _BY_TEXT):
            for name, target in _IMPORTED_BY_TEXT.findall(self._text):
                meanings.setdefault(name, set()).add(target)
        users: dict[str, list[tuple[int, str]]] = {}
        for value, place in read_assignments(self._text):
            head, dot, rest = value.partition(".")
            users.setdefault(head, []).append((place, dot + rest))
        pending = list(meanings)
        is_tangled = False
        while pending:
            head = pending.pop()
            for place, rest in users.get(head, ()):
                targets = targets_at(self._text, place)
                if targets is None:
                    is_tangled = True
                for name in targets or ():
                    known = meanings.setdefault(name, set())
                    more = {f"{target}{rest}" for target in meanings[head]} - known
                    if not more or max(map(len, more)) > _LONGEST_NAME:
                        continue
                    if len(known) > _MOST_MEANINGS:
                        is_tangled = True
                        continue
                    known |= more
                    pending.append(name)
        return meanings, is_tangled


def _nothing(_: str) -> Iterable[str]:
    return ()


def _holds_code(string: str) -> bool:
    """Tell whether names in a string may be code: not in one of several lines, but formatted."""
    is_long = string.endswith(('"""', "'''")) and len(string) > len('""""')
    return not is_long or _FORMATTED.match(string) is not None


def _owner_before(text: str, place: int) -> str | None:
    """Give the first name of what an attribute here is read of; "": no name; None: it is none."""
    end = len(text[max(place - _LONGEST, 0) : place].rstrip(_BETWEEN)) + max(place - _LONGEST, 0)
    if "\n" in text[end:place] and "#" in text[text.rfind("\n", 0, end) + 1 : end]:
        return ""
    if text[end - 1 : end] != ".":
        return None
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    return text[start:end].partition(".")[0]


def _first_of(arguments: str) -> str:
    """Give the first of some arguments."""
    depth = 0
    for match in _IN_ARGUMENTS.finditer(arguments):
        first = match.group()[0]
        if first == "," and not depth:
            return arguments[: match.start()]
        depth += (first in "([{") - (first in ")]}")
    return arguments


def _between_brackets(text: str, start: int) -> str | None:
    """Give the text up to the bracket that closes the one before it; None where that is unsure.

    Strings with code in them may hold quotes that are not theirs, from Python 3.12 on.
    """
    depth = 1
    for match in _IN_BRACKETS.finditer(text, start, start + _LONGEST_CALL):
        first = match.group()[0]
        if first in "([{":
            depth += 1
        elif first in ")]}":
            depth -= 1
            if not depth:
                return text[start : match.start()]
        elif first in _QUOTES and _FORMATTED.search(text, match.start() - 2, match.start() + 1):
            return None
    return None


def _split(text: str) -> Iterator[str]:
    """Give the dotted names whose parts do not stand together: over several lines, in brackets."""
    for match in _LOOSE_DOT.finditer(text):
        for end in _ends_before(text, match.start()):
            start = end
            while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
                start -= 1
            chain = _CHAINS.match(text, start)
            if chain is not None:
                yield chain.group()


def _ends_before(text: str, place: int) -> Iterator[int]:
    """Give where the name may end that is continued here: before spaces, brackets and comments."""
    end = len(text[max(place - _LONGEST, 0) : place].rstrip(_BETWEEN)) + max(place - _LONGEST, 0)
    if text.find(")", end, place) < 0 or _is_bracketed(text, end):
        yield end
    if "\n" not in text[end:place]:
        return
    comment = text.find("#", text.rfind("\n", 0, end) + 1, end)
    if comment >= 0:
        yield from _ends_before(text, comment)


def _is_bracketed(text: str, end: int) -> bool:
    """Tell whether the name that ends here stands alone in brackets, which are no call's."""
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] in "_. \t\f\n\\"):
        start -= 1
    if text[start - 1 : start] != "(":
        # A comment may stand between the bracket and the name.
        return "#" in text[text.rfind("\n", 0, start) + 1 : start]
    before = text[max(start - 2 - _LONGEST_KEYWORD, 0) : start - 1]
    if not before[-1:].isidentifier():
        return True
    return any(
        before.endswith(word) and not before[: -len(word)][-1:].isidentifier()
        for word in keyword.kwlist
    )


def _joined(chain: str) -> list[str]:
    """Give a dotted name without what stands between its parts, the whole of it last.

    `f(a.b).c` reads as `a.b.c`, though it may be the `c` of what a call gives: so `a.b` is there
    as well.
    """
    if chain.isidentifier():
        return [chain]
    ends = [match.start() for match in _BRACKET.finditer(chain)]
    return [_GAPS.sub(".", chain[:end]) for end in (*ends, len(chain))]
