"""What takes the time of a run: a stopwatch that is always in one part of the work.

A part that begins within another one stops that one's time until it ends. As long as nobody asks,
nothing is measured.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FINDING_FILES = "finding files"
CACHE = "cache"
READING = "reading files"
FILTER = "filter"
PROGRAM = "imports between files"
IMPORTING = "loading LibCST and the rules"
PARSING = "parsing"
NAMES = "names and scopes"
INTERPRETATION = "interpretation"
RULES = "rules"
PLACES = "places, comments and fixes"
FIXING = "writing fixes"
WAITING = "waiting for other processes"
REPORT = "writing the report"
ELSE = "all else"

PARTS = (
    *(FINDING_FILES, CACHE, READING, FILTER, PROGRAM, IMPORTING, PARSING, NAMES, INTERPRETATION),
    *(RULES, PLACES, FIXING, WAITING, REPORT, ELSE),
)
"""In the order in which a run comes to them."""


class Stopwatch:
    """Adds up the seconds of each part."""

    def __init__(self) -> None:
        """Measure nothing, until it is started."""
        self.is_running = False
        self.seconds: dict[str, float] = {}
        self.lasted = 0.0
        """From the start to the stop."""
        self._open: list[str] = []
        self._since = 0.0
        self._started = 0.0

    def start(self) -> None:
        """Measure from now on, from zero."""
        self.is_running = True
        self.seconds = {}
        self._open = [ELSE]
        self._since = self._started = time.perf_counter()

    def stop(self) -> float:
        """Measure no longer, and give the seconds since the start."""
        self._note()
        self.is_running = False
        self.lasted = self._since - self._started
        return self.lasted

    def enter(self, part: str) -> None:
        """Begin a part."""
        if self.is_running:
            self._note()
            self._open.append(part)

    def leave(self) -> None:
        """End the part that began last."""
        if self.is_running and self._open:
            self._note()
            self._open.pop()

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add what another stopwatch has measured."""
        for part, its in seconds.items():
            self.seconds[part] = self.seconds.get(part, 0.0) + its

    def skip(self, other: Stopwatch) -> None:
        """Leave out the time that another stopwatch, which has been stopped, was running."""
        self._since += other.lasted

    def _note(self) -> None:
        now = time.perf_counter()
        if self._open:
            part = self._open[-1]
            self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now


_WATCHES = [Stopwatch()]
"""The last one measures."""


def watch() -> Stopwatch:
    """Return the stopwatch of the run."""
    return _WATCHES[-1]


class timed:  # noqa: N801  (a block, like contextlib's)
    """A block in which a part of the work is done."""

    __slots__ = ("_part",)

    def __init__(self, part: str) -> None:
        """Take which one: one of `PARTS`."""
        self._part = part

    def __enter__(self) -> None:
        _WATCHES[-1].enter(self._part)

    def __exit__(self, *_: object) -> None:
        _WATCHES[-1].leave()


class apart:  # noqa: N801
    """A block that is measured by itself, for whoever gave the work to do.

    The time of the block counts nowhere before that has added it.
    """

    __slots__ = ("_own",)

    def __init__(self) -> None:
        """Measure nothing yet."""
        self._own = Stopwatch()

    def __enter__(self) -> Stopwatch:
        _WATCHES.append(self._own)
        self._own.start()
        return self._own

    def __exit__(self, *_: object) -> None:
        self._own.stop()
        _WATCHES.pop()
        _WATCHES[-1].skip(self._own)


def rows(seconds: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Return the parts that took any time, in their order."""
    for part in PARTS:
        if seconds.get(part, 0.0) > 0:
            yield part, seconds[part]
