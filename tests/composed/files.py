"""Files made of many fixture cases at random: beside one another, in one another, rewritten.

What a file is made of decides nothing about what is found in it, since one case may well change
what another one means. It is a program that nobody wrote a fix for.
"""

from __future__ import annotations

import ast
import functools
import itertools
import random
import re
import warnings
from dataclasses import dataclass

from tests.fixture_cases import Case, all_cases
from tests.variants import Layout, wrapped

_FUTURE = re.compile(r"^from __future__ import [^\n]*\n", re.MULTILINE)
_IMPORT = re.compile(r"^(?:import|from) [^\n(\\;#]*\n", re.MULTILINE)
_BOM = "\ufeff"

BLOCKS = (
    "if True:",
    "def wrapped{n}():",
    "class Wrapped{n}:",
    "try:",
    "with context{n}():",
    "with jax.default_device(jax.devices('cpu')[0]):",
    "with (open{n}() as file, jax.default_device(None)):",
    "for turn{n} in range(2):",
    "async def wrapped{n}():",
    "while maybe{n}():",
    "@decorated{n}(jax.jit)\ndef wrapped{n}(self):",
)
_ENDS = {"try:": "finally:\n    done{n}()\n"}
_NUMBER = re.compile(r"\{n\}")
_FILLERS = (
    "",
    "",
    "# Part {n} - é.\n",
    "FILLER_{n} = 1\n",
    "def filler_{n}(): return jax.devices()\n",
)
_HEADERS = ("", "", '"""What it is."""\n', "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n")


@dataclass(frozen=True)
class Part:
    """The lines of one case in a composed file."""

    case: Case
    first: int
    last: int


@dataclass(frozen=True)
class Composed:
    """A file, and which of its lines came of which case, where these still are in one piece."""

    name: str
    data: bytes
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text without its byte order mark."""
        return self.data.decode("utf-8").removeprefix(_BOM)


@functools.cache
def usable_cases() -> tuple[Case, ...]:
    """Give the cases that every supported Python compiles."""
    return tuple(case for case in all_cases() if case.needs_python <= (3, 10))


@functools.cache
def cases_by_code() -> dict[str, tuple[Case, ...]]:
    """Give the hazards of each rule."""
    found: dict[str, list[Case]] = {}
    for case in usable_cases():
        if case.kind == "hazards":
            found.setdefault(case.code, []).append(case)
    return {code: tuple(cases) for code, cases in found.items()}


def random_file(seed: int) -> Composed:
    """Compose some hazards, of rules drawn evenly, and perhaps a clean case."""
    dice = dice_of(f"composed {seed}")
    codes = sorted(cases_by_code())
    count = dice.choice([2, 2, 3, 3, 4, 5, 7])
    chosen = [dice.choice(cases_by_code()[dice.choice(codes)]) for _ in range(count)]
    if dice.random() < 0.3:
        clean = [case for case in usable_cases() if case.kind == "clean"]
        chosen.insert(dice.randrange(count + 1), dice.choice(clean))
    return compose(f"seed {seed}", chosen, dice)


def pair(first: str, second: str, turn: int = 0) -> Composed:
    """Compose one hazard each of two rules; another `turn` takes other cases of theirs."""
    dice = dice_of(f"pair {first} {second} {turn}")
    chosen = [dice.choice(cases_by_code()[code]) for code in (first, second)]
    return compose(f"{first} and {second}, turn {turn}", chosen, dice)


def compose(name: str, cases: list[Case], dice: random.Random) -> Composed:
    """Put cases into one file, in some order and shape, with comments, in some line ends."""
    names = ", ".join(case.id for case in cases)
    future = "".join(dict.fromkeys(m for c in cases for m in _FUTURE.findall(c.before.text)))
    head = dice.choice(_HEADERS) + future
    texts = [_FUTURE.sub("", case.before.text) for case in cases]
    if dice.random() < 0.25:
        text = decorated("".join(_interleaved(texts, dice)), 0, dice)
        if compiles(head + text):
            return Composed(f"{name}, interleaved: {names}", _as_bytes(head + text, dice), ())
    if dice.random() < 0.3:
        head, texts = _with_shared_imports(head, texts)
    pieces = [decorated(text, number, dice) for number, text in enumerate(texts)]
    gaps = ["\n" * dice.choice([0, 1, 1, 2, 3]) + _filler(dice) for _ in pieces]
    if not compiles(head + "".join(g + p for g, p in zip(gaps, pieces, strict=True))):
        pieces = texts
    parts: list[Part] = []
    text = head
    for case, gap, piece in zip(cases, gaps, pieces, strict=True):
        text += gap
        first = text.count("\n") + 1
        text += piece
        parts.append(Part(case, first, text.count("\n")))
    return Composed(f"{name}: {names}", _as_bytes(text, dice), tuple(parts))


def compiles(text: str) -> bool:
    """Tell whether this Python compiles a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "composed.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def dice_of(seed: str) -> random.Random:
    """Give dice that fall alike at every run."""
    return random.Random(seed)  # noqa: S311 - no secrets are made with it


