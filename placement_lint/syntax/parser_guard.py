"""The guard before the parser: measure whether LibCST can take a source.

LibCST's parser dies by segmentation fault on deep nesting and on long chains of operators, and
takes memory that grows with the square of the depth: neither can be caught. So the source is
measured first, by one pass over its text. Measured on LibCST 1.9.0 with Python 3.10, 3.11, 3.12
and 3.13, in a thread with the stack of `placement_lint.syntax.deep_stack`: what stays within the
limits parses there, and what nesting and chains add to the memory stays below 1 GB. Flat code needs
0.6 to 2.7 kB a token with all that is made of it, so that the limit of size keeps it to 1 GB, too,
also where a fixed text is parsed beside the one that it was made from.

Python 3.12 and 3.13 also bound the recursion of `Module.code` by a limit of their own. It ends in a
RecursionError at 760 links or 500 method calls on 3.12, at 5,000 links or 2,600 method calls on
3.13: that one can be caught, and is said of the file where something in it is to be reported.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.limits.budget import demand, is_left
from placement_lint.syntax.code_text import (
    FORMATTED_PREFIX,
    RAW_TEXT_STOP,
    SPEC_STOP,
    TEXT_STOP,
    strings_and_comments,
)
from placement_lint.syntax.deep_stack import stack_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class ParserLimits:
    """The most of everything that the parser is given. No real program comes near."""

    tokens: int = 300_000
    """Words, marks and line ends outside of strings and comments: 30,000 lines of usual code."""

    brackets: int = 200
    """Open brackets at one place, fields of f-strings included. CPython's own limit."""

    chain: int = 12_000
    """Operators, attributes, calls, strings … in a row, those of enclosing expressions included.

    LibCST itself refuses more than 3,000 strings or comprehension clauses in a row.
    """

    elifs: int = 4_500
    """`elif` arms of one `if`, with those of the `if`s around it."""

    pattern: int = 16
    """Brackets in a `case` pattern, a mapping counting twice: each doubles the parser's time."""

    weight: int = 4_000_000
    """Sum over the tokens of how deep each stands: 10 for a bracket beyond the third, 1 for a
    `lambda`, `not`, `if` … before it.

    The parser keeps a copy of each inner expression for each outer one: at most 0.25 kB a unit.
    """

    rework: int = 3_000_000
    """Sum over the links of chains of the tokens before each, ten times for a call or subscript:
    the parser copies them, 0.2 to 1 µs each. Comparisons, `and` and `or` are not copied."""

    rework_for_token: int = 100
    """What a file may have of that beside, for each of its tokens: the parser's time stays in
    proportion to the size."""

    indentation: int = 500_000
    """Sum over the lines of their levels of indentation beyond the eighth: about 1 kB each."""

    def on_stack(self, share: float) -> ParserLimits:
        """Return the limits for so much of the usual stack: only chains need more than 4 MB."""
        return replace(self, chain=int(self.chain * share), elifs=int(self.elifs * share))


DEFAULT_LIMITS = ParserLimits()


class Excess(Enum):
    """What there is too much of."""

    TOKENS = "tokens"
    BRACKETS = "brackets"
    CHAIN = "chain"
    ELIFS = "elifs"
    PATTERN = "pattern"
    WEIGHT = "weight"
    REWORK = "rework"
    INDENTATION = "indentation"


@dataclass(frozen=True)
class TooDeep:
    """Why a source must not be given to the parser.

    `line` and `column` count from 1, in code points; they say where the limit was passed.
    `size` is the amount reached there.
    """

    excess: Excess
    size: int
    limit: int
    line: int
    column: int

    @property
    def message(self) -> str:
        """One line that says what is too deep, how deep, and what is allowed."""
        return _MESSAGES[self.excess].format(size=self.size, limit=self.limit)


@dataclass(frozen=True)
class Extent:
    """The largest of everything that is measured, for a source that was read to its end."""

    brackets: int
    chain: int
    elifs: int
    pattern: int
    weight: int
    rework: int
    indentation: int
    steps: int
    """Turns of the scanning loops: the work done, for tests of linearity."""


_MESSAGES = {
    Excess.TOKENS: "more than {limit:,} tokens in one file",
    Excess.BRACKETS: "{size:,} nested brackets, at most {limit:,}",
    Excess.CHAIN: "expression of {size:,} chained terms, at most {limit:,}",
    Excess.ELIFS: "{size:,} chained elif branches, at most {limit:,}",
    Excess.PATTERN: "case pattern nested {size:,} deep, at most {limit:,}",
    Excess.WEIGHT: "nested expressions of weight {size:,}, at most {limit:,}",
    Excess.REWORK: "chained terms that take {size:,} steps to parse, at most {limit:,}",
    Excess.INDENTATION: "lines indented by {size:,} levels together, at most {limit:,}",
}

