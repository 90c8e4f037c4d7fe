"""Things with an identity, and what is known of them at one point: names, parts, deletions.

A thing is a root, made by one evaluation of an expression, or a part of one: `state.params` is the
part `.params` of what `state` stands for, whatever it is called. Two names for one thing share its
buffer; what copies gives a new root.
"""

from __future__ import annotations

import enum
import itertools
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.semantic.donation.choices import (
    either,
    is_decided_by,
    likely,
    rather,
    there_since,
    unlikely,
)
from placement_lint.semantic.donation.parts import MAX_KEYS, BufferPart, is_any, may_be_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import libcst as cst

    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.parts import Keys

_NUMBERS = itertools.count(1)
_MAX_LEAVES = 256
_REST = "[*]"
"""The key of all items of a copy that were not assigned, once others came in their place."""
"""Parts of one thing that are looked at, each by itself."""


class Nature(enum.Enum):
    """What a root is."""

    UNKNOWN = enum.auto()
    ARRAY = enum.auto()
    """A JAX array."""
    TREE = enum.auto()
    """A container that is written out, or an object of the file: its parts are known."""
    DATA = enum.auto()
    """NumPy's, or a Python value: it has no buffer to donate."""


@dataclass(frozen=True)
class Root:
    """What is known of a root for good."""

    nature: Nature = Nature.UNKNOWN
    cls: cst.ClassDef | None = None
    base: BufferPart | None = None
    """What it has the other parts of: `{**state, "step": 0}`."""
    is_foreign: bool = False
    """An iterator or a function that nobody follows gave it: it may be NumPy's."""
    elsewhere: str = ""
    """The qualified name of the class of another file that it is an object of."""


class Surety(enum.IntEnum):
    """How sure it is that a buffer is gone."""

    MAYBE = 0
    """On some of the ways that come here."""
    LIKELY = 1
    DEFINITE = 2


@dataclass(frozen=True)
class Death:
    """What deleted a thing."""

    call: cst.Call
    stack: tuple[cst.Call, ...]
    """The calls in which it was executed, the outermost first."""
    text: str
    """The thing as it was written there."""
    to: str
    """What it was given to."""
    surety: Surety = Surety.DEFINITE
    where: tuple[int, ...] | None = ()
    """Of one that is not on all ways: the conditions under which these ways met; None: it is not
    known what they have to do with one another."""
    under: tuple[int, ...] = ()
    """The conditions around it."""
    among: Things | None = None
    """What it was one of, where a name may have stood for several: by this very choice."""
    chosen: Surety = Surety.MAYBE
    """How sure it is where that choice fell on it."""
    number: int = field(default_factory=_NUMBERS.__next__)
    """Each deletion has a higher one than those before it."""
    entered: tuple[int, ...] = ()
    """The executions of the functions that these calls are of, by number."""
    is_carried: bool = False
    """It is of an iteration before, that ended early: `continue`."""
    is_replaced: bool = False
    """Of an item by a key that is not known: something came into the container by such a key."""


def sorted_parts(things: Things) -> list[BufferPart]:
    """Return those things that have an identity, always in the same order."""
    return sorted(each for each in things if isinstance(each, BufferPart))


class Gone(NamedTuple):
    """A thing that is read, and may be deleted."""

    death: Death
    surety: Surety
    is_all: bool = False
    """So are all that it may be."""


class Leaf(NamedTuple):
    """A thing in a tree that has no known parts."""

    part: BufferPart
    among: Things
    """What it is one of."""
    is_sure: bool
    """One of these surely is in the tree."""
    is_whole: bool
    """None of its parts is known to be another thing."""
    but: frozenset[str]
    """The parts of it that are not in the tree, by their keys."""
    is_rare: bool = False
    """It, or a container around it, is one of several and not likely to be the one."""


