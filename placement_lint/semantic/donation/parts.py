"""The identity of things: a root, or a part of one by its keys."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Keys: TypeAlias = "tuple[str, ...]"

MAX_KEYS = 8
"""Parts in parts: those of what is nested deeper are not told apart."""

LAST = "[-1]"
"""The key of what was appended last to a list of which it is not known what else is in it."""

_ATTRIBUTES = ".__dict__"


class BufferPart(NamedTuple):
    """A thing, or a part of one."""

    root: int
    keys: Keys = ()

    def at(self, *keys: str) -> BufferPart:
        return BufferPart(self.root, (*self.keys, *keys)[:MAX_KEYS])


def may_be_same(one: BufferPart, other: BufferPart) -> bool:
    """Return whether two parts may be one item: by a key that is not known, or by its place in a
    mapping, `a, b = tree.values()`.
    """
    if (
        one.root != other.root
        or len(one.keys) != len(other.keys)
        or one.keys[:-1] != other.keys[:-1]
    ):
        return False
    first, second = one.keys[-1], other.keys[-1]
    if is_any(one) or is_any(other):
        loop, _, iteration = first.partition("/")
        # The items of two iterations of one loop are two.
        return not iteration or second.partition("/")[0] != loop or second == first
    is_item = first[0] == second[0] == "["
    return is_item and (first[1] == "'") is not (second[1] == "'")


def is_any(part: BufferPart) -> bool:
    """Return whether a part is an item by a key that is not known."""
    return bool(part.keys) and part.keys[-1][1] == "*"


def may_be_row(part: BufferPart) -> bool:
    """Return whether a part is an item by a number, or by a key that is not known: of an array it
    is a copy of a row.
    """
    return bool(part.keys) and part.keys[-1][0] == "[" and part.keys[-1][1] != "'"


def around(leaf: BufferPart) -> list[BufferPart]:
    """Return what a thing is a part of, the whole first, and itself."""
    return [BufferPart(leaf.root, leaf.keys[:count]) for count in range(len(leaf.keys) + 1)]


def attribute_dict(part: BufferPart) -> BufferPart:
    """Return the dict of the attributes of an object: `vars(x)`, `x.__dict__`."""
    return part.at(_ATTRIBUTES)


def item_of(part: BufferPart, key: str) -> BufferPart:
    """Return an item of a thing by its key: an attribute, where the thing is a dict of such."""
    if part.keys[-1:] == (_ATTRIBUTES,) and key.startswith("['"):
        return BufferPart(part.root, part.keys[:-1]).at(f".{key[2:-2]}")
    return part.at(key)


def container_of(part: BufferPart) -> BufferPart:
    """Return the thing that has the items of a thing: the object of a dict of attributes."""
    is_dict = part.keys[-1:] == (_ATTRIBUTES,)
    return BufferPart(part.root, part.keys[:-1]) if is_dict else part
