r"""Texts on which an expression may take more than linear time, derived from the expression itself.

The expression is read as an automaton. Time grows faster than the text where the automaton can read
the same word in two ways and be at the same place after it (twice as many ways for each such word:
exponential), or where it can stay in one loop, go from there to another one, and stay in that, all
on the same word (polynomial: the words can be divided in as many ways as there are of them). To
search for an expression is a loop before it, in which every character can be read. The word is
what an adversary repeats, behind what leads to the loop, and before what makes the match fail.

What stands in the way of a loop, as `(?<!\w)` does, is not heeded here: `tests/backtracking.py`
counts what each text really costs.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.backtracking import (
    Accept,
    At,
    Char,
    Enter,
    Look,
    Loop,
    Program,
    Split,
    TooMuchError,
    program_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEPARATORS = (" ", "\n", ".", "!")
"""What may have to stand between the words that are repeated, for `\\b` and the like to hold."""
_LIKELY = (
    "a", " ", "\n", ".", "(", ")", "#", "\\", '"', "'", ",", "=", ":", "[", "]", "{", "}", "1", "_",
    "\t", "\r", "\f", "!", "*", "-", "/", "<", "@", "%", "?", "Z", "é", "\u2028", "\0", "\ud800",
)  # fmt: skip
_MOST_PATHS = 64
ENDINGS = 8
"""Characters, one at a time, of which one makes a match fail behind the words."""
_MOST_WORDS = 6
"""Of a pair of loops: words that begin in different ways."""
_SEARCH = -1
"""The state in which a search is before a match begins."""


@dataclass(frozen=True)
class Attack:
    """What is repeated, what stands before it, and what behind all of it."""

    head: str
    word: str
    ending: str = ""

    def text(self, count: int) -> str:
        """Repeat the word."""
        return f"{self.head}{self.word * count}{self.ending}"


class Automaton:
    """The states of an expression: one for each character that it can read, and one to search."""

    def __init__(self, program: Program, *, searches: bool) -> None:
        self._program = program
        self._searches = searches
        chars = [each for each in program.code if isinstance(each, Char)]
        self.alphabet = _alphabet(program, chars)
        self._reads = {
            state: frozenset(char for char in self.alphabet if each.holds(char))
            for state, each in enumerate(program.code)
            if isinstance(each, Char)
        }
        self._reads[_SEARCH] = frozenset(self.alphabet)
        starts = self._reached(program.start)
        first = Char(lambda _: True, program.start)
        self.starts = [_SEARCH, *starts] if searches else starts
        self.following: dict[int, list[int]] = {}
        """For each state those after it, as often as there are ways to them."""
        for state in self._reads:
            each = first if state == _SEARCH else program.code[state]
            after = self._reached(each.next)
            self.following[state] = [_SEARCH, *after] if state == _SEARCH else after
        self._component = _components(self.following)

    def _reached(self, pc: int) -> list[int]:
        """Give the states that are reached without reading, once for each way."""
        found: list[int] = []
        pending: list[tuple[int, frozenset[int]]] = [(pc, frozenset())]
        while pending and len(found) < _MOST_PATHS:
            pc, seen = pending.pop()
            if pc in seen:
                continue
            seen = seen | {pc}
            each = self._program.code[pc]
            if isinstance(each, Char):
                found.append(pc)
            elif not isinstance(each, Accept):
                pending += [(target, seen) for target in _targets(each)]
        return found

    def attacks(self, endings: int = ENDINGS) -> Iterator[Attack]:
        """Give what may take too long, the worst first; some of it does not."""
        seen: set[tuple[str, str]] = set()
        for state, word in itertools.chain(self._exponential(), self._polynomial()):
            head = self._path_to(state)
            if (head, word) in seen:
                continue
            seen.add((head, word))
            for ending in ("", *self.alphabet[:endings]):
                yield Attack(head, word, ending)
            if self._has_conditions:
                for separator in SEPARATORS:
                    yield Attack(head, word + separator)
                    yield Attack(head, separator + word)

    @property
    def _has_conditions(self) -> bool:
        return any(isinstance(each, At | Look) for each in self._program.code)

    def _loops(self) -> list[int]:
        return [state for state in self.following if self._component[state] is not None]

    def _exponential(self) -> Iterator[tuple[int, str]]:
        """Give states, and words on which there are two ways from the state to itself."""
        for state in self._loops():
            if state == _SEARCH:
                continue
            inside = {s for s in self.following if self._component[s] == self._component[state]}
            after = [each for each in self.following[state] if each in inside]
            pairs = [*itertools.combinations(after, 2)]
            for char in self._various(self._reads[state]):
                for pair in pairs:
                    word = self._word(pair, (state, state), [inside, inside])
                    if word is not None:
                        yield state, char + word

    def _polynomial(self) -> Iterator[tuple[int, str]]:
        """Give states of a loop, and words on which another loop can be reached and stayed in."""
        loops = self._loops()
        for first in loops:
            reachable = self._reachable(first)
            for second in loops:
                if second == first or second not in reachable:
                    continue
                home = self._members(first)
                between = {s for s in reachable if second in self._reachable(s)}
                rooms = [home, between, self._members(second)]
                for char in self._various(self._reads[first] & self._reads[second]):
                    word = self._word((first, first, second), (first, second, second), rooms, char)
                    if word is not None:
                        yield first, word

    def _members(self, state: int) -> set[int]:
        return {s for s in self.following if self._component[s] == self._component[state]}

    def _reachable(self, state: int) -> set[int]:
        found: set[int] = {state}
        pending = [state]
        while pending:
            for after in self.following[pending.pop()]:
                if after not in found:
                    found.add(after)
                    pending.append(after)
        return found

    def _various(self, chars: Iterable[str]) -> list[str]:
        """Give some characters, the likely ones first."""
        return sorted(chars, key=self.alphabet.index)[:_MOST_WORDS]

    def _word(
        self,
        start: tuple[int, ...],
        goal: tuple[int, ...],
        rooms: list[set[int]],
        char: str | None = None,
    ) -> str | None:
        """Give the shortest word on which states go together to a goal, each in its room."""
        before: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None] = {start: None}
        pending = deque([start])
        is_first = True
        while pending:
            states = pending.popleft()
            if states == goal and not (is_first and char is not None):
                return self._spelled(before, states)
            common = frozenset.intersection(*(self._reads[state] for state in states))
            if is_first and char is not None:
                common = common & {char}
            is_first = False
            if not common:
                continue
            letter = min(common, key=self.alphabet.index)
            choices = [
                [after for after in dict.fromkeys(self.following[state]) if after in room]
                for state, room in zip(states, rooms, strict=True)
            ]
            for after in itertools.product(*choices):
                if after not in before:
                    before[after] = (states, letter)
                    pending.append(after)
        return None

    def _spelled(
        self,
        before: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None],
        states: tuple[int, ...],
    ) -> str:
        letters: list[str] = []
        while (step := before[states]) is not None:
            states, letter = step
            letters.append(letter)
        return "".join(reversed(letters))

    def _path_to(self, goal: int) -> str:
        """Give the shortest word that leads to a state."""
        if goal == _SEARCH:
            return ""
        before: dict[int, tuple[int, str] | None] = dict.fromkeys(self.starts)
        if self._searches:
            del before[_SEARCH]
        pending = deque(before)
        while pending:
            state = pending.popleft()
            if state == goal:
                break
            letter = min(self._reads[state], key=self.alphabet.index, default=None)
            if letter is None:
                continue
            for after in self.following[state]:
                if after not in before:
                    before[after] = (state, letter)
                    pending.append(after)
        letters: list[str] = []
        state = goal
        while (step := before.get(state)) is not None:
            state, letter = step
            letters.append(letter)
        return "".join(reversed(letters))


def _targets(each: object) -> tuple[int, ...]:
    """Give where an instruction that reads nothing may go on."""
    if isinstance(each, Split):
        return each.targets
    if isinstance(each, Loop):
        return (each.body, each.next)
    if isinstance(each, Look):
        return (each.next, each.start)
    if isinstance(each, Enter | At):
        return (each.next,)
    raise TypeError(each)


def _alphabet(program: Program, chars: list[Char]) -> list[str]:
    """Give characters, one for each way to be read or not, the likely ones first."""
    own = program.pattern
    text = own if isinstance(own, str) else own.decode("latin-1")
    highest = chr(255) if isinstance(own, bytes) else chr(sys.maxunicode)
    likely = [char for char in _LIKELY if char <= highest]
    found: dict[tuple[bool, ...], str] = {}
    for char in [*likely, *dict.fromkeys(text)]:
        found.setdefault(tuple(each.holds(char) for each in chars), char)
    return [*found.values()]


def _components(following: dict[int, list[int]]) -> dict[int, int | None]:
    """Give for each state the number of the loop that it is in; None: it is in none."""
    reach: dict[int, set[int]] = {}
    for state, after in following.items():
        found: set[int] = set()
        pending = [*after]
        while pending:
            each = pending.pop()
            if each not in found:
                found.add(each)
                pending += following[each]
        reach[state] = found
    component: dict[int, int | None] = {}
    for state, found in reach.items():
        if state not in found:
            component[state] = None
        else:
            component[state] = min(each for each in found if state in reach[each])
    return component


SIZE = 64
"""Characters of the smallest text; the others have twice as many, and four times."""
STEEPEST = 1.3
"""Exponent of the growth: 1 is linear, 2 quadratic; none is in between but for the start-up."""
_MOST_STEPS = 1_000
"""For each character: of more, nobody has to know how many. The longest list of words takes 500."""


def exponent(program: Program, methods: frozenset[str], attack: Attack) -> float:
    """Give how fast the steps grow with the text: by which power of its length.

    That of what is added by the second half of a text, and by the half of that: so the head and
    the ending do not count.
    """
    count = max(SIZE // len(attack.word), 4)
    texts = [attack.text(times * count) for times in (1, 2, 4)]
    try:
        small, middle, large = (
            program.steps(text, methods, _MOST_STEPS * len(text)) for text in texts
        )
    except TooMuchError:
        return math.inf
    return math.log2(max(large - middle, 1) / max(2 * (middle - small), 1)) + 1


def superlinear(
    pattern: str | bytes, flags: int, methods: frozenset[str], *, endings: int = ENDINGS
) -> Iterator[tuple[Attack, float]]:
    """Give the texts on which the steps of an expression grow too fast, and their exponents."""
    program = program_of(pattern, flags)
    searches = bool(methods - {"match", "fullmatch"})
    for attack in Automaton(program, searches=searches).attacks(endings):
        power = exponent(program, methods, attack)
        if power > STEEPEST:
            yield attack, power
