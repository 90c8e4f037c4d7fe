"""Things with an identity, and what is known of them at one point: names, parts, deletions.

A thing is a root, made by one evaluation of an expression, or a part of one: `state.params` is the
part `.params` of what `state` stands for, whatever it is called. Two names for one thing share its
buffer; what copies gives a new root.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.semantic.donation.parts import MAX_KEYS, BufferPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import libcst as cst

    from placement_lint.semantic.donation.callables import (
        Defined,
        Donor,
        Maker,
        OfClass,
        OfClassElsewhere,
        Wrapper,
    )
    from placement_lint.semantic.donation.parts import Keys

_MAX_LEAVES = 256
"""Parts of one thing that are looked at, each by itself."""


Thing: TypeAlias = "BufferPart | Defined | Donor | Maker | OfClass | OfClassElsewhere | Wrapper"
Things: TypeAlias = "frozenset[Thing]"
"""What an expression may be: one of these."""

NOTHING: Things = frozenset()


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
    is_drawn: bool = False
    """An iterator gave it, which may give NumPy arrays."""
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
    """What it was one of, where a name may have stood for several: this very set."""
    is_carried: bool = False
    """It is of an iteration before, that ended early: `continue`."""


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
        self.drop_parts(part)
        self.parts[part.root] = {**self.parts.get(part.root, {}), part.keys: held}

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
            base = roots[part.root].base if part.keys else None
            if base is None:
                break
            part = base.at(*part.keys)
        return frozenset({part})

    def leaves(self, things: Things, roots: list[Root]) -> Iterator[tuple[BufferPart, bool]]:
        """Yield the things in a tree that have no known parts, and whether each is surely there."""
        pending = [(things, True)]
        for _ in range(_MAX_LEAVES):
            if not pending:
                return
            held, is_sure = pending.pop()
            every = [each for each in held if isinstance(each, BufferPart)]
            for part in every:
                known = self.parts.get(part.root, {})
                count = len(part.keys)
                below = [
                    each
                    for keys, each in known.items()
                    if keys[:count] == part.keys and len(keys) > count
                ]
                sure = is_sure and len(held) == 1
                pending += [(each, sure) for each in reversed(below)]
                base = roots[part.root].base
                if base is not None and not part.keys:
                    pending.append((frozenset({base}), False))
                elif not below or roots[part.root].nature is not Nature.TREE:
                    yield part, sure and not below

    # -- deletions --------------------------------------------------------------------------------

    def kill(self, part: BufferPart, death: Death) -> None:
        before = self.death(part)
        if before is None or before.surety < death.surety:
            self.dead[part.root] = {**self.dead.get(part.root, {}), part.keys: death}

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
        """Return what deleted a thing, read under some conditions; None where nothing may have.

        Where only one of several is gone, that counts where the conditions are not others than at
        its deletion: it is not known then which of them stands for which.
        """
        found = [self.death(each) if isinstance(each, BufferPart) else None for each in things]
        every = [each for each in found if each is not None]
        if every and len(every) == len(found):
            return min(every, key=lambda each: each.surety)
        gone = [
            each
            for each in every
            if (each.surety > Surety.MAYBE and each.under[: len(under)] == under)
            or (each.is_carried and each.where == under)
        ]
        return replace(gone[0], surety=Surety.LIKELY) if gone else None

    def named_gone(self, roots: list[Root]) -> Iterator[BufferPart]:
        """Yield what is gone and still has a name, or is a part of what has one."""
        for held in self.names.values() if self.dead else ():
            if len(held) != 1:
                continue
            for leaf, _ in self.leaves(held, roots):
                for keys in self.dead.get(leaf.root, ()):
                    if keys[: len(leaf.keys)] == leaf.keys:
                        yield BufferPart(leaf.root, keys)

    def forget(self, part: BufferPart, *, itself: bool = True) -> None:
        """Know nothing of deletions below a part: something else may be there by now."""
        known = self.dead.get(part.root)
        if known:
            count = len(part.keys)
            self.dead[part.root] = {
                keys: death
                for keys, death in known.items()
                if keys[:count] != part.keys or (not itself and len(keys) == count)
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


def joined(states: Iterable[Buffers | None], where: tuple[int, ...] | None) -> Buffers | None:
    """Return what is known where ways meet; None where no way comes there."""
    every = [state for state in states if state is not None]
    if len(every) < 2:
        return every[0] if every else None
    first, *others = every
    result = first
    for other in others:
        result = Buffers(
            _joined_names(result.names, other.names),
            _joined_parts(result.parts, other.parts),
            _joined_deaths(result.dead, other.dead, where),
            result.viewed | other.viewed,
        )
    return result


def _joined_names(
    one: dict[tuple[int, str], Things], other: dict[tuple[int, str], Things]
) -> dict[tuple[int, str], Things]:
    if one is other:
        return one
    # What only one way binds raises on the other, where it is read.
    merged = {**other, **one}
    for key, held in other.items():
        before = one.get(key)
        if before is not None and before is not held:
            merged[key] = before | held
    return merged


def _joined_parts(
    one: dict[int, dict[Keys, Things]], other: dict[int, dict[Keys, Things]]
) -> dict[int, dict[Keys, Things]]:
    merged = {**other, **one}
    for root, known in merged.items():
        first, second = one.get(root), other.get(root)
        if first is second:
            continue
        if first is None or second is None:
            merged[root] = {keys: held | {BufferPart(root, keys)} for keys, held in known.items()}
            continue
        merged[root] = {
            keys: first.get(keys, frozenset({BufferPart(root, keys)}))
            | second.get(keys, frozenset({BufferPart(root, keys)}))
            for keys in first.keys() | second.keys()
        }
    return merged


def _joined_deaths(
    one: dict[int, dict[Keys, Death]],
    other: dict[int, dict[Keys, Death]],
    where: tuple[int, ...] | None,
) -> dict[int, dict[Keys, Death]]:
    merged = {**other, **one}
    for root in merged:
        first, second = one.get(root, {}), other.get(root, {})
        if first is second:
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
