"""Code as text: strings and comments, what is left without them, and the code that runs at import.

For whoever looks at a file before it is parsed: in doubt, something is code. Nothing here takes
more time than in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A string that nothing ends goes to the end of its line, one in three quotes to that of the text:
# so whatever begins with a quote is a string, and no quote is ever read twice.
STRING = (
    r'"(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)'
    r'|[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|(?=\n)|\\?\Z))'
    r"|'(?:''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\\?\Z)"
    r"|[^'\\\n]*(?:\\.[^'\\\n]*)*(?:'|(?=\n)|\\?\Z))"
)
"""Matches a string without its prefix, where `.` matches line ends."""

COMMENT = r"#[^\n]*"

FORMATTED_PREFIX = re.compile(r"(?:.*\W)?(?:[fFtT][rR]?|[rR][fFtT])\Z", re.DOTALL)
"""Matches the three characters before the quote of a string that may have fields."""
# What ends a stretch of the text of a formatted string. As LibCST reads them: where text is not
# raw, the brace of `\N{` opens no field. No other backslash keeps a brace from that, nor does this
# one in a format specification.
TEXT_STOP = {
    "'": re.compile(r"\\(?:N\{|[^{}])?|\{\{?|'|\n", re.DOTALL),
    '"': re.compile(r'\\(?:N\{|[^{}])?|\{\{?|"|\n', re.DOTALL),
    "'''": re.compile(r"\\(?:N\{|[^{}])?|\{\{?|'''", re.DOTALL),
    '"""': re.compile(r'\\(?:N\{|[^{}])?|\{\{?|"""', re.DOTALL),
}
RAW_TEXT_STOP = {
    "'": re.compile(r"\\[^{}]?|\{\{?|'|\n", re.DOTALL),
    '"': re.compile(r'\\[^{}]?|\{\{?|"|\n', re.DOTALL),
    "'''": re.compile(r"\\[^{}]?|\{\{?|'''", re.DOTALL),
    '"""': re.compile(r'\\[^{}]?|\{\{?|"""', re.DOTALL),
}
SPEC_STOP = {
    "'": re.compile(r"\\[^{}]?|[{}]|'|\n", re.DOTALL),
    '"': re.compile(r'\\[^{}]?|[{}]|"|\n', re.DOTALL),
    "'''": re.compile(r"\\[^{}]?|[{}]|'''", re.DOTALL),
    '"""': re.compile(r'\\[^{}]?|[{}]|"""', re.DOTALL),
}
_MAIN = frozenset({'"__main__"', "'__main__'"})
_TEXT = re.compile(f"{COMMENT}|{STRING}", re.DOTALL)
_STRING = re.compile(STRING, re.DOTALL)
_LAST_OF_PREFIX = frozenset("fFtTrR")
_OPENING = re.compile(r"\"\"\"|'''|[\"']")
_LONG = frozenset(('"""', "'''"))
_IN_FIELD = re.compile(rf"[()\[\]{{}}:\"']|{COMMENT}")
# Fields without quotes, braces and comments: then the quote that seems to end the string does.
_PLAIN_FIELDS = re.compile(r"[^{}]*(?:(?:\{\{|\}\}|\{[^{}\"'#]*\})[^{}]*)*")
_KEPT = re.compile(r"[^\s\"'\\]{0,100}")
"""What a string in three quotes may hold that means something to code, as the name of a module."""

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
    r"(?m)^if[ \t]*(?:\([ \t]*)?__name__[ \t]*==[ \t]*(?:\"__main__\"|'__main__')"
    r"[ \t]*(?:\)[ \t]*)?:"
    r"[^\n]*\n(?:(?:[ \t\f][^\n]*)?\n)*(?:[ \t\f][^\n]*\Z)?"
)
_LONGEST_HEADER = 300
"""In lines."""


def code_of(text: str) -> str:
    """Return a text, with line feeds, without its comments and what its long strings say.

    Strings on one line are left as they are, and so are formatted ones: there may be code in them.
    """
    kept: list[str] = []
    done = 0
    for start, end, is_formatted in strings_and_comments(text):
        if text[start] == "#":
            kept.append(text[done:start])
            done = end
        elif not is_formatted and _is_long(text, start, end):
            kept += [text[done:start], '""']
            done = end
    return "".join([*kept, text[done:]])


def _is_long(text: str, start: int, end: int) -> bool:
    """Return whether a string is one in three quotes that says something to people."""
    quotes = text[start : start + 3]
    return (
        quotes in _LONG
        and end - start >= 2 * len(quotes)
        and text.startswith(quotes, end - len(quotes))
        and not _KEPT.fullmatch(text, start + len(quotes), end - len(quotes))
    )


def strings_and_comments(text: str) -> Iterator[tuple[int, int, bool]]:
    """Return where each comment and each string begins and ends, and whether one may have fields.

    A string begins with its quote; comments in its fields come before it.
    """
    place = 0
    while True:
        for match in _TEXT.finditer(text, place):
            start, end = match.span()
            if text[start] == "#" or not is_formatted(text, start):
                yield start, end, False
                continue
            if not _has_plain_fields(text, start, end):
                comments, place = _read_fields(text, start)
                for comment in comments:
                    yield *comment, False
                yield start, place, True
                if place != end:
                    break
            else:
                yield start, end, True
        else:
            return


def is_formatted(text: str, start: int) -> bool:
    """Return whether the string whose quote stands here may have fields, by its prefix."""
    before = text[start - 1 : start]
    return before in _LAST_OF_PREFIX and bool(
        FORMATTED_PREFIX.match(text, max(start - 3, 0), start)
    )


def _has_plain_fields(text: str, start: int, end: int) -> bool:
    return text.find("{", start, end) < 0 or bool(_PLAIN_FIELDS.fullmatch(text, start, end))


def _read_fields(text: str, start: int) -> tuple[list[tuple[int, int]], int]:
    """Return the comments in the fields of a string whose quote stands here, and where it ends.

    From Python 3.12 on, fields may hold the quotes of their string.
    """
    reading = _Fields(text)
    end = reading.end_of(start)
    return reading.comments, end


class _Fields:
    """Reads a formatted string: each frame is a string, a field of one, or the format of a field.

    A frame is the quote of a string, with an `r` before it where it is raw; how many brackets are
    open in a field; or the quote of a string again, with a colon before it, for a format.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[tuple[int, int]] = []
        self._frames: list[str | int] = []

    def end_of(self, start: int) -> int:
        place = self._open(start)
        while self._frames:
            if place >= len(self.text):
                return len(self.text)
            frame = self._frames[-1]
            if isinstance(frame, int):
                place = self._code(place, frame)
            else:
                place = self._stretch(place, frame)
        return place

    def _open(self, start: int) -> int:
        """Enter the string that begins with a quote here."""
        opening = _OPENING.match(self.text, start)
        quote = opening.group() if opening else self.text[start]
        is_raw = not {"r", "R"}.isdisjoint(self.text[max(start - 2, 0) : start])
        self._frames.append(f"r{quote}" if is_raw else quote)
        return start + len(quote)

    def _stretch(self, place: int, frame: str) -> int:
        """Read text, as far as it goes."""
        quote = _quote_of(frame)
        stops = SPEC_STOP if ":" in frame else RAW_TEXT_STOP if "r" in frame else TEXT_STOP
        found = stops[quote].search(self.text, place)
        if found is None:
            return len(self.text)
        mark = found.group()
        if mark == "{":
            self._frames.append(0)
        elif mark == "}":
            self._frames.pop()
        elif mark in (quote, "\n"):
            while ":" in str(self._frames.pop()):
                pass
            return found.end() if mark == quote else found.start()
        return found.end()

    def _code(self, place: int, opened: int) -> int:
        """Read the code of a field with so many open brackets, as far as its next mark."""
        found = _IN_FIELD.search(self.text, place)
        if found is None:
            return len(self.text)
        mark = found.group()
        self._frames.pop()
        if mark[0] == "#":
            self.comments.append(found.span())
        elif mark in "([{":
            opened += 1
        elif opened and mark in ")]}":
            opened -= 1
        elif mark == "}":
            return found.end()
        elif mark == ":" and not opened:
            self._frames.append(f":{_quote_of(self._frames[-1])}")
            return found.end()
        self._frames.append(opened)
        if mark not in "\"'":
            return found.end()
        if is_formatted(self.text, found.start()):
            return self._open(found.start())
        string = _STRING.match(self.text, found.start())
        return string.end() if string else found.end()


def _quote_of(frame: str | int) -> str:
    return str(frame).lstrip("r:")


def outside_functions(code: str) -> str:
    """Return code, of which `code_of` left this, without strings and bodies of functions, roughly.

    And without what only a program does, under a guard on `__main__`. It may hold more than what
    runs at import, never less.
    """
    code = _without_strings(code)
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


def _without_strings(code: str) -> str:
    """Empty the strings in which there can be no code."""
    kept: list[str] = []
    done = 0
    for start, end, is_formatted_string in strings_and_comments(code):
        text = code[start:end]
        if text in _MAIN:
            continue
        kept.append(code[done:start])
        done = end
        if is_formatted_string:
            # Text that looks like a guard is none.
            kept.append(text.replace("__main__", ""))
        elif text[0] != "#":
            kept.append('""')
    return "".join([*kept, code[done:]])


def _end_of_line(code: str, start: int) -> int:
    """Return the end of a line and of those that go on with it, within brackets."""
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