@dataclass
class Buffers:
    """One point of an execution. What is in the inner dicts is replaced, never changed."""

    names: dict[tuple[int, str], Things] = field(default_factory=dict)
    """By frame and name."""
    parts: dict[int, dict[Keys, Things]] = field(default_factory=dict)
    """What was assigned to parts of things."""
    dead: dict[int, dict[Keys, Death]] = field(default_factory=dict)
    viewed: frozenset[int] = frozenset()
    """Roots of which NumPy has a view: the CPU keeps their buffers."""

    def copy(self) -> Buffers:
        return Buffers(dict(self.names), dict(self.parts), dict(self.dead), self.viewed)

    # -- parts ------------------------------------------------------------------------------------

    def set_part(self, part: BufferPart, held: Things) -> None:
        """Assign to a part: what it was before, and what was in that, is in it no longer."""
        count = len(part.keys)
        self.parts[part.root] = {
            keys: held if keys == part.keys else each
            for keys, each in self.parts.get(part.root, {}).items()
            if keys == part.keys or keys[:count] != part.keys
        } | {part.keys: held}

    def take_out(self, part: BufferPart, kept: BufferPart, held: Things) -> Things:
        """Let a donated part that something else comes in the place of have its own identity, for
        whatever stands for it or for a part of it. Return what comes there, `held`, likewise.
        """
        count, known = len(part.keys), self.dead.get(part.root, {})
        dead = {
            keys[count:]: death
            for keys, death in known.items()
            if keys[:count] == part.keys[: len(keys)]
        }
        if not dead:
            return held

        def own(things: Things) -> Things:
            only = next(iter(things)) if len(things) == 1 else None
            if not isinstance(only, BufferPart) or only.root != part.root:
                return things
            if only.keys[:count] != part.keys:
                return things
            return frozenset({kept.at(*only.keys[count:])})

        self.dead[kept.root] = dead
        self.names = {name: own(things) for name, things in self.names.items()}
        inside = self.parts.get(part.root, {})
        self.parts = {
            root: {keys: own(things) for keys, things in each.items()}
            for root, each in self.parts.items()
        }
        self.parts[kept.root] = {
            keys[count:]: own(things)
            for keys, things in inside.items()
            if keys[:count] == part.keys
        }
        return own(held)

    def overwrite(self, part: BufferPart, roots: list[Root], new: Callable[[], Things]) -> None:
        """Let something unknown come in the place of any item of a container.

        What is deleted in it may have been replaced: by something `new`. What was taken out before,
        by a key that is not known, stays deleted, and may be there no longer.
        """
        if not self.dead:
            return
        self.forget(part, keeps_drawn=True)
        count = len(part.keys)
        for keys, death in self.dead.get(part.root, {}).items():
            if keys[:count] == part.keys and len(keys) == count + 1 and not death.is_replaced:
                self.dead[part.root] |= {keys: replace(death, is_replaced=True)}
        below = self._below(part, frozenset())
        if len(below) > _MAX_LEAVES:
            self.drop_parts(part)
            below = {}
        for keys, each in below.items():
            if self._has_dead(each, roots):
                self.set_part(BufferPart(part.root, keys), new())
        base = self._base_of(part, roots)
        if base is not None and self._has_dead(frozenset({base}), roots):
            self.set_part(part.at(_REST), new())

    def _has_dead(self, things: Things, roots: list[Root]) -> bool:
        return any(
            self.death(each) is not None
            or any(keys[: len(each.keys)] == each.keys for keys in self.dead.get(each.root, ()))
            for each in sorted_parts(things | {leaf.part for leaf in self.leaves(things, roots)})
        )

    def _base_of(self, part: BufferPart, roots: list[Root]) -> BufferPart | None:
        """Return what a container began as a copy of, and has the rest of its items from."""
        base = None if part.keys else roots[part.root].base
        return None if base is None or (_REST,) in self.parts.get(part.root, {}) else base

    def drop_parts(self, part: BufferPart) -> None:
        """Know nothing of what was assigned in a part."""
        count = len(part.keys)
        self.parts[part.root] = {
            keys: each
            for keys, each in self.parts.get(part.root, {}).items()
            if keys[:count] != part.keys
        }

    def load(self, part: BufferPart, roots: list[Root]) -> Things:
        """Return what a part is: what was assigned to it, or to what it is a part of."""
        for _ in range(MAX_KEYS):
            known = self.parts.get(part.root)
            for count in range(len(part.keys), 0, -1) if known else ():
                held = (known or {}).get(part.keys[:count])
                if held is None:
                    continue
                if count == len(part.keys):
                    return held
                return frozenset(
                    each.at(*part.keys[count:]) for each in held if isinstance(each, BufferPart)
                )
            base = self._base_of(BufferPart(part.root), roots) if part.keys else None
            if base is None:
                break
            part = base.at(*part.keys)
        return frozenset({part})

    def leaves(self, things: Things, roots: list[Root]) -> Iterator[Leaf]:
        """Yield the things in a tree that have no known parts."""
        start = (things, True, frozenset[str](), False)
        pending: list[tuple[Things, bool, frozenset[str], bool]] = [start]
        for _ in range(_MAX_LEAVES):
            if not pending:
                return
            held, is_sure, but, is_below_rare = pending.pop()
            sure, rare = is_sure and len(held) == 1, unlikely(held)
            for part in sorted_parts(held):
                known = self.parts.get(part.root, {})
                below = self._below(part, but)
                is_rare = is_below_rare or part in rare
                pending += [(each, sure, frozenset(), is_rare) for each in reversed(below.values())]
                base = self._base_of(part, roots)
                if base is not None:
                    others = but | {keys[0] for keys in known}
                    pending.append((frozenset({base}), sure, others, is_rare))
                elif (
                    not below
                    or roots[part.root].nature is not Nature.TREE
                    # What a comprehension made is read by keys of which nothing is known here.
                    or all(is_any(BufferPart(part.root, keys)) for keys in known)
                ):
                    yield Leaf(part, held, is_sure, not below and not but, but, is_rare)

    def set_apart(self, base: BufferPart, keys: Iterable[str], roots: list[Root]) -> None:
        """Separate parts of a thing, which get an identity of their own, from the others."""
        for key in keys:
            part = base.at(key)
            if self.load(part, roots) == {part} and self.death(part) is None:
                roots.append(Root())
                self.set_part(part, frozenset({BufferPart(len(roots) - 1)}))

    def entries(self, part: BufferPart, roots: list[Root]) -> dict[str, Things] | None:
        """Return the items of a container in their order; None where they are not known."""
        if roots[part.root].nature is not Nature.TREE:
            return None
        count = len(part.keys)
        found: dict[str, Things] = {}
        base = self._base_of(part, roots)
        if base is not None:
            inherited = self.entries(base, roots)
            if inherited is None:
                return None
            found |= inherited
        for keys, held in self.parts.get(part.root, {}).items():
            if keys[:count] == part.keys and len(keys) == count + 1:
                found[keys[count]] = held
        is_known = bool(found) and all(key[0] == "[" and key[1] != "*" for key in found)
        return found if is_known and (not count or roots[part.root].cls is None) else None

    # -- deletions --------------------------------------------------------------------------------

    def kill(self, part: BufferPart, death: Death) -> None:
        before = self.death(part)
        is_better = before is None or before.surety < death.surety
        if before is not None and not is_better:
            # It may be gone by the one or by the other: of these, the later one counts.
            is_chosen = death.among is not None and before.among is None
            by = death if is_chosen else before
            death = replace(before, number=death.number, among=by.among, chosen=by.chosen)
        if is_better or death.surety is Surety.MAYBE:
            self.dead[part.root] = {**self.dead.get(part.root, {}), part.keys: death}

    def renew(self, things: Things, roots: list[Root]) -> None:
        """Let nothing be deleted in some things and their parts: they get new arrays."""
        for part in sorted_parts(things | {leaf.part for leaf in self.leaves(things, roots)}):
            known, count = self.dead.get(part.root, {}), len(part.keys)
            self.dead[part.root] = {
                keys: death for keys, death in known.items() if keys[:count] != part.keys
            }

    def death(self, part: BufferPart) -> Death | None:
        """Return what deleted a part, or what it is a part of."""
        known = self.dead.get(part.root)
        if not known:
            return None
        found = [
            known[part.keys[:count]]
            for count in range(len(part.keys) + 1)
            if part.keys[:count] in known
        ]
        return max(found, key=lambda each: each.surety, default=None)

    def death_of(self, things: Things, under: tuple[int, ...]) -> Death | None:
        """Return what deleted a thing, read under some conditions; None where only some way did."""
        gone = self.gone(things, under)
        if gone is None:
            return None
        if gone.is_all:
            return gone.death
        return None if gone.surety is Surety.MAYBE else replace(gone.death, surety=gone.surety)

    def gone(self, things: Things, under: tuple[int, ...]) -> Gone | None:
        """Return what may have deleted a thing, read under some conditions.

        Where only one of several is gone, that is likely where the conditions are not others than
        at its deletion: it is not known then which of them stands for which.
        """
        found = [(each, self.death(each)) for each in sorted_parts(things)]
        every = [
            (each, death)
            for each, death in found
            if death is not None and death.number >= there_since(things, each)
        ]
        if not every:
            return self._gone_beside(things)
        if len(every) == len(things):
            return min(
                (Gone(death, self._surety(things, death, under), True) for _, death in every),
                key=lambda each: each.surety,
            )
        rare = unlikely(things)
        for each, death in every:
            is_near = death.surety > Surety.MAYBE and death.under[: len(under)] == under
            if each not in rare and (is_near or (death.is_carried and death.where == under)):
                return Gone(death, Surety.LIKELY)
        return Gone(every[0][1], Surety.MAYBE)

    def _gone_beside(self, things: Things) -> Gone | None:
        """Return what deleted an item of a container that may be one of these things.

        It went by a key that is not known, or by its place in a mapping: `a, b = tree.values()`.
        """
        for each in sorted_parts(things):
            if not each.keys or each.root not in self.dead:
                continue
            for keys, death in self.dead[each.root].items():
                if may_be_same(each, BufferPart(each.root, keys)):
                    return Gone(death, Surety.MAYBE)
        return None

    def _surety(self, things: Things, death: Death, under: tuple[int, ...]) -> Surety:
        if is_decided_by(things, death.among):
            # Whichever of several things it is, that one was donated.
            return max(death.chosen, death.surety)
        if death.surety > Surety.MAYBE:
            return death.surety
        return Surety.LIKELY if death.where == under else Surety.MAYBE

    def named_gone(self, roots: list[Root]) -> Iterator[BufferPart]:
        """Yield what is gone and still has a name, or is a part of what has one.

        Each thing is looked into once, however many names lead to it.
        """
        if not self.dead:
            return
        pending = [(held, frozenset[str]()) for held in self.names.values() if len(held) == 1]
        passed: set[tuple[BufferPart, frozenset[str]]] = set()
        while pending:
            held, but = pending.pop()
            for part in held:
                if not isinstance(part, BufferPart) or (part, but) in passed:
                    continue
                passed.add((part, but))
                known, base = self.parts.get(part.root), self._base_of(part, roots)
                below = self._below(part, but) if known else {}
                pending += [(each, frozenset[str]()) for each in below.values()]
                if base is not None:
                    pending.append((frozenset({base}), but | {keys[0] for keys in known or ()}))
                elif not below or roots[part.root].nature is not Nature.TREE:
                    for keys in self.dead.get(part.root, ()):
                        if keys[: len(part.keys)] == part.keys:
                            yield BufferPart(part.root, keys)

    def _below(self, part: BufferPart, but: frozenset[str]) -> dict[tuple[str, ...], Things]:
        """Return what was assigned in a part, save what is under some keys of it."""
        count = len(part.keys)
        return {
            keys: each
            for keys, each in self.parts.get(part.root, {}).items()
            if keys[:count] == part.keys and len(keys) > count and keys[count] not in but
        }

    def forget(self, part: BufferPart, *, itself: bool = True, keeps_drawn: bool = False) -> None:
        """Know nothing of deletions below a part: something else may be there by now.

        `keeps_drawn`: but for items that were taken by a key that is not known. What was taken
        then stays what it is, and another item has another key.
        """
        known = self.dead.get(part.root)
        if known:
            count = len(part.keys)
            self.dead[part.root] = {
                keys: death
                for keys, death in known.items()
                if keys[:count] != part.keys
                or (not itself and len(keys) == count)
                or (keeps_drawn and is_any(BufferPart(part.root, keys)))
            }