# A run of logical lines of one physical line each, with no bracket inside a bracket, and short
# (880 characters), so within every limit whatever they hold. Each part begins with a character
# that the one before it cannot hold, so that a failing match costs no more than its length.
_PLAIN = r"[^()\[\]{}'\"#\\\n]{0,80}"
_PLAIN_LINES = re.compile(
    rf"""(?:{_PLAIN}
        (?:(?:[(\[{{]{_PLAIN}[)\]}}]
             |'(?!')[^'\\\n{{]{{1,80}}'|''(?!')|"(?!")[^"\\\n{{]{{1,80}}"|""(?!")){_PLAIN}){{0,5}}
        (?:\#[^\n]*)?\n){{1,200}}""",
    re.VERBOSE,
)
_TOKEN = re.compile(
    r"""[(\[{][^()\[\]{}'"#\\\n]{0,80}[)\]}]
    |[(\[{]|[)\]}]|[,;:]|\n|[-+*/%@&|^~<>=!.]+
    |'''|\"\"\"|'[^'\\\n{]*'|"[^"\\\n{]*"|['"]|\#[^\n]*|\\\n?
    |(?:and|await|else|for|if|in|is|lambda|not|or|yield)\b""",
    re.VERBOSE,
)
_WORDS = re.compile(r"\w+|[^\w\s]|\n")
_CASE = re.compile(r"[ \t\f]*case\b")
_ELIF = re.compile(r"^([ \t\f]*)(elif|if)\b", re.MULTILINE)
_RAW_PREFIX = re.compile(r".?[rR].?\Z", re.DOTALL)
_STRING_STOP = {
    "'": re.compile(r"\\.?|['\n]", re.DOTALL),
    '"': re.compile(r'\\.?|["\n]', re.DOTALL),
    "'''": re.compile(r"\\.?|'''", re.DOTALL),
    '"""': re.compile(r'\\.?|"""', re.DOTALL),
}
_INDENT = re.compile(r"^[ \t\f]+(?=[^\s#])", re.MULTILINE)
_DEEP_INDENT = re.compile(r"\n[ \t\f]{8}([ \t\f]+)")
_FREE_LEVELS = 8
_FREE_BRACKETS = 3
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
_HOLDS_THE_REST = frozenset(("await", "if", "lambda", "not", "yield"))


_TOKEN_SECONDS, _WEIGHT_SECONDS, _REWORK_SECONDS = 15e-6, 3.7e-6, 0.9e-6
_TOKEN_BYTES, _WEIGHT_BYTES = 4_000, 800
"""The most that LibCST 1.9.0 needs, measured with flat code, with 60 brackets around each number
and with sums of 7,000 numbers."""


def too_deep(text: str, limits: ParserLimits | None = None) -> TooDeep | None:
    """Return what in the source is too deep to be parsed, or None. Any text will do.

    Without `limits`, they are those of the stack that a thread gets here.
    """
    found = measure(text, limits or _limits_here())
    return found if isinstance(found, TooDeep) else None


def demand_parsable(text: str) -> TooDeep | None:
    """Return what `too_deep` does, for whoever parses the text at once.

    Raises LimitError where that would take more time or memory than is left: nothing can interrupt
    the parser.
    """
    found = measure(text, _limits_here())
    if isinstance(found, TooDeep):
        return found
    if not is_left(*_needed(found, len(text))):
        demand(*_needed(found, _tokens(with_line_feeds(text))))
    return None


def _limits_here() -> ParserLimits:
    share = stack_share()
    return DEFAULT_LIMITS if share == 1 else DEFAULT_LIMITS.on_stack(share)


def _needed(extent: Extent, tokens: int) -> tuple[float, float]:
    """Return the seconds and the bytes that the parser needs at most."""
    seconds = _TOKEN_SECONDS * tokens
    seconds += _WEIGHT_SECONDS * extent.weight + _REWORK_SECONDS * extent.rework
    return seconds, _TOKEN_BYTES * tokens + _WEIGHT_BYTES * extent.weight


