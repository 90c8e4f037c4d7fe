"""Many checks in one test: each is made, and the test fails with the names of all that failed."""

from __future__ import annotations

import contextlib
import itertools
import traceback
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

_FAILED: type[BaseException] = pytest.fail.Exception


class Trials:
    """The checks of one test. One that fails does not end the others.

        with Trials() as trials:
            for case in cases:
                with trials.of(case.id):
                    assert …

    A test of which no check was made fails, too.
    """

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failed: dict[str, str] = {}

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Make one check; the name says in the report which it was."""
        self.made.append(name)
        try:
            yield
        # Not swallowed: all of them are told when the last check is made.
        except (Exception, _FAILED) as error:
            where = "".join(traceback.format_tb(error.__traceback__)[1:])
            self.failed[name] = f"{where}{type(error).__name__}: {error}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        if self.failed:
            told = [f"== {name}\n{text}" for name, text in self.failed.items()]
            names = ", ".join(self.failed)
            pytest.fail(
                "\n".join([*told, f"{len(told)} of {len(self.made)} failed: {names}"]),
                pytrace=False,
            )
        if not self.made:
            pytest.fail("nothing was checked", pytrace=False)


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
