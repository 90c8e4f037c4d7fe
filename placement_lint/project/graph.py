"""Graphs of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def closure(starts: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """Return files, and all that their edges lead to in any number of steps."""
    found = {*starts}
    pending = [*found]
    while pending:
        for other in edges.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found
