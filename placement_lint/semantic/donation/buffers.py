"""Things with an identity, and what is known of them at one point: names, parts, deletions.

A thing is a root, made by one evaluation of an expression, or a part of one: `state.params` is the
part `.params` of what `state` stands for, whatever it is called. Two names for one thing share its
buffer; what copies gives a new root.
"""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.semantic.donation.choices import (
    is_decided_by,
    made_of,
    part_of,
    there_since,
    unlikely,
)
from placement_lint.semantic.donation.parts import MAX_KEYS, BufferPart, is_any, may_be_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import libcst as cst

    from placement_lint.semantic.donation.choices import Choice, Thing, Things
    from placement_lint.semantic.donation.parts import Keys

DEATHS = itertools.count(1)
"""The numbers of deletions, and of what is to be ordered among them."""
OF_PRESENCE = -1
"""The sign of the number of a condition that asks whether something is None, and nothing else."""
_MAX_LEAVES = 256
"""Parts of one thing that are looked at, each by itself."""
_MOST_GONE = 128
"""Deleted parts of one thing, among which one is looked for that may be another by its key."""
_MOST_STANDING = 400
"""Names, things and parts among which it is looked for what stands for a part that is replaced."""
_REST = "[*]"
"""The key of all items of a copy that were not assigned, once others came in their place."""


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
    number: int = field(default_factory=DEATHS.__next__)
    """Each deletion has a higher one than those before it."""
    entered: tuple[int, ...] = ()
    """The executions of the functions that these calls are of, by number."""
    is_carried: bool = False
    """It is of an iteration before, that ended early: `continue`."""
    is_replaced: bool = False
    """Of an item by a key that is not known: something came into the container by such a key."""


