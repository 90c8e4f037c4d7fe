"""A module that is loaded when it is first used, however it was imported.

Every run imports every rule, to know which files a rule could fire in; a run over code without
JAX parses none of them. So rules are imported with LibCST deferred, and with the interpreter's
values: `import libcst as cst` in a rule stays what it looks like, as long as nothing outside of
functions uses `cst`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Deferred(types.ModuleType):
    """Stands for a module, and loads it when the first of its attributes is asked for."""

    def __getattr__(self, attribute: str) -> Any:
        parent, _, name = self.__name__.rpartition(".")
        if parent and attribute == "__path__":
            folders: Any = importlib.import_module(parent).__path__
            return [f"{folder}{os.sep}{name}" for folder in folders]
        _withdraw(self)
        value = getattr(importlib.import_module(self.__name__), attribute)
        # The next access finds it without this detour.
        setattr(self, attribute, value)
        return value


@contextlib.contextmanager
def deferred(name: str) -> Iterator[None]:
    """Let `import name` in the block give a stand-in, unless the module is there already.

    For a package inside of another one `import name.module` does not load the package either.

    The stand-in stays with the modules that imported it. All others, after the block or while it
    runs, get the module itself once anyone has used it.
    """
    if name in sys.modules:
        yield
        return
    stand_in = sys.modules[name] = _Deferred(name)
    try:
        yield
    finally:
        _withdraw(stand_in)


def _withdraw(stand_in: _Deferred) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
