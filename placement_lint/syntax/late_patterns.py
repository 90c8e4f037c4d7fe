"""Regular expressions of this package that are compiled when they are first used.

Its modules have some 200 of them, and a run over one file uses a quarter. To compile all takes a
tenth of such a run.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_OURS = f"{__name__.partition('.')[0]}."


class LatePattern:
    """Stands for a compiled pattern, and compiles it when one of its attributes is asked for."""

    def __init__(self, text: Any, flags: int, compiled: Callable[..., Any]) -> None:
        """Take what `re.compile` is given."""
        self._given = text, flags
        self._compiled = functools.cache(functools.partial(compiled, text, flags))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the pattern. The next access finds it without this detour."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._compiled(), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, int]]:
        """Travel to another process, and be copied, as what it stands for."""
        return re.compile, self._given


@contextlib.contextmanager
def patterns_compiled_late() -> Iterator[None]:
    """Let modules of this package that are imported in the block compile their patterns late.

    It is the interpreter's `re` that does so: a block is for who owns the process.
    """
    compiled = re.compile

    def compiled_late(text: Any, flags: Any = 0) -> Any:
        caller: str = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith(_OURS):
            return LatePattern(text, int(flags), compiled)
        return compiled(text, flags)

    scope: Any = re
    scope.compile = compiled_late
    try:
        yield
    finally:
        scope.compile = compiled
