"""Which lines of the user's files ran. Runs in the traced process.

From Python 3.12 on `sys.monitoring` tells of each line once, and costs nothing after. Before, only
a trace function can tell, and it slows everything down. So it is taken off a thread that has come
to nothing new for long (see `_PATIENCE`), and put on again when JAX executes something from a place
that it had not been at. What ran in between unseen is not said to have been left out.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from placement_lint.trace.frames import Frames, Site
    from placement_lint.trace.ledger import TraceLedger

_PATIENCE = 20_000
"""Calls and lines that a thread may run without a new line: some hundredths of a second."""

_PATIENCE_AT_FIRST = 100_000
"""The same at the start, where libraries are imported: some hundredths more."""


class Reached:
    """Writes each line of the user's files to the ledger when it first runs."""

    def __init__(self, frames: Frames, ledger: TraceLedger) -> None:
        self._frames = frames
        self._ledger = ledger
        self._seen: set[tuple[str, int]] = set()
        self._tracer: _Tracer | None = None
        self._done: Any = None
        """What a callback of `sys.monitoring` returns so that a line is not reported again."""

    def start(self) -> None:
        """Watch this thread, and those that are still to be started."""
        if not self._start_monitoring():
            self._tracer = _Tracer(self._frames, self._ledger, self._note)
            self._tracer.start()

    def note_use(self, site: Site) -> None:
        """Note that JAX is used from a place for the first time."""
        self._note(site.path, site.line)
        if self._tracer is not None:
            self._tracer.wake()

    def _note(self, path: str, line: int) -> bool:
        """Note a line; return whether it was new."""
        if (path, line) in self._seen:
            return False
        self._seen.add((path, line))
        self._ledger.write("line", path=path, line=line)
        return True

    def _at_line(self, code: CodeType, line: int) -> Any:
        path = self._frames.user_file(code.co_filename)
        if path is not None:
            self._note(path, line)
        return self._done

    def _start_monitoring(self) -> bool:
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return False
        # 0 to 2 and 5 belong to debuggers, coverage, profilers and optimisers.
        for tool in (3, 4):
            try:
                monitoring.use_tool_id(tool, "placement-lint")
            except ValueError:
                continue
            self._done = monitoring.DISABLE
            monitoring.register_callback(tool, monitoring.events.LINE, self._at_line)
            monitoring.set_events(tool, monitoring.events.LINE)
            return True
        return False


class _State(threading.local):
    """The state of a thread."""

    def __init__(self) -> None:
        self.left = _PATIENCE_AT_FIRST
        """How many more events it may have without a new line."""
        self.asleep = False


class _Tracer:
    """The trace function of Python 3.10 and 3.11."""

    def __init__(
        self, frames: Frames, ledger: TraceLedger, note: Callable[[str, int], bool]
    ) -> None:
        self._user_file = frames.user_file
        self._ledger = ledger
        self._note = note
        self._state = _State()
        self._said = False

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def wake(self) -> None:
        """Watch this thread again: it has come to something new."""
        state = self._state
        if not state.asleep or sys.gettrace() is not None:
            return
        state.asleep = False
        state.left = _PATIENCE
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self._user_file(frame.f_code.co_filename) is not None:
                frame.f_trace = self._line
            frame = frame.f_back
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        path = self._user_file(frame.f_code.co_filename)
        if path is None:
            self._spend()
            return None
        return self._line(frame, event, arg)

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        if event not in {"line", "call"}:
            return self._line
        path = self._user_file(frame.f_code.co_filename)
        if path is not None and self._note(path, frame.f_lineno):
            self._state.left = max(self._state.left, _PATIENCE)
            return self._line
        return self._line if self._spend() else None

    def _spend(self) -> bool:
        """Count an event that showed nothing new; return whether to go on."""
        state = self._state
        state.left -= 1
        if state.left > 0:
            return True
        state.asleep = True
        sys.settrace(None)
        if not self._said:
            self._said = True
            self._ledger.write("unwatched")
        return False
