"""What is known where two ways meet, and behind a loop that may have no iteration."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.semantic.donation.buffers import DEATHS, Buffers, Surety
from placement_lint.semantic.donation.choices import either, likely, rather, there_since
from placement_lint.semantic.donation.parts import BufferPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from placement_lint.semantic.donation.buffers import Death, Root
    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.parts import Keys


def maybe_skipped(
    state: Buffers,
    entered: Buffers,
    roots: list[Root],
    since: int,
    kept: Mapping[BufferPart, BufferPart],
) -> Buffers:
    """Return what holds after a loop that may have no iteration.

    `entered`: what held before it; `since`: the first root that it made; `kept`: what parts are
    that something was bound to, once another one has taken their place.
    """
    meeting = Meeting(state, entered, kept)
    names = {
        key: held if (before := entered.names.get(key)) is None else meeting.rather(held, before)
        for key, held in state.names.items()
    }
    parts = {
        root: known
        if root >= since or known is entered.parts.get(root)
        else _met_parts(root, meeting, meeting.rather, roots)
        for root, known in state.parts.items()
    }
    less = less_sure(state, entered)
    return Buffers(names, parts, less.dead, state.viewed, state.rows)


class Meeting:
    """Two ways that meet, with what is there on each of them."""

    def __init__(
        self, one: Buffers, other: Buffers, kept: Mapping[BufferPart, BufferPart] | None = None
    ) -> None:
        self.one = one
        self.other = other
        self._kept = kept or {}
        self._now = next(DEATHS)

    def either(self, one: Things, other: Things) -> Things:
        """Return what a name stands for that is this on the one way, and that on the other."""
        if one is other or (one == other and len(one) < 2):
            return one
        return either(one, other, self._since(one, other))

    def rather(self, things: Things, before: Things) -> Things:
        """Return the same where the other way is that of a loop without iteration."""
        if before <= likely(things) or {self._taken_out(each) for each in before} == things:
            return things
        return rather(things, before, self._since(things, before))

    def _taken_out(self, thing: Thing) -> Thing:
        """Return what a part is where something else has come in its place."""
        if not isinstance(thing, BufferPart):
            return thing
        for count in range(len(thing.keys), 0, -1):
            kept = self._kept.get(BufferPart(thing.root, thing.keys[:count]))
            if kept is not None:
                return kept.at(*thing.keys[count:])
        return thing

    def _since(self, one: Things, other: Things) -> dict[Thing, int]:
        return {
            each: self._now
            for each in one | other
            if isinstance(each, BufferPart)
            and (each not in one or _is_there(each, one, self.one))
            and (each not in other or _is_there(each, other, self.other))
        }


def _is_there(part: BufferPart, held: Things, state: Buffers) -> bool:
    death = state.death(part)
    return death is None or death.number < there_since(held, part)


def less_sure(state: Buffers, entered: Buffers) -> Buffers:
    """Return what holds where an iteration may not have been: nothing is surely gone by it."""
    dead: dict[int, dict[Keys, Death]] = {}
    for root, known in state.dead.items():
        before = entered.dead.get(root, {})
        dead[root] = {
            keys: death
            if keys in before and before[keys].surety >= death.surety
            else replace(
                death,
                surety=min(death.surety, Surety.LIKELY),
                chosen=min(death.chosen, Surety.LIKELY),
            )
            for keys, death in known.items()
        }
    return Buffers(state.names, state.parts, dead, state.viewed, state.rows)


def joined(
    states: Iterable[Buffers | None],
    where: tuple[int, ...] | None,
    roots: list[Root],
    since: int = sys.maxsize,
) -> Buffers | None:
    """Return what is known where ways meet; None where no way comes there.

    `since`: the first root that these ways made, each its own.
    """
    every = [state for state in states if state is not None]
    if len(every) < 2:
        return every[0] if every else None
    first, *others = every
    result = first
    for other in others:
        meeting = Meeting(result, other)
        result = Buffers(
            _joined_names(meeting),
            _joined_parts(meeting, roots, since),
            _joined_deaths(result.dead, other.dead, where, since),
            result.viewed | other.viewed,
            result.rows,
        )
    return result


def _joined_names(meeting: Meeting) -> dict[tuple[int, str], Things]:
    one, other = meeting.one.names, meeting.other.names
    if one is other:
        return one
    # What only one way binds raises on the other, where it is read.
    merged = {**other, **one}
    differing = [key for key, held in other.items() if merged[key] is not held]
    for key in differing:
        merged[key] = meeting.either(merged[key], other[key])
    return merged


def _joined_parts(meeting: Meeting, roots: list[Root], since: int) -> dict[int, dict[Keys, Things]]:
    one, other = meeting.one.parts, meeting.other.parts
    merged = {**other, **one}
    # Nearly all are the same on both ways: those are passed over without a call.
    differing = [
        root
        for root, known in merged.items()
        if known is not other.get(root) or (root < since and root not in one)
    ]
    for root in differing:
        is_of_both = root in one and root in other
        if root < since or is_of_both:
            merged[root] = _met_parts(root, meeting, meeting.either, roots)
    return merged


def _met_parts(
    root: int,
    meeting: Meeting,
    met: Callable[[Things, Things], Things],
    roots: list[Root],
) -> dict[Keys, Things]:
    """Return the parts of a thing; what is not assigned to is a part of its own."""
    one, other = meeting.one, meeting.other
    found = {}
    for keys in {**one.parts.get(root, {}), **other.parts.get(root, {})}:
        part = BufferPart(root, keys)
        found[keys] = met(one.load(part, roots), other.load(part, roots))
    return found


def _joined_deaths(
    one: dict[int, dict[Keys, Death]],
    other: dict[int, dict[Keys, Death]],
    where: tuple[int, ...] | None,
    since: int,
) -> dict[int, dict[Keys, Death]]:
    merged = {**other, **one}
    for root in merged:
        first, second = one.get(root, {}), other.get(root, {})
        if first is second or (root >= since and not (first and second)):
            continue
        found = {}
        for keys in first.keys() | second.keys():
            deaths = [known[keys] for known in (first, second) if keys in known]
            least = min(deaths, key=lambda each: each.surety)
            if len(deaths) == 1:
                least = replace(least, surety=Surety.MAYBE, where=where, among=None)
            elif deaths[0].among is not deaths[1].among:
                least = replace(least, among=None)
            found[keys] = least
        merged[root] = found
    return merged