def is_within(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether something is done under some conditions, and perhaps further ones.

    But for those that only ask whether there is something, `if best is not None:`.
    """
    asked = [each for each in other if each > 0]
    return [each for each in one if each > 0][: len(asked)] == asked


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
    choice: Things | None = None
    """What one container around it is one of, where all else is sure."""
    chosen: BufferPart | None = None
    """That container."""
    alike: Things | None = None
    """What several containers, of which one is around it, have where it is in one of them, if there
    it is one of several things too: one of these surely is in the tree."""

    @property
    def is_one_of_several(self) -> bool:
        """Whether another one may be in its place."""
        return len(self.among) > 1 or not self.is_sure

    @property
    def alternatives(self) -> Things | None:
        """What it is one of, of which one surely is in the tree; None: nothing, or not known."""
        if not self.is_one_of_several:
            return None
        among = self.among if self.is_sure else self.choice
        if self.choice is not None and len(self.among) > 1:
            among = None
        return self.alike or among


class _Way(NamedTuple):
    """What is looked into for leaves, and how it was come by."""

    held: Things
    is_sure: bool
    but: frozenset[str]
    is_below_rare: bool
    choice: Things | None
    chosen: BufferPart | None
    alike: Things | None = None


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
    rows: set[BufferPart] = field(default_factory=set)
    """Items, by a number or an unknown index, that were taken of what may be an array, when it was
    not gone. Whatever way leads here has the same set."""

    def copy(self) -> Buffers:
        return Buffers(dict(self.names), dict(self.parts), dict(self.dead), self.viewed, self.rows)

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

        Among very many names nothing stands for it any longer: it is not known to be gone then.
        """
        count, known = len(part.keys), self.dead.get(part.root, {})
        inside = self.parts.get(part.root, {})
        if len(self.names) + len(self.parts) + len(inside) > _MOST_STANDING:
            return held
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
            apart = kept.at(*only.keys[count:])
            if only in self.rows:
                self.rows.add(apart)
            return frozenset({apart})

        self.dead[kept.root] = dead
        self.names = {name: own(things) for name, things in self.names.items()}
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
        start = _Way(things, True, frozenset(), False, None, None)
        pending = [start]
        for _ in range(_MAX_LEAVES):
            if not pending:
                return
            way = pending.pop()
            held, is_sure, but, is_below_rare, choice, chosen, alike = way
            sure, rare = is_sure and len(held) == 1, unlikely(held)
            is_chosen = is_sure and not but and len(held) > 1
            shared = self._in_each_of(held) if is_sure and not but and len(held) > 1 else {}
            pending += [
                _Way(each, True, frozenset(), is_below_rare, None, None) for each in shared.values()
            ]
            for part in sorted_parts(held):
                known = self.parts.get(part.root, {})
                below = self._below(part, but)
                count = len(part.keys)
                is_rare = is_below_rare or part in rare
                if len(held) > 1:
                    choice, chosen = (held, part) if is_sure else (None, None)
                for keys, each in reversed(below.items()):
                    if keys[count:] in shared:
                        continue
                    if is_chosen and len(each) > 1 and len(keys) == count + 1:
                        one_of = self._part_of_each(held, keys[count], roots)
                        pending.append(_Way(each, sure, frozenset(), is_rare, None, None, one_of))
                    else:
                        pending.append(_Way(each, sure, frozenset(), is_rare, choice, chosen))
                base = self._base_of(part, roots)
                if base is not None:
                    others = but | {keys[0] for keys in known}
                    only = frozenset({base})
                    pending.append(_Way(only, sure, others, is_rare, choice, chosen))
                elif (
                    not below
                    or roots[part.root].nature is not Nature.TREE
                    # What a comprehension made is read by keys of which nothing is known here.
                    or all(is_any(BufferPart(part.root, keys)) for keys in known)
                ):
                    is_whole = not below and not but
                    found = way.choice, way.chosen, alike
                    yield Leaf(part, held, is_sure, is_whole, but, is_rare, *found)

    def _part_of_each(self, held: Things, key: str, roots: list[Root]) -> Things:
        """Return what several containers have by a key, which the choice among them decides, and a
        choice of parts in some of them.
        """
        rare = unlikely(held)
        found: set[Thing] = set()
        seldom: set[Thing] = set()
        for part in sorted_parts(held):
            (seldom if part in rare else found).update(self.load(part.at(key), roots))
        return part_of(held, key, found | seldom, frozenset(seldom - found))

    def _in_each_of(self, held: Things) -> dict[Keys, Things]:
        """Return what several containers all have by the same keys, whichever it is of them."""
        parts = sorted_parts(held)
        if len(parts) < len(held):
            return {}
        first, *others = (
            {keys[len(part.keys) :]: each for keys, each in self._below(part, frozenset()).items()}
            for part in parts
        )
        return {
            keys: each
            for keys, each in first.items()
            if all(below.get(keys) is each for below in others)
        }

    def split_off(self, base: BufferPart, keys: Iterable[str], roots: list[Root]) -> None:
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
        is_known = bool(found) and all(key[0] == "[" and key[1] not in "*-" for key in found)
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

    def _may_be_row(self, part: BufferPart) -> bool:
        """Return whether an item of what is gone may be a copy: a row, if the whole is an array."""
        return part in self.rows and part.keys not in self.dead.get(part.root, {})

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
        if any(self._may_be_row(each) for each, _ in every):
            return Gone(every[0][1], Surety.MAYBE)
        if len(every) == len(things):
            return min(
                (Gone(death, self._surety(things, death, under), True) for _, death in every),
                key=lambda each: each.surety,
            )
        rare = unlikely(things)
        for each, death in every:
            surety = death.surety
            if is_decided_by(things, death.among):
                surety = max(death.chosen, surety)
                if surety > Surety.MAYBE:
                    # Whichever it is was donated, whatever is asked where it is read.
                    return Gone(death, min(surety, Surety.LIKELY))
            is_near = surety > Surety.MAYBE and is_within(death.under, under)
            if each not in rare and (is_near or (death.is_carried and death.where == under)):
                return Gone(death, Surety.LIKELY)
        for choice in made_of(things):
            chosen = self._gone_chosen(choice, things)
            if chosen is not None and is_within(chosen.under, under):
                return Gone(chosen, Surety.LIKELY)
        return Gone(every[0][1], Surety.MAYBE)

    def _gone_chosen(self, choice: Choice, since: Things) -> Death | None:
        """Return what deleted the one that a choice fell on, whichever that was.

        `since`: the choice that was made of it, by which older deletions may not count.
        """
        if choice.unlikely:
            return None
        deaths = [self.death(each) for each in sorted_parts(choice)]
        known = [
            death
            for each, death in zip(sorted_parts(choice), deaths, strict=True)
            if death is not None
            and death.number >= there_since(since, each)
            and is_decided_by(choice, death.among)
            and max(death.chosen, death.surety) > Surety.MAYBE
        ]
        return min(known, key=lambda each: each.number) if len(known) == len(choice) else None

    def _gone_beside(self, things: Things) -> Gone | None:
        """Return what deleted an item of a container that may be one of these things.

        It went by a key that is not known, or by its place in a mapping: `a, b = tree.values()`.
        """
        for each in sorted_parts(things):
            known = self.dead.get(each.root, {}) if each.keys else {}
            if len(known) > _MOST_GONE:
                continue
            for keys, death in known.items():
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
                    yield from self._gone_in(part)

    def _gone_in(self, part: BufferPart) -> Iterator[BufferPart]:
        """Yield what is gone of a part."""
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
    return Buffers(state.names, state.parts, dead, state.viewed, state.rows)


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
    return Buffers(state.names, state.parts, dead, state.viewed, state.rows)