def carried(
    state: Buffers,
    early: Iterable[Buffers],
    around: tuple[int, ...],
    body: tuple[int, ...],
    roots: list[Root],
) -> Buffers:
    """Return what holds where the next iteration begins, after what some of the ways left gone.

    What is read there before anything else is decided, is read on these ways as well. `around`: the
    conditions around the loop, `body`: those in it.
    """
    gone = {part for each in early for part in each.named_gone(roots)}
    dead = {
        root: {
            keys: replace(death, where=body, is_carried=True)
            if BufferPart(root, keys) in gone
            and (death.surety > Surety.MAYBE or death.where == around)
            else death
            for keys, death in known.items()
        }
        for root, known in state.dead.items()
    }
    return Buffers(state.names, state.parts, dead, state.viewed)


def undecided(state: Buffers) -> Buffers:
    """Return what holds where it was asked whether to go on: what was carried may be excluded."""
    if not any(death.is_carried for known in state.dead.values() for death in known.values()):
        return state
    dead = {
        root: {
            keys: replace(death, where=None, is_carried=False) if death.is_carried else death
            for keys, death in known.items()
        }
        for root, known in state.dead.items()
    }
    return Buffers(state.names, state.parts, dead, state.viewed)


def maybe_skipped(state: Buffers, entered: Buffers, roots: list[Root], since: int) -> Buffers:
    """Return what holds after a loop that may have no iteration.

    `entered`: what held before it; `since`: the first root that it made.
    """
    meeting = Meeting(state, entered)
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
    return Buffers(names, parts, less.dead, state.viewed)


class Meeting:
    """Two ways that meet, with what is there on each of them."""

    def __init__(self, one: Buffers, other: Buffers) -> None:
        self.one = one
        self.other = other
        self._now = next(_NUMBERS)

    def either(self, one: Things, other: Things) -> Things:
        """Return what a name stands for that is this on the one way, and that on the other."""
        if one is other or (one == other and len(one) < 2):
            return one
        return either(one, other, self._since(one, other))

    def rather(self, things: Things, before: Things) -> Things:
        """Return the same where the other way is that of a loop without iteration."""
        if before <= likely(things):
            return things
        return rather(things, before, self._since(things, before))

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
    return Buffers(state.names, state.parts, dead, state.viewed)


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