def measure(text: str, limits: ParserLimits = DEFAULT_LIMITS) -> Extent | TooDeep:
    """Measure the source, stopping at the first thing beyond the limits. Any text will do.

    Short lines without nested brackets count as nothing: they are within every limit.
    """
    text = with_line_feeds(text)
    if len(text) > limits.tokens:
        end = _token_beyond(text, limits.tokens)
        if end is not None:
            return TooDeep(Excess.TOKENS, limits.tokens + 1, limits.tokens, *_place(text, end))
    elifs = _longest_elifs(text, limits) if text.count("elif") > limits.elifs else 0
    if isinstance(elifs, TooDeep):
        return elifs
    indentation = _indentation(text, limits)
    if isinstance(indentation, TooDeep):
        return indentation
    scan = _Scan(text, limits)
    try:
        scan.run()
    except _ExceededError as exceeded:
        place = _place(text, exceeded.position)
        return TooDeep(exceeded.excess, exceeded.size, exceeded.limit, *place)
    return Extent(
        brackets=scan.brackets,
        chain=scan.chain,
        elifs=elifs,
        pattern=scan.pattern,
        weight=scan.weight,
        rework=scan.rework,
        indentation=indentation,
        steps=scan.steps,
    )


def _token_beyond(text: str, limit: int) -> int | None:
    """Return where the first token begins that is one too many; None: there are not so many."""
    before = 0
    for start, end, count in _stretches(text):
        if before + count > limit:
            words = _WORDS.finditer(text, start, end)
            return next(itertools.islice(words, limit - before, None)).start()
        before += count
    return None


def _tokens(text: str) -> int:
    return sum(count for *_, count in _stretches(text))


def _stretches(text: str) -> Iterator[tuple[int, int, int]]:
    """Return where each stretch of a text begins and ends, and how many tokens are in it.

    What is in the fields of a formatted string counts, and so does its text; other strings are one.
    """
    done = 0
    whole = (len(text), len(text), False)
    for start, end, is_formatted in itertools.chain(strings_and_comments(text), [whole]):
        stop = end if is_formatted else max(start, done)
        yield done, stop, len(_WORDS.findall(text, done, stop))
        if start < end and not is_formatted and text[start] != "#":
            yield start, end, 1
        done = max(done, end)


