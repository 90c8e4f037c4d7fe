"""Which of the ways to write a case a test tries."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Share:
    """Which of the ways to write a case are tried: each in its turn, or every one.

    The number of a case within its folder decides, so that a folder of a few cases has every way
    in it, and the same ones at every run.
    """

    def __init__(self, number: int, *, every: bool) -> None:
        self.number = number
        self.every = every

    def of(self, ways: list[str], applies: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Give the ways that apply: all of them, or the first from that one on whose turn it is."""
        if self.every or not ways:
            return [way for way in ways if applies(way)]
        turn = self.number % len(ways)
        return [*itertools.islice(filter(applies, ways[turn:] + ways[:turn]), 1)]

    def one_in(self, count: int) -> bool:
        """Tell whether it is the turn of what is tried on one case in so many."""
        return self.every or self.number % count == 0
