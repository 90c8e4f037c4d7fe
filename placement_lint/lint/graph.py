"""Graphs of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def closure(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    """Give a file, and all that its edges lead to in any number of steps."""
    found = {start}
    pending = [start]
    while pending:
        for other in edges.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found
