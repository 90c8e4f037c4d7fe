"""Code as text: strings and comments, and the code that runs at import.

For regular expressions that look at a file before it is parsed: in doubt, something is code.
"""

from __future__ import annotations

import functools
import re

STRING = (
    r'"(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|[^"\\\n]*(?:\\.[^"\\\n]*)*")'
    r"|'(?:''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|[^'\\\n]*(?:\\.[^'\\\n]*)*')"
)
"""Matches a string without its prefix, where `.` matches line ends."""

COMMENT = r"#[^\n]*"

_MAIN = frozenset({'"__main__"', "'__main__'"})
_TEXT = re.compile(f"{COMMENT}|{STRING}", re.DOTALL)
_HEADER = re.compile(r"(?m)^(?P<indent>[ \t\f]*)(?:async[ \t]+)?def[ \t]")
# Without brackets among its parameters, where there could be calls, and of its body as much as is
# surely no longer than it: calls have one pair of brackets in another at most.
_NO_BRACKETS = r"(?:[^()\[\]{}\"']|\"\")*"
_IN_BRACKETS = rf"\({_NO_BRACKETS}(?:\({_NO_BRACKETS}\){_NO_BRACKETS})*\)"
_LAMBDA = re.compile(
    r"\blambda\b(?:(?!\blambda\b)[^:()\[\]{}\n])*:[ \t\f\\]*(?:\n\s*)?"
    rf"(?:(?!\bfor\b|\blambda\b)[^()\[\]{{}},:;\n\"']|\"\"|{_IN_BRACKETS}|\[{_NO_BRACKETS}\])*"
)
_GUARD = re.compile(
    r"(?m)^if[ \t]*\(?[ \t]*__name__[ \t]*==[ \t]*(?:\"__main__\"|'__main__')[ \t]*\)?[ \t]*:"
    r"[^\n]*\n(?:(?:[ \t\f][^\n]*)?\n)*(?:[ \t\f][^\n]*\Z)?"
)
_LONGEST_HEADER = 300
"""In lines."""


def outside_functions(code: str) -> str:
    """Give code, with line feeds, without comments, strings and the bodies of functions, roughly.

    And without what only a program does, under a guard on `__main__`. It may hold more than what
    runs at import, never less.
    """
    code = _TEXT.sub(_without_text, code)
    kept = []
    done = 0
    while header := _HEADER.search(code, done):
        end = _end_of_line(code, header.start())
        kept.append(code[done:end])
        done = end
        if code[header.start() : end].rstrip().endswith(":"):
            following = _end_of_body(len(header["indent"])).search(code, end)
            done = following.start() if following else len(code)
    return _LAMBDA.sub(" ", _GUARD.sub("", "".join([*kept, code[done:]])))


def _without_text(match: re.Match[str]) -> str:
    """Take out a comment, or a string in which there can be no code."""
    text = match.group()
    if text[0] == "#":
        return ""
    if text in _MAIN:
        return text
    before = match.string[max(match.start() - 2, 0) : match.start()].lower()
    # Text that looks like a guard is none.
    return text.replace("__main__", "") if "f" in before or "t" in before else '""'


def _end_of_line(code: str, start: int) -> int:
    """Give the end of a line and of those that go on with it, within brackets."""
    opened = 0
    place = start
    for _ in range(_LONGEST_HEADER):
        end = code.find("\n", place) + 1 or len(code)
        opened += sum(code.count(bracket, place, end) for bracket in "([{")
        opened -= sum(code.count(bracket, place, end) for bracket in ")]}")
        place = end
        if opened <= 0 and code[end - 2 : end] != "\\\n":
            break
    return place


@functools.cache
def _end_of_body(indent: int) -> re.Pattern[str]:
    """Match where the first line begins that is not deeper than this."""
    return re.compile(rf"(?m)^[ \t\f]{{0,{indent}}}[^ \t\f\n]")
