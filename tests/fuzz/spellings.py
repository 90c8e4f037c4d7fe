"""Programs of people, written in other ways that mean the same.

Blanks, comments, line ends and backslashes between tokens, brackets around names, strings in other
quotes or in two pieces, statements on one line. What is found may depend on none of it, above all
not on whether a file is passed over without being parsed.
"""

from __future__ import annotations

import io
import keyword
import re
import token
import tokenize
from typing import TYPE_CHECKING

from tests.fuzz.oracle import Input
from tests.fuzz.seeds import dice_of, texts

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_OPENING, _CLOSING = "([{", ")]}"
_OUTSIDE = ("", " ", "  ", "\t", " \t", "\f", "\\\n", " \\\n  ", "\\\n\\\n ")
_INSIDE = (*_OUTSIDE, "\n", "\n\n   ", " # note\n", "#, (=\n", " # \"'\n ", "\n# as in\n")
_LAYOUT = frozenset({token.NEWLINE, token.NL, token.INDENT, token.DEDENT, token.ENDMARKER})
_SOFT = frozenset({"match", "case", "type", "_", "print"})
_WORDS = frozenset({token.NAME, token.NUMBER, token.STRING})


def spelling(seed: int) -> Input:
    """Give the spelling with a number: always the same one."""
    dice = dice_of("spelling", seed)
    number = dice.randrange(len(texts()))
    text = texts()[number]
    done: list[str] = []
    for change in dice.sample(_CHANGES, dice.choice([1, 1, 2, 3])):
        changed = _kept(text, change(text, dice))
        if changed != text:
            text = changed
            done.append(change.__name__.strip("_"))
    end = dice.choice(["\n"] * 5 + ["\r\n", "\r"])
    return Input(
        "fuzzed.py",
        text.replace("\n", end).encode("utf-8", "surrogatepass"),
        f"spelling {seed} of {number}: {', '.join(done)} {end!r}",
    )


def _kept(text: str, changed: str) -> str:
    """Give a changed text, or the one before where the change broke it."""
    try:
        compile(changed, "spelling", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return text
    return changed


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    try:
        return [*tokenize.generate_tokens(io.StringIO(text).readline)]
    except (SyntaxError, tokenize.TokenError):
        return []


def _rewritten(
    text: str,
    between: Callable[[tokenize.TokenInfo, tokenize.TokenInfo, int, str], str],
    written: Callable[[tokenize.TokenInfo, tokenize.TokenInfo | None, int], str],
) -> str:
    """Write a text anew: its tokens as `written`, and what `between` puts between two of a line.

    Both are told in how many brackets they stand.
    """
    tokens = _tokens(text)
    lines = text.split("\n")
    pieces: list[str] = []
    depth, row, column = 0, 1, 0
    for index, each in enumerate(tokens):
        gap = _stretch(lines, (row, column), each.start)
        before = tokens[index - 1] if index else None
        is_inner = before is not None and not {before.type, each.type} & {*_LAYOUT, token.COMMENT}
        pieces.append(between(before, each, depth, gap) if before and is_inner else gap)
        depth -= each.string in _CLOSING and each.type == token.OP
        pieces.append(written(each, before, depth) if each.string else "")
        depth += each.string in _OPENING and each.type == token.OP
        row, column = each.end
    return "".join(pieces)


def _stretch(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
    inner = lines[start[0] : end[0] - 1]
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return "\n".join([lines[start[0] - 1][start[1] :], *inner, last])


def _as_it_is(each: tokenize.TokenInfo, before: tokenize.TokenInfo | None, depth: int) -> str:
    return each.string


def _gap_as_it_is(one: tokenize.TokenInfo, other: tokenize.TokenInfo, depth: int, gap: str) -> str:
    return gap


def _space(text: str, dice: random.Random) -> str:
    """Put other blanks between tokens."""
    share = dice.choice([0.05, 0.2, 0.6])

    def between(one: tokenize.TokenInfo, other: tokenize.TokenInfo, depth: int, gap: str) -> str:
        if dice.random() > share or "FSTRING" in token.tok_name[one.type]:
            return gap
        made = dice.choice(_INSIDE if depth else _OUTSIDE)
        return made or ("" if not {one.type, other.type} <= _WORDS else gap)

    return _rewritten(text, between, _as_it_is)


def _bracket(text: str, dice: random.Random) -> str:
    """Put names in brackets, one or two deep."""
    share = dice.choice([0.02, 0.1])

    def written(each: tokenize.TokenInfo, before: tokenize.TokenInfo | None, depth: int) -> str:
        is_name = each.type == token.NAME and not keyword.iskeyword(each.string)
        is_whole = before is None or before.string not in {".", "def", "class", "import", "from"}
        if is_name and is_whole and each.string not in _SOFT and dice.random() < share:
            return dice.choice(["({})", "(({}))", "(\n{}\n)", "( # (\n{})"]).format(each.string)
        return each.string

    return _rewritten(text, _gap_as_it_is, written)


def _quote(text: str, dice: random.Random) -> str:
    """Write strings in other quotes, with another prefix, or in two pieces."""

    def written(each: tokenize.TokenInfo, before: tokenize.TokenInfo | None, depth: int) -> str:
        inner = each.string[1:-1]
        is_plain = each.type == token.STRING and each.string[0] in "\"'"
        if not is_plain or not inner.isascii() or set(inner) & set("\"'\\{}\n"):
            return each.string
        if dice.random() > 0.4:
            return each.string
        # Not in the middle of a word: the filter searches for whole ones.
        at = dice.choice([0, len(inner), *(m.start() for m in re.finditer(r"\b", inner))])
        return dice.choice([
            f"'{inner}'", f'"{inner}"', f"'''{inner}'''", f'"""{inner}"""', f"r'{inner}'",
            f'R"{inner}"', f"u'{inner}'", f"('{inner}')", f"('{inner[:at]}' \"{inner[at:]}\")",
            f"('{inner[:at]}'\n  '{inner[at:]}')" if depth else f"('{inner[:at]}''{inner[at:]}')",
        ])  # fmt: skip

    return _rewritten(text, _gap_as_it_is, written)


def _join(text: str, dice: random.Random) -> str:
    """Put statements on the line before them, or behind the header of a block."""
    lines = text.split("\n")
    for at in sorted(dice.sample(range(len(lines)), min(len(lines), 6)), reverse=True):
        if not at or not lines[at].strip() or not lines[at - 1].strip():
            continue
        between = "" if lines[at - 1].rstrip().endswith(":") else dice.choice([";", "; ", " ;\t"])
        joined = lines[at - 1].rstrip() + between + lines[at].strip()
        text = _kept(text, "\n".join([*lines[: at - 1], joined, *lines[at + 1 :]]))
        lines = text.split("\n")
    return text


def _under_a_condition(text: str, dice: random.Random) -> str:
    """Put single lines under a condition that always holds, on the same line."""
    lines = text.split("\n")
    for at in sorted(dice.sample(range(len(lines)), min(len(lines), 6)), reverse=True):
        body = lines[at].lstrip()
        margin = lines[at][: len(lines[at]) - len(body)]
        header = dice.choice(["if 1:", "if True: ", "with x() as y:", "class A:", "while 1:\t"])
        changed = [*lines[:at], f"{margin}{header}{body}", *lines[at + 1 :]]
        text = _kept(text, "\n".join(changed)) if body else text
        lines = text.split("\n")
    return text


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _space, _space, _space, _bracket, _quote, _join, _under_a_condition,
)  # fmt: skip
