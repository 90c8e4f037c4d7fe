"""The text of a module by the places that Python's parser gives: lines, and bytes in UTF-8."""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING

from placement_lint.syntax.code_text import strings_and_comments

if TYPE_CHECKING:
    import ast

    Placed = ast.expr | ast.stmt | ast.pattern

_SPACE = r"(?:[ \t\f]|\\\r?\n)*"
_AFTER_STATEMENT = re.compile(rf"{_SPACE};{_SPACE}(?P<end>[\r\n#]|\Z)?".encode())
_COMMENT = re.compile(rb"#[^\n]*")
_BEHIND_ELEMENT = re.compile(rb"(?:[\s\\)]|#[^\n]*)*")


class UnsuitedError(Exception):
    """A text of which it is not sure how LibCST reads it."""


class LocatedText:
    """A text, cut out by the places of nodes."""

    def __init__(self, text: str) -> None:
        """Take a text that Python can parse. Raises UnsuitedError where the places may be wrong."""
        if text.count("\r") != text.count("\r\n") or text.startswith("\ufeff"):
            raise UnsuitedError
        if not _is_as_written(text):
            raise UnsuitedError
        self._bytes = text.encode()
        lengths = (len(line) for line in self._bytes.split(b"\n"))
        self._starts = [0, *itertools.accumulate(length + 1 for length in lengths)]
        self.has_semicolons = ";" in text

    def start(self, node: Placed) -> int:
        """Return the offset, in bytes, at which a node begins."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: Placed) -> int:
        """Return the offset, in bytes, at which a node ends."""
        # Python's parser says it of all nodes, though it need not.
        return self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]

    def characters(self, line: int, column: int) -> int:
        """Return how many characters there are before a column of a line."""
        start = self._starts[line - 1]
        return len(self._bytes[start : start + column].decode())

    def of(self, node: Placed) -> str:
        """Return the text of a node, without parentheses around it."""
        starts = self._starts
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
        return self._bytes[start:end].decode()

    def is_at(self, node: Placed, word: bytes) -> bool:
        """Return whether a node begins with a word."""
        return self._bytes.startswith(word, self.start(node))

    def column_of_sign(self, decorator: ast.expr) -> int | None:
        """Return the column of the `@` before a decorator, where no parentheses are between."""
        start = self._starts[decorator.lineno - 1]
        before = self._bytes[start : start + decorator.col_offset]
        return before.rindex(b"@") if before.strip() == b"@" else None

    def begins_line(self, node: Placed) -> bool:
        """Return whether there is nothing before a statement on its line."""
        start = self._starts[node.lineno - 1]
        if self._bytes[start : start + node.col_offset].strip():
            return False
        if self._bytes[max(start - 3, 0) : start].rstrip(b"\r\n").endswith(b"\\"):
            # It may go on with the line above; or that ends in a comment.
            raise UnsuitedError
        return True

    def semicolon_after(self, statement: ast.stmt) -> tuple[bool, bool]:
        """Return whether there is a semicolon behind a statement, and whether its line ends."""
        found = _AFTER_STATEMENT.match(self._bytes, self.end(statement))
        return (False, True) if found is None else (True, found["end"] is not None)

    def is_enclosed(self, whole: Placed, first: Placed | None) -> bool:
        """Return whether a tuple, or a pattern like one, has parentheses; `first` is in it."""
        start = self.start(whole)
        if self._bytes[start : start + 1] != b"(":
            return False
        if first is None:
            return True
        opened = _COMMENT.sub(b"", self._bytes[start : self.start(first)]).count(b"(")
        behind = _BEHIND_ELEMENT.match(self._bytes, self.end(first))
        closed = 0 if behind is None else _COMMENT.sub(b"", behind.group()).count(b")")
        return opened > closed

    def has_comma_behind(self, part: Placed, whole: Placed) -> bool:
        """Return whether there is a comma behind the last part of a statement."""
        return b"," in _COMMENT.sub(b"", self._bytes[self.end(part) : self.end(whole)])


def _is_as_written(text: str) -> bool:
    """Return whether Python's parser gives all names of a text as they are written in it.

    It gives them in Unicode's form NFKC. LocatedText that is no name does not count.
    """
    return text.isascii() or _is_normalized(text) or _is_normalized(_code(text))


def _code(text: str) -> str:
    """Return a text without its comments, and its strings without fields."""
    kept, done = [], 0
    for start, end, is_formatted in strings_and_comments(text):
        if not is_formatted:
            kept.append(text[done:start])
            done = end
    return " ".join([*kept, text[done:]])


def _is_normalized(text: str) -> bool:
    inside: set[str] = set()
    outside: set[str] = set()
    for character in set(text):
        if not character.isascii():
            (inside if f"a{character}".isidentifier() else outside).add(character)
    # To look at the text takes longer than all else here; most have no letters but those of ASCII.
    return not inside or unicodedata.is_normalized(
        "NFKC", text.translate({ord(character): " " for character in outside})
    )
