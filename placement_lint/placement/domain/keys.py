"""The keys of dicts, and the places in lists, that are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.places import Place

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Member:
    """A member of an enumeration, by what tells it from all others."""

    name: str
    text: str | None = None
    """Its value, if that is a string that is written out."""
    cls: Place | None = field(default=None, compare=False)
    """The enumeration, where that is a class of the program."""


Key: TypeAlias = str | int | Member
"""What `container[key]` is certainly indexed by."""


def key_order(key: Key) -> tuple[int, str]:
    """Return what keys of several kinds are sorted by."""
    if isinstance(key, int):
        return 0, str(key)
    return (1, key.name) if isinstance(key, Member) else (2, key)


_MOST_ORDERED = 8
"""Keys of a dict whose order is known: a mesh has fewer axes."""


def with_last(order: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    """Return the order of the keys of a dict after one was added to it, if it is short."""
    return ordered((*(each for each in order if each != key), key))


def ordered(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the order of the keys of a dict that is made of some, if it is short."""
    known = tuple(keys)
    return known if len(known) <= _MOST_ORDERED else ()


def sorted_items(items: Iterable[tuple[Key, _Item]]) -> tuple[tuple[Key, _Item], ...]:
    """Return the items of a dict in an order that does not depend on how it was filled."""
    return tuple(sorted(items, key=lambda item: key_order(item[0])))
