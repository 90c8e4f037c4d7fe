"""The order in which what a value may be is taken, where that can be seen: in every process one."""

from __future__ import annotations

import functools
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

AtomT = TypeVar("AtomT")
_WORDS = frozenset({bool, int, str, type(None)})


class Ordered:
    """What keeps what it is sorted by."""

    @functools.cached_property
    def order(self) -> str:
        """What it is sorted by: see `order_of`."""
        return _order_of_parts(self)


class Named:
    """What has nothing but names in it.

    Origins of tracers and objects of trees are made for each call, equal to those of the last one.
    """


def order_of(thing: object) -> str:
    """Return what things are sorted by: the same in every process, which the text of a set is not.

    It tells apart what is not equal.
    """
    if type(thing) in _WORDS:
        return repr(thing)
    if isinstance(thing, Ordered):
        return thing.order
    if isinstance(thing, Named):
        return _order_of_names(thing)
    if isinstance(thing, frozenset):
        return f"{{{', '.join(sorted(map(order_of, thing)))}}}"
    if isinstance(thing, tuple):
        return f"({', '.join(map(order_of, thing))})"
    return _order_of_parts(thing) if is_dataclass(thing) else repr(thing)


@functools.lru_cache(maxsize=4096)
def _order_of_names(thing: Named) -> str:
    return _order_of_parts(thing)


def _order_of_parts(thing: object) -> str:
    return f"{type(thing).__name__}({', '.join(map(order_of, vars(thing).values()))})"


def in_order(atoms: Collection[AtomT]) -> Collection[AtomT]:
    """Return things in the order of `order_of`, which is not asked of the only one there is."""
    return atoms if len(atoms) < 2 else sorted(atoms, key=order_of)


def linearized(orders: list[list[AtomT]]) -> Iterator[AtomT]:
    """Yield classes in Python's order of resolution (C3), given that of each base and the bases.

    Where there is none Python refuses the class: then in the order in which they are met.
    """
    rest = [order for order in orders if order]
    while rest:
        later = {place for order in rest for place in order[1:]}
        first = next((order[0] for order in rest if order[0] not in later), rest[0][0])
        yield first
        rest = [left for order in rest if (left := [each for each in order if each != first])]