def _place(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column, from 1, of a position in text with line feeds only."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _longest_elifs(text: str, limits: ParserLimits) -> int | TooDeep:
    """Count the most `elif`s that hang together. Those inside strings are counted too."""
    chains: list[tuple[int, int]] = []
    total = longest = 0
    for found in _ELIF.finditer(text):
        indent = found.end(1) - found.start(1)
        while chains and chains[-1][0] > indent:
            total -= chains.pop()[1]
        if found[2] == "if":
            if chains and chains[-1][0] == indent:
                total -= chains.pop()[1]
            continue
        if not chains or chains[-1][0] < indent:
            chains.append((indent, 0))
        chains[-1] = (indent, chains[-1][1] + 1)
        total += 1
        longest = max(longest, total)
        if total > limits.elifs:
            place = _place(text, found.start(2))
            return TooDeep(Excess.ELIFS, total, limits.elifs, *place)
    return longest


def _indentation(text: str, limits: ParserLimits) -> int | TooDeep:
    """Add up the deep levels of all lines, those inside brackets and strings too."""
    if sum(map(len, _DEEP_INDENT.findall(text))) <= limits.indentation:
        return 0
    total = 0
    levels = [0]
    for found in _INDENT.finditer(text):
        indent = found.end() - found.start()
        while levels[-1] > indent:
            levels.pop()
        if levels[-1] < indent:
            levels.append(indent)
        total += min(max(len(levels) - 1 - _FREE_LEVELS, 0), 100)
        if total > limits.indentation:
            place = _place(text, found.end())
            return TooDeep(Excess.INDENTATION, total, limits.indentation, *place)
    return total


@dataclass(slots=True)
class _Frame:
    """One open bracket, or one open field of an f-string, and the expression read in it so far.

    `links` and `child` are of the terms since the last separator: how many, and the height of the
    highest expression among them. `height` is the most of both that any of the terms had.
    """

    links: int = 0
    child: int = 0
    height: int = 0
    right: int = 0
    """Words since the last separator that hold all that follows: `lambda`, `not`, `if` …"""
    tight: int = 0
    """The same for signs and powers, since the last weaker operator."""
    start: int = 0
    """The number of tokens up to the last separator."""
    lambdas: int = 0
    """`lambda`s whose colon has not come."""
    targets: bool = False
    """Between `for` and `in`."""
    quote: str = ""
    """For a field: the quotes of its string, behind an `r` if raw. Empty for a bracket."""
    in_spec: bool = False
    """For a field: it stands in the format specification of another."""


class _ExceededError(Exception):
    """A limit is passed, at a position of the text."""

    def __init__(self, excess: Excess, size: int, limit: int, position: int) -> None:
        super().__init__(excess)
        self.excess, self.size, self.limit, self.position = excess, size, limit, position


class _Scan:
    """One pass over a source."""

    def __init__(self, text: str, limits: ParserLimits) -> None:
        self.text, self.limits = text, limits
        self.frame = _Frame()
        self.outer: list[_Frame] = []
        self.brackets = self.chain = self.pattern = self.weight = self.rework = 0
        self.tokens = self.steps = self.operator_end = 0
        self.deep = 0
        """The weight of a token at the present place."""
        self.case = -1
        """How nested the pattern is in which we stand; -1 outside of any."""
        handlers: dict[str, Callable[[re.Match[str]], int]] = {"\n": self._line_end}
        handlers |= dict.fromkeys("#\\", self._nothing)
        handlers |= dict.fromkeys(",;:", self._separator)
        handlers |= dict.fromkeys("([{", self._open)
        handlers |= dict.fromkeys(")]}", self._close)
        handlers |= dict.fromkeys("-+*/%@&|^~<>=!.", self._operator)
        handlers |= dict.fromkeys("'\"", self._string)
        handlers |= dict.fromkeys("aefilnoy", self._word)
        self.handlers = handlers

    def run(self) -> None:
        """Read the whole text.

        Raises _ExceededError where a limit is passed.
        """
        text, limits = self.text, self.limits
        has_patterns = "match" in text and "case" in text
        position = 0
        while position < len(text):
            self.steps += 1
            if not self.outer:
                if plain := _PLAIN_LINES.match(text, position):
                    position = plain.end()
                    continue
                is_case = has_patterns and _CASE.match(text, position)
                self.case = 0 if is_case else -1
            position = self._code(position)
            if self.weight > limits.weight:
                self._stop(Excess.WEIGHT, self.weight, limits.weight, position - 1)

    def _code(self, position: int) -> int:
        """Read code as far as the end of a statement or of a string that needs care."""
        handlers, weight_limit = self.handlers, self.limits.weight
        for found in _TOKEN.finditer(self.text, position):
            self.tokens += 1
            self.steps += 1
            self.weight += self.deep
            if self.weight > weight_limit:
                break
            jump = handlers[found[0][0]](found)
            if jump >= 0:
                return jump
        else:
            return len(self.text)
        return found.end()

    # Each of these handles one kind of token; it gives the position to jump to, or -1.

    def _nothing(self, _found: re.Match[str]) -> int:
        return -1

    def _line_end(self, found: re.Match[str]) -> int:
        if self.outer:
            return -1
        self.frame = _Frame(start=self.tokens)
        self.deep = 0
        return found.end()

    def _separator(self, found: re.Match[str]) -> int:
        frame = self.frame
        mark = found[0]
        if mark == ":" and frame.lambdas:
            frame.lambdas -= 1
        elif mark in {",", "="} and (frame.lambdas or frame.targets):
            self._link(found)
        else:
            self._separate()
            if mark == ":" and frame.quote:
                return self._field_text(found.end(), frame.quote, in_spec=True)
        return -1

    def _operator(self, found: re.Match[str]) -> int:
        mark = found[0]
        if mark == "=":
            return self._separator(found)
        frame, start = self.frame, found.start()
        # Each of `- - -` and of `a**-b**-c` holds what follows, as far as a weaker operator.
        after_operator = not self.text[self.operator_end : start].strip()
        self.operator_end = found.end()
        if after_operator or mark.startswith("**"):
            frame.tight += len(mark)
            self.deep += len(mark)
        elif mark != ".":
            self.deep -= frame.tight
            frame.tight = len(mark) - 1
            self.deep += frame.tight
        if len(mark) > 1:
            self.weight += (len(mark) - 1) * self.deep - len(mark) * (len(mark) - 1) // 2
        self._link(found, len(mark), copies=0 if mark in _COMPARISONS else 1)
        return -1

    def _word(self, found: re.Match[str]) -> int:
        start = found.start()
        if start:
            before = self.text[start - 1]
            if before == "_" or before.isalnum() or before == ".":
                return -1
        word, frame = found[0], self.frame
        if word == "lambda":
            frame.lambdas += 1
        elif word == "for":
            frame.targets = True
        elif word == "in":
            frame.targets = False
        if word in _HOLDS_THE_REST:
            frame.right += 1
            self.deep += 1
        self._link(found, copies=0)
        return -1

    def _open(self, found: re.Match[str]) -> int:
        mark = found[0]
        self._link(found, copies=10)
        self._nest(found.start(), len(self.outer) + 1)
        cost = 2 if mark[0] == "{" else 1
        if self.case >= 0:
            self.case += cost
            self.pattern = max(self.pattern, self.case)
            if self.pattern > self.limits.pattern:
                self._stop(Excess.PATTERN, self.pattern, self.limits.pattern, found.start())
        if len(mark) > 1:
            inner = len(mark) // 3
            self.tokens += inner
            self.weight += inner * (self.deep + (len(self.outer) >= _FREE_BRACKETS) * 10)
            if self.case >= 0:
                self.case -= cost
        else:
            self._enter(_Frame(start=self.tokens))
        return -1

    def _close(self, found: re.Match[str]) -> int:
        frame = self.frame
        mark = found[0]
        if not self.outer or (frame.quote and mark != "}"):
            return -1
        self._leave(found)
        if frame.quote:
            return self._field_text(found.end(), frame.quote, in_spec=frame.in_spec)
        if self.case > 0:
            self.case -= 2 if mark == "}" else 1
        return -1

    def _string(self, found: re.Match[str]) -> int:
        # Strings in a row are nested, but not copied.
        self.frame.links += 1
        self._chained(self.frame.links + self.frame.child, found)
        mark, start = found[0], found.start()
        if len(mark) != 1 and mark not in {"'''", '"""'}:
            return -1
        if FORMATTED_PREFIX.match(self.text, max(start - 3, 0), start):
            raw = _RAW_PREFIX.match(self.text, max(start - 2, 0), start)
            return self._field_text(found.end(), "r" + mark if raw else mark, in_spec=False)
        return self._string_end(found.end(), mark)

    # Strings.

    def _string_end(self, position: int, quote: str) -> int:
        """Return the position behind a string without fields, or of the line end that breaks it."""
        for found in _STRING_STOP[quote].finditer(self.text, position):
            self.steps += 1
            if found[0][0] != "\\":
                return found.end() if found[0] == quote else found.start()
        return len(self.text)

    def _field_text(self, position: int, quote: str, *, in_spec: bool) -> int:
        """Return the position where code goes on: behind an f-string, or in its next field.

        `in_spec` is to be true in a format specification of the field that is the present frame.
        """
        closing = quote.removeprefix("r")
        text_stop = TEXT_STOP if closing == quote else RAW_TEXT_STOP
        while found := (SPEC_STOP if in_spec else text_stop)[closing].search(self.text, position):
            self.steps += 1
            mark, position = found[0], found.end()
            if mark in (closing, "\n"):
                if in_spec:
                    self._leave(found)
                return position if mark == closing else found.start()
            if mark == "{":
                self._nest(found.start(), len(self.outer) + 1)
                self._enter(_Frame(start=self.tokens, quote=quote, in_spec=in_spec))
                return position
            if mark == "}":
                in_spec = self.frame.in_spec
                self._leave(found)
        return len(self.text)

    # What all that adds up to.

    def _stop(self, excess: Excess, size: int, limit: int, position: int) -> NoReturn:
        raise _ExceededError(excess, size, limit, position)

    def _nest(self, position: int, brackets: int) -> None:
        if brackets > self.brackets:
            self.brackets = brackets
            if brackets > self.limits.brackets:
                self._stop(Excess.BRACKETS, brackets, self.limits.brackets, position)

    def _link(self, found: re.Match[str], count: int = 1, copies: int = 1) -> None:
        frame = self.frame
        frame.links += count
        self._chained(frame.links + frame.child, found)
        self.rework += (self.tokens - frame.start) * copies
        most = self.limits.rework + self.limits.rework_for_token * self.tokens
        if self.rework > most:
            self._stop(Excess.REWORK, self.rework, most, found.start())

    def _chained(self, height: int, found: re.Match[str]) -> None:
        if height > self.chain:
            self.chain = height
            if height > self.limits.chain:
                self._stop(Excess.CHAIN, height, self.limits.chain, found.start())

    def _separate(self) -> None:
        frame = self.frame
        frame.height = max(frame.height, frame.links + frame.child)
        frame.links = frame.child = 0
        frame.start = self.tokens
        self.deep -= frame.right + frame.tight
        frame.right = frame.tight = 0

    def _enter(self, frame: _Frame) -> None:
        self.outer.append(self.frame)
        self.frame = frame
        if len(self.outer) > _FREE_BRACKETS:
            self.deep += 10

    def _leave(self, found: re.Match[str]) -> None:
        if len(self.outer) > _FREE_BRACKETS:
            self.deep -= 10
        inner, self.frame = self.frame, self.outer.pop()
        self.deep -= inner.right + inner.tight
        height = max(inner.height, inner.links + inner.child)
        self.frame.child = max(self.frame.child, height)
        self._chained(self.frame.links + self.frame.child, found)
