"""What an expression stands for where that depends on the way that was taken: one of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from placement_lint.semantic.donation.parts import BufferPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.semantic.donation.callables import (
        Defined,
        Donor,
        Maker,
        OfClass,
        OfClassElsewhere,
        Wrapper,
    )

Thing: TypeAlias = "BufferPart | Defined | Donor | Maker | OfClass | OfClassElsewhere | Wrapper"
Things: TypeAlias = "frozenset[Thing]"
"""What an expression may be: one of these."""

NOTHING: Things = frozenset()
_MOST = 48
"""Things of which one expression may be one: a variable that as many branches have set."""
_MOST_BEFORE = 4
"""Choices that are kept of those that others were made of."""
_ANYTHING = BufferPart(0)
"""Data that no donation takes: what is one of too many may be this, too."""


class Choice(frozenset["Thing"]):
    """One of several things, chosen when the program ran: the same one wherever this object is.

    Two objects that are equal were chosen apart from one another.
    """

    __slots__ = ("before", "parts", "since", "unlikely", "whole")

    unlikely: Things
    """Those that it is only where a loop had no iteration."""
    since: dict[Thing, int]
    """For things that were there on the way on which they were chosen: which deletions are later,
    by their number. What other ways have deleted before that does not count."""
    whole: Choice | None
    """What it is a part of: which one is chosen there decides it here."""
    before: tuple[Choice, ...]
    """Choices that were made before on one of the ways: it may be what one of these is."""
    parts: dict[str, Choice]
    """What was asked of its parts, by the key."""

    def __new__(  # noqa: PYI034 - Python 3.10 has no `Self`
        cls,
        things: Iterable[Thing],
        unlikely: Iterable[Thing] = (),
        whole: Choice | None = None,
        since: dict[Thing, int] | None = None,
        before: tuple[Choice, ...] = (),
    ) -> Choice:
        made = super().__new__(cls, things)
        made.unlikely = frozenset(unlikely)
        made.whole = whole
        made.since = since or {}
        made.before = before
        made.parts = {}
        return made


def unlikely(things: Things) -> Things:
    """Return those things that it is only where a loop had no iteration."""
    return things.unlikely if isinstance(things, Choice) else frozenset()


def there_since(things: Things, thing: Thing) -> int:
    """Return the number of the first deletion that counts where it is this thing."""
    return things.since.get(thing, 0) if isinstance(things, Choice) else 0


def made_of(things: Things) -> tuple[Choice, ...]:
    """Return choices that were made before, of which it is one on some way."""
    return things.before if isinstance(things, Choice) else ()


def likely(things: Things) -> Things:
    """Return the things that it is if each loop had an iteration."""
    return things - things.unlikely if isinstance(things, Choice) else things


def either(one: Things, other: Things, since: dict[Thing, int] | None = None) -> Things:
    """Return one or the other, by a choice of its own."""
    if one is other or (one == other and len(one) < 2):
        return one
    every = one | other
    if len(every) > _MOST:
        # Those that were made last; of the others nothing is known any more.
        parts = sorted(each for each in every if isinstance(each, BufferPart))
        every = every.difference(parts[: len(parts) - _MOST // 2]) | {_ANYTHING}
    made = [each for each in (one, other) if isinstance(each, Choice)]
    before = (*made, *(each for one_of in made for each in one_of.before))[:_MOST_BEFORE]
    return Choice(every, every - likely(one) - likely(other), since=since, before=before)


def rather(things: Things, before: Things, since: dict[Thing, int]) -> Things:
    """Return what a loop has left, or what there was before, where it had no iteration.

    That is something else than what surely is left.
    """
    return Choice(things | before, (things | before) - likely(things), since=since)


def without(things: Things, others: Things) -> Things:
    """Return what it is if it is none of some things."""
    left = things - others
    if len(left) < 2 or not isinstance(things, Choice):
        return left
    return Choice(left, things.unlikely - others, things, things.since)


def is_decided_by(things: Things, choice: Things | None) -> bool:
    """Return whether what was chosen there decides which of these things this one is."""
    at: Things | None = things
    while at is not None and choice is not None:
        if at is choice:
            return True
        at = at.whole if isinstance(at, Choice) else None
    return False


def part_of(held: Things, key: str, found: Iterable[Thing], unlikely_parts: Things) -> Things:
    """Return the parts of several things as one of them, which the choice among these decides."""
    things = frozenset(found)
    if not isinstance(held, Choice) or len(things) < 2:
        return things
    known = held.parts.get(key)
    if known is None or known != things:
        # What is a part of a thing by its keys is there where that thing is.
        roots = {each.root: at for each, at in held.since.items() if isinstance(each, BufferPart)}
        since: dict[Thing, int] = {
            each: roots[each.root]
            for each in things
            if isinstance(each, BufferPart) and each.root in roots
        }
        known = held.parts[key] = Choice(things, unlikely_parts, held, since)
    return known
