"""Programs of people, broken: tokens and lines lost, doubled, swapped; two programs in one; bytes.

Many of them still parse: a name stands in the place of another name, a line between other lines of
its indentation. The others must be refused without harm.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from tests.fuzz.oracle import Input
from tests.fuzz.seeds import dice_of, notebook, texts

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_TOKEN = re.compile(
    r"[^\W\d]\w*|\d[\w.]*|\"\"\"|'''|[\"']|(?:\r\n|\r|\n)[ \t]*|[ \t]+|#[^\r\n]*"
    r"|[-+*/|&^%@<>=!:]=|->|\*\*|//|.",
    re.DOTALL,
)
_NAME = re.compile(r"[^\W\d]\w*")
_ODD = (
    *"()[]{}:;,.=@\\'\"#*",
    *("\n", "\r", "\r\n", "\t", "\x0c", "\0", "\x0b", "\x1a", "\x85", "\u2028", "\ufeff", "é"),
    *(
        "\U0001d4b3",
        "ﬁ",
        "'''",
        '"""',
        "f'{",
        "}'",
        "\\\n",
        " \\\n ",
        "\n\n",
        "\n    ",
        "lambda: ",
        "*",
    ),
    *("# noqa", "# noqa: JDP204", "# placement-lint: ignore[JDP2]", "# placement-lint: ignore"),
    *("# reveal: x", "# %%\n", "async ", "await ", "yield ", "not ", "(x := ", "if x else "),
    *("global x\n", "nonlocal x\n", "del x\n", "import *", "from . import ", "return ", "break\n"),
)
_CODECS = ("latin-1", "utf-16", "utf-16-le", "utf-7", "cp1252", "shift_jis", "utf-8", "ascii")
_COOKIES = ("latin-1", "utf-8", "cp1252", "shift_jis", "utf-7", "ascii", "gb18030", "utf-8-sig")


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Give the names that programs use, the more often the more they use them."""
    return tuple(name for text in texts() for name in _NAME.findall(text))


def mutation(seed: int) -> Input:
    """Give the mutation with a number: always the same one."""
    dice = dice_of("mutation", seed)
    number = dice.randrange(len(texts()))
    text = texts()[number]
    done: list[str] = []
    for _ in range(dice.choice([1, 1, 1, 1, 2, 2, 3, 6])):
        change = dice.choice(_CHANGES)
        text = change(text, dice)
        done.append(change.__name__.strip("_"))
    origin = f"mutation {seed}: {', '.join(done)}"
    if dice.random() < 0.1:
        cells = [text, *(dice.choice(texts()) for _ in range(dice.randrange(3)))]
        data = notebook(cells, dice)
        if dice.random() < 0.4:
            data = broken(data, dice)
        return Input("fuzzed.ipynb", data, origin)
    return Input("fuzzed.py", _as_bytes(text, dice), origin)


# -- tokens ---------------------------------------------------------------------------------------


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _run(tokens: list[str], dice: random.Random) -> slice:
    start = dice.randrange(len(tokens) + 1)
    return slice(start, start + dice.choice([1, 1, 1, 2, 3, 8]))


def _delete_tokens(text: str, dice: random.Random) -> str:
    tokens = _tokens(text)
    del tokens[_run(tokens, dice)]
    return "".join(tokens)


def _double_tokens(text: str, dice: random.Random) -> str:
    tokens = _tokens(text)
    run = _run(tokens, dice)
    return "".join([*tokens[: run.start], *tokens[run] * dice.choice([2, 2, 3]),
                    *tokens[run.stop :]])  # fmt: skip


def _swap_tokens(text: str, dice: random.Random) -> str:
    tokens = _tokens(text)
    if len(tokens) > 1:
        one, other = dice.sample(range(len(tokens)), 2)
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def _rename(text: str, dice: random.Random) -> str:
    """Put names into the places of others."""
    tokens = _tokens(text)
    names = [number for number, token in enumerate(tokens) if _NAME.fullmatch(token)]
    own = [tokens[number] for number in names]
    for number in dice.sample(names, min(len(names), dice.choice([1, 1, 2, 5]))):
        tokens[number] = dice.choice(own if dice.random() < 0.5 else vocabulary())
    return "".join(tokens)


def _insert(text: str, dice: random.Random) -> str:
    tokens = _tokens(text)
    tokens.insert(dice.randrange(len(tokens) + 1), dice.choice(_ODD))
    return "".join(tokens)


def _splice(text: str, dice: random.Random) -> str:
    """Begin as one program, and end as another one."""
    own, other = _tokens(text), _tokens(dice.choice(texts()))
    return "".join(own[: dice.randrange(len(own) + 1)] + other[dice.randrange(len(other)) :])


def _move_brackets(text: str, dice: random.Random) -> str:
    """Put an expression in brackets of some kind, or a call."""
    tokens = _tokens(text)
    run = _run(tokens, dice)
    opening, closing = dice.choice(
        [("(", ")"), ("[", "]"), ("{", "}"), ("(*", ",)"), ("{**", "}"), ("f'{", "}'"),
         ("(lambda: ", ")()"), ("[", " for x in x]"), ("(yield ", ")"), ("(x := ", ")")]
    )  # fmt: skip
    return "".join([*tokens[: run.start], opening, *tokens[run], closing, *tokens[run.stop :]])


# -- lines ----------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True) or [""]


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _delete_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    del lines[_run(lines, dice)]
    return "".join(lines)


def _double_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    run = _run(lines, dice)
    return "".join([*lines[: run.stop], *lines[run], *lines[run.stop :]])


def _swap_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def _foreign_lines(text: str, dice: random.Random) -> str:
    """Put lines of another program between these, indented as the line there is."""
    lines, other = _lines(text), _lines(dice.choice(texts()))
    at = dice.randrange(len(lines))
    taken = other[_run(other, dice)]
    shift = _margin(lines[at])
    margins = [_margin(line) for line in taken if line.strip()]
    common = min(margins, key=len) if margins else ""
    put = [shift + line.removeprefix(common) for line in taken]
    return "".join([*lines[:at], *put, *lines[at:]])


def _indent_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    run = _run(lines, dice)
    step = dice.choice(["    ", " ", "\t", "  ", "\x0c"])
    header = dice.choice(
        ["", "if x:\n", "for x in x:\n", "def f():\n", "class C:\n", "with x:\n",
         "async def f():\n", "try:\n", "while x:\n", "match x:\n", "else:\n", "except x:\n",
         "case _:\n"]
    )  # fmt: skip
    margin = _margin(lines[run.start]) if run.start < len(lines) else ""
    head = [margin + header] if header else []
    indented = [step + line for line in lines[run]]
    return "".join([*lines[: run.start], *head, *indented, *lines[run.stop :]])


def _dedent_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    run = _run(lines, dice)
    lines[run] = [line.removeprefix("    ") for line in lines[run]]
    return "".join(lines)


def _join_lines(text: str, dice: random.Random) -> str:
    lines = _lines(text)
    at = dice.randrange(len(lines))
    between = dice.choice(["; ", " ", "", " \\\n", " = ", ", ", " if x else "])
    following = [line.lstrip() for line in lines[at + 1 : at + 2]]
    lines[at : at + 2] = [between.join([lines[at].rstrip(), *following])]
    return "".join(lines)


def _truncate(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _pull_out(text: str, dice: random.Random) -> str:
    """Keep some lines, each as likely as not."""
    return "".join(line for line in _lines(text) if dice.random() < 0.7)


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _delete_tokens, _double_tokens, _swap_tokens, _rename, _rename, _rename, _insert, _splice,
    _move_brackets, _delete_lines, _double_lines, _swap_lines, _foreign_lines, _foreign_lines,
    _foreign_lines, _indent_lines, _dedent_lines, _join_lines, _truncate, _pull_out,
)  # fmt: skip


# -- bytes ----------------------------------------------------------------------------------------


def _as_bytes(text: str, dice: random.Random) -> bytes:
    end = dice.choice(["\n"] * 6 + ["\r\n", "\r\n", "\r", "mixed"])
    if end == "mixed":
        text = re.sub("\n", lambda _: dice.choice(["\n", "\r\n", "\r"]), text)
    elif end != "\n":
        text = text.replace("\n", end)
    way = dice.random()
    if way < 0.05:
        return text.encode(dice.choice(_CODECS), "replace")
    if way < 0.1:
        codec = dice.choice(_COOKIES)
        return f"# coding: {codec}{end if end != 'mixed' else chr(10)}{text}".encode(
            codec, "replace"
        )
    data = (b"\xef\xbb\xbf" if way < 0.15 else b"") + text.encode("utf-8", "surrogatepass")
    return broken(data, dice) if way > 0.95 else data


def broken(data: bytes, dice: random.Random) -> bytes:
    """Cut bytes off, change some, or put some between them."""
    at = dice.randrange(len(data) + 1)
    other = bytes(dice.randrange(256) for _ in range(dice.choice([1, 1, 2, 4])))
    return dice.choice(
        [
            data[:at],
            data[:at] + other + data[at:],
            data[:at] + other + data[at + len(other) :],
            data[:at] + data[at + 1 :],
            data[:at] + data[at : at + 200] + data[at:],
        ]
    )
