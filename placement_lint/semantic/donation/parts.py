"""The identity of things: a root, or a part of one by its keys."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Keys: TypeAlias = "tuple[str, ...]"

MAX_KEYS = 8
"""Parts in parts: those of what is nested deeper are not told apart."""


class BufferPart(NamedTuple):
    """A thing, or a part of one."""

    root: int
    keys: Keys = ()

    def at(self, *keys: str) -> BufferPart:
        return BufferPart(self.root, (*self.keys, *keys)[:MAX_KEYS])
