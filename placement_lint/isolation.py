"""A mistake of ours must cost no more than the part of the work that it is in."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class isolating:  # noqa: N801 - used as a function is
    """A block whose failure is reported, and ends nothing but the block.

    `report` gets the exception; `but` are those that are not of our making, which pass. So does
    whatever is no Exception: an interrupt, or a limit of time or memory.
    """

    def __init__(self, report: Callable[[Exception], object], *but: type[Exception]) -> None:
        self._report = report
        self._but = but

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, self._but):
            return False
        self._report(error)
        return True