# -- several cases ------------------------------------------------------------------------------


def _statements(text: str) -> list[str]:
    """Cut a text before each of its statements; comments go with what follows them."""
    lines = text.splitlines(keepends=True)
    ends = [node.end_lineno or node.lineno for node in ast.parse(text).body]
    cuts = [0, *sorted(set(ends[:-1])), len(lines)]
    return ["".join(lines[a:b]) for a, b in itertools.pairwise(cuts)]


def _interleaved(texts: list[str], dice: random.Random) -> list[str]:
    """Mix the statements of texts, each of which keeps its own order."""
    waiting = [statements for text in texts if (statements := _statements(text))]
    mixed: list[str] = []
    while waiting:
        chosen = dice.choice(waiting)
        mixed.append(chosen.pop(0))
        waiting = [each for each in waiting if each]
    return mixed


def _with_shared_imports(head: str, texts: list[str]) -> tuple[str, list[str]]:
    """Import at the beginning what several texts import in the same words."""
    imports = [line for text in texts for line in _IMPORT.findall(text)]
    shared = {line for line in imports if imports.count(line) > 1 and "*" not in line}
    without = [
        _IMPORT.sub(lambda match: "" if match.group() in shared else match.group(), text)
        for text in texts
    ]
    return head + "".join(sorted(shared)), without


def _filler(dice: random.Random) -> str:
    return _NUMBER.sub(str(dice.randrange(100)), dice.choice(_FILLERS))


# -- one text -----------------------------------------------------------------------------------


def decorated(text: str, number: int, dice: random.Random) -> str:
    """Write a text another way."""
    if dice.random() < 0.25:
        text = _if_it_compiles(text, _on_one_line(text, dice))
    if dice.random() < 0.6:
        text = _if_it_compiles(text, _commented(text, dice))
    for level in range(dice.choice([0, 0, 0, 1, 1, 2])):
        header = dice.choice(BLOCKS)
        if "import *" in text and "def " in header:
            continue
        inner = wrapped(text, header).text + _ENDS.get(header, "")
        text = _if_it_compiles(text, _NUMBER.sub(f"{number}{level}", inner))
    step = dice.choice([None, None, None, "\t", "  "])
    return text if step is None else _if_it_compiles(text, _indented_by(text, step))


def _if_it_compiles(text: str, changed: str) -> str:
    return changed if compiles(changed) else text


def _on_one_line(text: str, dice: random.Random) -> str:
    """Put some statements behind the one before them, or behind the header of their block."""
    layout = Layout(text)
    lines = text.split("\n")
    starts = {logical[0] for logical in layout.logical_lines if len(logical) == 1}
    joined: list[str] = []
    previous = -1
    for number, line in enumerate(lines, 1):
        code = line.strip()
        is_plain = number in starts and "#" not in line and not code.endswith(":")
        before = joined[-1] if joined else ""
        may_join = is_plain and previous == number - 1 and dice.random() < 0.5
        if may_join and _margin(before) == _margin(line):
            joined[-1] = f"{before}; {code}"
        elif may_join and before.endswith(":") and len(_margin(before)) < len(_margin(line)):
            joined[-1] = f"{before} {code}"
        else:
            joined.append(line)
        previous = number if number in starts and "#" not in line else -1
    return "\n".join(joined)


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _commented(text: str, dice: random.Random) -> str:
    """Put comments and blank lines between lines, and comments behind them."""
    rate = dice.choice([0.05, 0.2, 0.5])
    layout = Layout(text)
    lines: list[str] = []
    continued = False
    for number, line in enumerate(text.split("\n")[:-1], 1):
        if number not in layout.inside_strings and not continued and dice.random() < rate:
            note = dice.choice([f"# note {number}", "", f"#: é {number}"])
            lines.append(_margin(line) + note if note else "")
        continued = line.endswith("\\")
        takes = line.strip() and "#" not in line and layout.takes_comment(number)
        beside = f"  # beside {number}" if takes and dice.random() < rate else ""
        lines.append(line + beside)
    return "\n".join([*lines, ""])


def _indented_by(text: str, step: str) -> str:
    """Indent by another step than four spaces, but not inside strings."""
    inside = Layout(text).inside_strings
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        depth = (len(line) - len(line.lstrip(" "))) // 4
        lines.append(line if number in inside else step * depth + line[4 * depth :])
    return "\n".join(lines)


def _as_bytes(text: str, dice: random.Random) -> bytes:
    style = dice.choice(["\n", "\n", "\n", "\r\n", "mixed"])
    if style == "mixed":
        text = re.sub("\n", lambda _: dice.choice(["\n", "\r\n"]), text)
    elif style != "\n":
        text = text.replace("\n", style)
    if dice.random() < 0.2:
        text = text.rstrip("\r\n")
    return (_BOM if dice.random() < 0.15 else "").encode() + text.encode()
