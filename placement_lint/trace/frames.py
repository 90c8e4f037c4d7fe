"""Which line of the user's code is running: the frames of JAX, of libraries and ours are passed by.

Runs in the traced process.
"""

from __future__ import annotations

import itertools
import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import CodeType, FrameType

_OURS = Path(__file__).resolve().parents[1]
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Site(NamedTuple):
    """A place in the user's code, as CPython counts: lines from 1, columns in bytes from 0.

    Without columns (Python 3.10 keeps none) only the line is known.
    """

    path: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None
    function: str


class Frames:
    """Separates the user's files from all others, and finds the innermost line of them."""

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        folders.update(site.getsitepackages())
        folders.add(str(_OURS))
        self._not_user: list[str] = []
        for folder in folders:
            self.leave_out(folder)
        self._user: list[str] = []
        self._known: dict[str, str | None] = {}
        # By identity, each code kept alive: the same function in two files is equal.
        self._sites: dict[tuple[int, int], tuple[CodeType, Site]] = {}
        # What `co_filename` of a module found by a relative entry of sys.path is relative to.
        self._start = str(Path.cwd())

    def leave_out(self, folder: str) -> None:
        """Take no file in a folder for the user's."""
        for each in {folder, str(Path(folder).resolve())}:
            self._not_user.append(each.rstrip(os.sep) + os.sep)
        self._known = {}

    def take_in(self, path: str) -> None:
        """Take a file, or all files in a folder, for the user's, wherever it is."""
        self._user.append(path)
        self._known = {}

    def user_file(self, name: str) -> str | None:
        """Return the absolute path of a file of the user by its `co_filename`; else None."""
        try:
            return self._known[name]
        except KeyError:
            found = self._known[name] = self._decide(name)
            return found

    def _decide(self, name: str) -> str | None:
        if name.startswith("<"):
            return None
        path = os.path.normpath(os.path.join(self._start, name))  # noqa: PTH118
        if any(path == each or path.startswith(each + os.sep) for each in self._user):
            return path
        if path.startswith(tuple(self._not_user)) or any(part in path for part in _LIBRARIES):
            return None
        return path

    def here(self) -> Site | None:
        """Return the innermost place of the user's code that this thread is at."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self.user_file(frame.f_code.co_filename) is None:
            frame = frame.f_back
        return None if frame is None else self._site(frame)

    def _site(self, frame: FrameType) -> Site:
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        found = self._sites.get(key)
        if found is None:
            site = _exact(frame, self.user_file(code.co_filename) or "")
            found = self._sites[key] = code, site
        return found[1]


def _exact(frame: FrameType, path: str) -> Site:
    code: Any = frame.f_code
    function = getattr(code, "co_qualname", code.co_name)
    line = frame.f_lineno or code.co_firstlineno
    if hasattr(code, "co_positions"):
        start, end, column, end_column = next(
            itertools.islice(code.co_positions(), frame.f_lasti // 2, None),
            (None, None, None, None),
        )
        if start is not None and end is not None:
            return Site(path, start, end, column, end_column, function)
    return Site(path, line, line, None, None, function)
