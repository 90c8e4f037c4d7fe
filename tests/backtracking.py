"""What a backtracking matcher does with a text, counted step by step: the same on every machine.

`re` gives no such count, and time is no measure on a busy machine. So an expression is translated,
from what Python's own parser makes of it, into a small program, which is run as `re` runs its own:
alternatives in order, greedy loops first, back to the last choice where it fails.
`tests/pumping.py` reads the same program as an automaton.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
"""Python's own parser of expressions."""

MANY = 1 << 30


class UnsupportedError(Exception):
    """An expression holds what no expression of the package held when this was written."""


class TooMuchError(Exception):
    """A text takes more steps than allowed."""


@dataclass(frozen=True)
class Char:
    """Reads one character of a set."""

    holds: Callable[[str], bool]
    next: int


@dataclass(frozen=True)
class Split:
    """Goes on at one of several places, tried in this order."""

    targets: tuple[int, ...]


@dataclass(frozen=True)
class Enter:
    """Begins to count the turns of a loop."""

    loop: int
    next: int


@dataclass(frozen=True)
class Loop:
    """Decides whether a loop is taken once more."""

    loop: int
    least: int
    most: int
    is_greedy: bool
    body: int
    next: int


@dataclass(frozen=True)
class At:
    """Holds at some places only, without reading anything."""

    holds: Callable[[str, int], bool]
    next: int


@dataclass(frozen=True)
class Look:
    """Looks ahead, or back by a fixed width, by a program that begins at `start`."""

    start: int
    is_negated: bool
    back: int
    next: int


@dataclass(frozen=True)
class Accept:
    """Ends a match."""


