"""What the functions of other packages do with arrays: a module each, which is found by itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.jaxmodel.effects import Library


@functools.cache
def libraries() -> tuple[Library, ...]:
    """Return the `LIBRARY` of every module of this package, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").LIBRARY for name in names)
