"""Whether names say that the result of a call comes in the place of an argument of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEW = frozenset({"cur", "current", "new", "next", "old", "out", "prev", "previous", "updated"})
"""Words in names that say which of several values of one thing it is."""


def is_replaced(text: str, targets: Sequence[str]) -> bool:
    """Return whether what a call gives is bound to a name like that of an argument."""
    stem = _stem(text)
    return bool(stem) and any(_stem(target) == stem for target in targets)


def _stem(text: str) -> str:
    """Return the last part of a name without what says which of several values it is."""
    last = text.rpartition(".")[2].rstrip("0123456789_")
    words = [word for word in last.split("_") if word and word not in _NEW]
    return "_".join(words)