@dataclass
class Program:
    """An expression, translated."""

    pattern: str | bytes
    flags: int
    code: list[Any] = field(default_factory=list)
    start: int = 0
    loops: int = 0

    def steps(self, text: str, methods: frozenset[str], most: int) -> int:
        """Count the steps that it takes to look at a text as these methods do.

        Raises TooMuchError for more steps than `most`.
        """
        run = _Run(self, text, most)
        if methods - {"match", "fullmatch"}:
            for _ in run.find():
                pass
        if "match" in methods:
            run.match(0)
        if "fullmatch" in methods:
            run.match(0, whole=True)
        return run.steps

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Give where `re.finditer` finds something."""
        return [*_Run(self, text, MANY).find()]


class _Run:
    def __init__(self, program: Program, text: str, most: int) -> None:
        self.program, self.text, self.most = program, text, most
        self.steps = 0

    def find(self) -> Iterator[tuple[int, int]]:
        place, was_empty = 0, False
        while place <= len(self.text):
            end = self.match(place, not_empty=was_empty)
            if end is None:
                place += 1
                was_empty = False
            else:
                yield place, end
                was_empty = end == place
                place = end

    def match(self, start: int, *, whole: bool = False, not_empty: bool = False) -> int | None:
        """Give the end of a match that begins here; None: there is none."""
        return self._run(self.program.start, start, whole=whole, not_empty=not_empty)

    def _run(
        self, pc: int, place: int, *, whole: bool = False, not_empty: bool = False
    ) -> int | None:
        code, text = self.program.code, self.text
        began = place
        turns: tuple[tuple[int, int], ...] = ((0, -1),) * self.program.loops
        pending = [(pc, place, turns)]
        while pending:
            pc, place, turns = pending.pop()
            while True:
                self.steps += 1
                if self.steps > self.most:
                    raise TooMuchError
                each = code[pc]
                if isinstance(each, Char):
                    if place >= len(text) or not each.holds(text[place]):
                        break
                    place += 1
                    pc = each.next
                elif isinstance(each, Split):
                    pending += [(target, place, turns) for target in reversed(each.targets[1:])]
                    pc = each.targets[0]
                elif isinstance(each, Enter):
                    turns = (*turns[: each.loop], (0, -1), *turns[each.loop + 1 :])
                    pc = each.next
                elif isinstance(each, Loop):
                    count, before = turns[each.loop]
                    again = (*turns[: each.loop], (count + 1, place), *turns[each.loop + 1 :])
                    if count < each.least:
                        pc, turns = each.body, again
                    elif count >= each.most or before == place:
                        pc = each.next
                    elif each.is_greedy:
                        pending.append((each.next, place, turns))
                        pc, turns = each.body, again
                    else:
                        pending.append((each.body, place, again))
                        pc = each.next
                elif isinstance(each, At):
                    if not each.holds(text, place):
                        break
                    pc = each.next
                elif isinstance(each, Look):
                    at = place - each.back
                    found = at >= 0 and self._run(each.start, at) is not None
                    if found == each.is_negated:
                        break
                    pc = each.next
                else:
                    if (whole and place < len(text)) or (not_empty and place == began):
                        break
                    return place
        return None


@functools.cache
def program_of(pattern: str | bytes, flags: int = 0) -> Program:
    """Translate an expression. Raises UnsupportedError for what none of ours holds."""
    tree = parser.parse(pattern, flags)
    program = Program(pattern, tree.state.flags)
    program.code.append(Accept())
    program.start = _Translator(program).sequence(tree, 0, tree.state.flags)
    return program


class _Translator:
    """Makes the program from its end to its beginning: each part knows what follows."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.is_bytes = isinstance(program.pattern, bytes)

    def add(self, each: object) -> int:
        self.program.code.append(each)
        return len(self.program.code) - 1

    def sequence(self, parts: Any, then: int, flags: int) -> int:
        for operation, argument in reversed([*parts]):
            then = getattr(self, f"_{str(operation).lower()}", self._unknown)(argument, then, flags)
        return then

    def _unknown(self, argument: object, _then: int, _flags: int) -> int:
        raise UnsupportedError(self.program.pattern, argument)

    def _char(self, holds: Callable[[str], bool], then: int) -> int:
        return self.add(Char(holds, then))

    def _literal(self, code: int, then: int, flags: int) -> int:
        return self._char(self._one(code, flags), then)

    def _not_literal(self, code: int, then: int, flags: int) -> int:
        holds = self._one(code, flags)
        return self._char(lambda char: not holds(char), then)

    def _any(self, _: object, then: int, flags: int) -> int:
        if flags & re.DOTALL:
            return self._char(lambda _: True, then)
        return self._char(lambda char: char != "\n", then)

    def _in(self, items: list[tuple[Any, Any]], then: int, flags: int) -> int:
        is_negated = str(items[0][0]) == "NEGATE"
        tests = [self._item(*item, flags) for item in items[is_negated:]]
        return self._char(lambda char: any(test(char) for test in tests) != is_negated, then)

    def _item(self, operation: object, argument: Any, flags: int) -> Callable[[str], bool]:
        if str(operation) == "LITERAL":
            return self._one(argument, flags)
        if str(operation) == "RANGE":
            low, high = argument
            return lambda char: any(low <= ord(each) <= high for each in _cases(char, flags))
        if str(operation) == "CATEGORY":
            return self._category(str(argument), flags)
        raise UnsupportedError(self.program.pattern, operation)

    def _one(self, code: int, flags: int) -> Callable[[str], bool]:
        wanted = chr(code)
        return lambda char: wanted in _cases(char, flags)

    def _category(self, name: str, flags: int) -> Callable[[str], bool]:
        letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.rpartition("_")[2]]
        escape = f"\\{letter.upper() if '_NOT_' in name else letter}"
        in_ascii = self.is_bytes or flags & re.ASCII
        compiled = re.compile(escape, re.ASCII if in_ascii else 0)
        return lambda char: compiled.match(char) is not None

    def _branch(self, argument: tuple[Any, list[Any]], then: int, flags: int) -> int:
        _, branches = argument
        return self.add(Split(tuple(self.sequence(each, then, flags) for each in branches)))

    def _subpattern(self, argument: tuple[Any, int, int, Any], then: int, flags: int) -> int:
        _, added, removed, parts = argument
        return self.sequence(parts, then, (flags | added) & ~removed)

    def _max_repeat(self, argument: Any, then: int, flags: int) -> int:
        return self._repeat(argument, then, flags, is_greedy=True)

    def _min_repeat(self, argument: Any, then: int, flags: int) -> int:
        return self._repeat(argument, then, flags, is_greedy=False)

    def _repeat(
        self, argument: tuple[int, Any, Any], then: int, flags: int, *, is_greedy: bool
    ) -> int:
        least, most, parts = argument
        if (least, most) == (0, 1):
            body = self.sequence(parts, then, flags)
            return self.add(Split((body, then) if is_greedy else (then, body)))
        number = self.program.loops
        self.program.loops += 1
        place = self.add(None)
        body = self.sequence(parts, place, flags)
        most = min(int(most), MANY)
        self.program.code[place] = Loop(number, least, most, is_greedy, body, then)
        return self.add(Enter(number, place))

    def _at(self, argument: object, then: int, flags: int) -> int:
        name = str(argument)
        if name == "AT_BEGINNING" and flags & re.MULTILINE:
            name = "AT_BEGINNING_LINE"
        if name == "AT_END" and flags & re.MULTILINE:
            name = "AT_END_LINE"
        is_word = self._category("CATEGORY_WORD", flags)
        return self.add(At(functools.partial(_is_at, name, is_word), then))

    def _assert(
        self, argument: tuple[int, Any], then: int, flags: int, *, is_negated: bool = False
    ) -> int:
        direction, parts = argument
        back = parts.getwidth()[0] if direction < 0 else 0
        return self.add(Look(self.sequence(parts, 0, flags), is_negated, back, then))

    def _assert_not(self, argument: tuple[int, Any], then: int, flags: int) -> int:
        return self._assert(argument, then, flags, is_negated=True)


def _cases(char: str, flags: int) -> tuple[str, ...]:
    return (char, char.lower(), char.upper()) if flags & re.IGNORECASE else (char,)


def _is_at(name: str, is_word: Callable[[str], bool], text: str, place: int) -> bool:
    if name in {"AT_BOUNDARY", "AT_NON_BOUNDARY"}:
        before = place > 0 and is_word(text[place - 1])
        after = place < len(text) and is_word(text[place])
        return (before != after) == (name == "AT_BOUNDARY")
    if name in {"AT_BEGINNING", "AT_BEGINNING_STRING"}:
        return place == 0
    if name == "AT_BEGINNING_LINE":
        return place == 0 or text[place - 1] == "\n"
    if name == "AT_END_STRING":
        return place == len(text)
    at_line_end = text[place : place + 1] == "\n"
    if name == "AT_END_LINE":
        return place == len(text) or at_line_end
    if name == "AT_END":
        return place == len(text) or (at_line_end and place == len(text) - 1)
    raise UnsupportedError(name)
