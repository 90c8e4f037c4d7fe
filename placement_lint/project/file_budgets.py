"""Work about one file that others ask for: at its expense, and given up where that is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from placement_lint.limits.budget import LimitError, free, give_up, limit_of, spending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


class Exhausted(NamedTuple):
    """What a file ran out of, and how many seconds it was given."""

    error: LimitError
    seconds: float


class Expenses:
    """The files of a run about which something takes more than they may."""

    def __init__(self, exhausted: Iterable[str] = ()) -> None:
        """Take those that are known."""
        self.exhausted = set(exhausted)
        self._new: dict[str, Exhausted] = {}

    def of(self, path: str, work: Callable[[], T], otherwise: T) -> T:
        """Return what work gives that is about one file; `otherwise` where that takes too much.

        Nothing more is done then for whoever asks about the file.
        """
        if path in self.exhausted:
            return otherwise
        try:
            with spending(path):
                return work()
        except LimitError as error:
            if error.path != path:
                raise
            ran_out = error.with_traceback(None)
        give_up(ran_out)
        free()
        self.exhausted.add(path)
        self._new[path] = Exhausted(ran_out, limit_of(path))
        return otherwise

    def take_new(self) -> dict[str, Exhausted]:
        """Return the files that were exhausted since this was called."""
        new, self._new = self._new, {}
        return new
