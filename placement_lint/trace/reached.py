"""Which lines of the user's files ran. Runs in the traced process.

From Python 3.12 on `sys.monitoring` tells of each line once, and costs nothing after. Before, only
a trace function can tell; it is taken off a function as soon as nothing new is to be expected of
it, so that a loop is not slowed down for long: see `_PATIENCE`.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from placement_lint.trace.frames import Frames
    from placement_lint.trace.ledger import Ledger

_PATIENCE = 2_000
"""Lines that a function may run, since it last came to a new one, before it is left alone."""


class Reached:
    """Writes each line of the user's files to the ledger when it first runs."""

    def __init__(self, frames: Frames, ledger: Ledger) -> None:
        """Watch nothing yet."""
        self._frames = frames
        self._ledger = ledger
        self._seen: set[tuple[str, int]] = set()
        self._done: Any = None
        """What tells `sys.monitoring` that a line need not be told of again."""

    def start(self) -> None:
        """Watch this thread, and those that are still to be started."""
        if not self._start_monitoring():
            _Tracer(self._frames, self._ledger, self._note).start()

    def _note(self, path: str, line: int) -> bool:
        """Note a line; tell whether it was new."""
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


class _Tracer:
    """The trace function of Python 3.10 and 3.11."""

    def __init__(self, frames: Frames, ledger: Ledger, note: Callable[[str, int], bool]) -> None:
        self._user_file = frames.user_file
        self._ledger = ledger
        self._note = note
        self._left: dict[CodeType, int] = {}
        """How many more lines each function may run without a new one; 0: it is left alone."""

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            path = self._user_file(code.co_filename)
            left = self._left[code] = 0 if path is None else _PATIENCE
        if not left:
            return None
        self._line(frame, "line", None)
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        if event != "line":
            return self._line
        code = frame.f_code
        path = self._user_file(code.co_filename)
        if path is None or self._note(path, frame.f_lineno):
            self._left[code] = _PATIENCE
            return self._line
        self._left[code] = left = self._left[code] - 1
        if left > 0:
            return self._line
        self._left[code] = 0
        # What of the function did not run so far may yet do so, unseen.
        last = max((line for _, _, line in code.co_lines() if line), default=0)
        self._ledger.write("unwatched", path=path, first=code.co_firstlineno, last=last)
        return None
