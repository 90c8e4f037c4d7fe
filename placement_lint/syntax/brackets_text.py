"""Which brackets of a text belong together, and what the first one of a call's arguments is."""

from __future__ import annotations

import re

from placement_lint.syntax.code_text import STRING, strings_and_comments

_MARKS = re.compile(r"[,()\[\]{}]")
_MARKS_IN_FIELDS = re.compile(rf"[,()\[\]{{}}]|{STRING}", re.DOTALL)
_LONGEST = 4_000
"""Characters between brackets: of more, nobody asks what they are."""


class Brackets:
    """The brackets of code, as `code_text.code_of` leaves it."""

    def __init__(self, code: str) -> None:
        """Find the pairs; this reads the code once."""
        self._code = code
        self._pairs: dict[int, tuple[int, int]] = {}
        """From an opening bracket to the first comma behind it, or the end, and to the end."""
        opened: list[tuple[int, int]] = []
        done = 0
        for start, end, is_formatted in strings_and_comments(code):
            self._pair(_MARKS, done, start, opened)
            if is_formatted:
                # Its brackets are pairs of their own, and those of its text may be none.
                self._pair(_MARKS_IN_FIELDS, start + 1, end - 1, [])
            done = end
        self._pair(_MARKS, done, len(code), opened)

    def _pair(
        self, marks: re.Pattern[str], start: int, end: int, opened: list[tuple[int, int]]
    ) -> None:
        for match in marks.finditer(self._code, start, end):
            mark, place = match.group()[0], match.start()
            if mark in "([{":
                opened.append((place, 0))
            elif not opened or mark in "\"'":
                continue
            elif mark == ",":
                if not opened[-1][1]:
                    opened[-1] = (opened[-1][0], place)
            else:
                bracket, comma = opened.pop()
                self._pairs[bracket] = (comma or place, place)

    def between(self, bracket: int) -> str | None:
        """Return the text between a bracket and its closing one; None where that is unsure."""
        _, end = self._pairs.get(bracket, (0, 0))
        is_known = 0 < end <= bracket + _LONGEST
        return self._code[bracket + 1 : end] if is_known else None

    def first_of(self, bracket: int) -> str | None:
        """Return the first of the arguments behind a bracket; None where that is unsure."""
        comma, end = self._pairs.get(bracket, (0, 0))
        is_known = 0 < end <= bracket + _LONGEST
        return self._code[bracket + 1 : comma] if is_known else None
