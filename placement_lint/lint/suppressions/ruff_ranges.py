"""The lines between `# ruff: disable[…]` and `# ruff: enable[…]`, as ruff pairs these comments.

Measured on ruff 0.17.6: both are alone on their lines, begin in the same column and list the same
codes. A range that is not ended so lasts until a statement begins further left, or until the file
ends. The tests compare each case with the installed ruff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_Comment = TypeVar("_Comment")

_MOST_OPEN = 100
"""Ranges at one line; what begins inside of so many holds for nothing."""


@dataclass(frozen=True)
class RangeComment(Generic[_Comment]):
    """A comment that begins or ends a range; `comment` is what the caller knows it by."""

    line: int
    column: int
    codes: frozenset[str]
    comment: _Comment
    ends: bool


def silenced_ranges(
    comments: Iterable[RangeComment[_Comment]],
    statements: Sequence[tuple[int, int]],
    pair: Callable[[_Comment, _Comment], None],
) -> list[tuple[int, tuple[_Comment, ...]]]:
    """Return the comments that hold from each line on at which that changes, from line 0 on.

    `statements` are the lines and columns at which statements begin, in order. `pair` is called
    with each comment that begins a range and the one that ends it.
    """
    blocks: list[tuple[int, tuple[_Comment, ...]]] = [(0, ())]
    held: list[RangeComment[_Comment]] = []
    following = 0

    def note(line: int) -> None:
        blocks.append((line, tuple(each.comment for each in held)))

    for each in comments:
        while following < len(statements) and statements[following][0] < each.line:
            _dedent(held, statements[following], note)
            following += 1
        if not each.ends:
            if len(held) < _MOST_OPEN:
                held.append(each)
                note(each.line)
            continue
        begun = [
            index
            for index, other in enumerate(held)
            if (other.column, other.codes) == (each.column, each.codes)
        ]
        if begun:
            pair(held.pop(begun[-1]).comment, each.comment)
            note(each.line)
    for statement in statements[following:]:
        if not held:
            break
        _dedent(held, statement, note)
    return blocks


def _dedent(
    held: list[RangeComment[_Comment]], statement: tuple[int, int], note: Callable[[int], None]
) -> None:
    """End the ranges that begin further right than a statement does."""
    line, column = statement
    kept = [each for each in held if each.column <= column]
    if len(kept) < len(held):
        held[:] = kept
        note(line)
