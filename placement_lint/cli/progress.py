"""A line on the terminal that says how far a long run is, and is gone when the run is done."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_FIRST_AFTER = 1.0
"""Seconds: who waits no longer than this wonders about nothing."""
_BETWEEN = 0.1
_COLUMNS = 80


class Progress:
    """Shows how far a run is; a block, at whose end the line is cleared."""

    def __init__(
        self, stream: TextIO | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take where to show it: None for nowhere."""
        self._stream = stream
        self._clock = clock
        self._due = clock() + _FIRST_AFTER
        self._width = 0

    def __enter__(self) -> Progress:  # noqa: PYI034  (3.10 has no Self)
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take away what is shown: something else is to be written there."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def update(self, done: int, files: int, findings: int) -> None:
        """Show how far the run is, unless that was shown a moment ago."""
        if self._stream is None or self._clock() < self._due:
            return
        noun = "finding" if findings == 1 else "findings"
        self.show(f"{done:,} of {files:,} files, {findings:,} {noun}")
        self._due = self._clock() + _BETWEEN

    def show(self, text: str) -> None:
        """Show a text in place of what is shown."""
        if self._stream is None:
            return
        # A line that is wrapped could not be taken back.
        text = text[: _columns(self._stream) - 1]
        # Spaces rather than a control sequence: not every terminal knows those.
        self._write("\r" + text.ljust(self._width))
        self._width = max(self._width, len(text))

    def _write(self, text: str) -> None:
        stream = self._stream
        if stream is None:
            return
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            # The terminal has gone. What is found is worth the rest of the run all the same.
            self._stream, self._width = None, 0


def shown_on_terminal(*, quiet: bool) -> Progress:
    """Return what shows progress on standard error, if that is a terminal and not to be quiet."""
    stream = sys.stderr
    seen = not quiet and stream is not None and stream.isatty()
    return Progress(stream if seen else None)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
