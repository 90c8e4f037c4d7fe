"""What would change if arrays were committed: the interpreter executes the program once more.

In such an execution some expressions give committed arrays, as if `jax.device_put(…, d)` were
written around them, and what some operations take of arrays is put back where it was before, as if
`jax.device_put(jax.device_get(…))` were. An array that is committed by that alone carries the
causes of it. So it is known of each operation where it would run without them, which is where
it runs in the program as it is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.consequences import Consequence
from placement_lint.placement.domain.contents import MAX_DEPTH, arrays, map_atoms
from placement_lint.placement.domain.devices import differ
from placement_lint.placement.domain.places import NO_CAUSES, Place, Taking
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.values import Anything, AnyTree, Array, Host, Plain
from placement_lint.placement.domain.values import Mapping as MappingOf
from placement_lint.placement.domain.values import Sequence as SequenceOf
from placement_lint.placement.facts.array_parts import taking_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.domain.consequences import Destination
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Causes
    from placement_lint.placement.domain.state import Devices
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.facts.module import Module


_TELLING_COMMITMENT = frozenset({"committed", "_committed"})
_TELLING = _TELLING_COMMITMENT | {
    "addressable_shards", "device", "devices", "format", "global_shards", "layout", "sharding",
}  # fmt: skip
"""Attributes and methods of an array that say where it is."""


_PUTTABLE = (Anything, External, Host, Plain)
"""What may be put on a device besides arrays, or is not known to be something else."""


class Supposition:
    """What is supposed of an execution of a program, and what was seen to come of it."""

    def __init__(
        self,
        committed: Mapping[Place, Destination],
        taken: AbstractSet[Taking] = frozenset(),
        put_back: AbstractSet[Taking] = frozenset(),
        *,
        moves: bool = False,
        rebinds: bool = False,
    ) -> None:
        """Suppose that expressions are committed, each to a device.

        `taken`: the operations that are meant to run there from then on, since they only move;
        `put_back`: those whose results are put back. `moves`: the arrays may well be elsewhere, and
        are moved. `rebinds`: the expressions are statements of their own, `jax.device_put(x, d)`,
        and what they give is bound to the name that they are given.
        """
        self.committed = committed
        self.taken = taken
        self.put_back = put_back
        self.found: dict[Consequence, set[Causes]] = {}
        self.served: dict[Taking, set[Causes]] = {}
        """What each operation whose result is put back takes its parts of."""
        self.joined: set[Causes] = set()
        """What is committed together, or what is computed with it runs elsewhere than supposed."""
        self._reached: set[Place] = set()
        self.met: set[Place] = set()
        """The expressions of which arrays met those of another one."""
        self._mixed: set[Taking] = set()
        self.rebinds = rebinds
        self._moves = moves

    def note(self, consequence: Consequence, causes: Causes) -> None:
        """Note something that comes of some causes; of none, nothing does."""
        if causes:
            self.found.setdefault(consequence, set()).add(causes)
            self._meet(causes)

    def _meet(self, causes: Causes) -> None:
        places = {cause for cause in causes if isinstance(cause, Place)}
        if len(places) > 1:
            self.met |= places

    def finish(self) -> None:
        """Work out what could not be said before the end of the execution."""
        for taking in self._mixed:
            for causes in self.served.get(taking, ()):
                self.note(Consequence.MIXED, causes)
        for place in self.committed.keys() - self._reached:
            # It is no expression that gives something: a target that takes it apart.
            self.note(Consequence.REFUSED, frozenset({place}))

    # -- what is supposed -----------------------------------------------------------------------

    def commit(self, place: Place, held: Value) -> Value:
        """Return what an expression gives once it is committed."""
        device, expression = self.committed[place]
        causes = frozenset({place})
        self._reached.add(place)

        def committed(atom: Atom) -> Atom:
            if not isinstance(atom, Array):
                if not isinstance(atom, _PUTTABLE):
                    self.note(Consequence.REFUSED, causes)
                if not self._moves:
                    self.note(Consequence.MIXED, causes)
                return Array(device, committed=True, supposed=causes)
            self._meet(atom.supposed | causes)
            there = device
            made_under = None if atom.origin is None else atom.origin.device
            if made_under is not None and made_under == expression and not self._moves:
                there = atom.device
            elif same(atom.device, device):
                if atom.committed and not atom.supposed:
                    return atom
            elif not self._moves:
                self.note(Consequence.MOVED, causes)
            return replace(atom, device=there, committed=True, supposed=atom.supposed | causes)

        return map_atoms(held, committed)

    def rebound(self, place: Place, before: Value) -> Value:
        """Return what a name holds that is bound to what a statement gives, and held before."""
        device, _ = self.committed[place]
        self._reached.add(place)
        if not all(
            isinstance(atom, Array) and not atom.committed and same(atom.device, device)
            for atom in before
        ):
            self.note(Consequence.MOVED, frozenset({place}))
        causes = frozenset({place})
        self._meet(causes | causes_in(arrays(before)))
        return map_atoms(before, lambda a: _put(a, device, causes))

    def returned(self, taking: Taking, held: Value, made: Value, *, alone: bool = True) -> Value:
        """Return what an operation gives once it is put back; `made` is what is made there.

        `alone` False: other things than arrays come by.
        """
        taken = frozenset(a for a in held if isinstance(a, Array) and a.supposed)
        causes = causes_in(taken)
        if causes:
            self.served.setdefault(taking, set()).add(causes)
            self._meet(causes)
        others = held - taken
        if others or not alone:
            self._mixed.add(taking)
        return made | others if taken else held

    # -- what comes of it -----------------------------------------------------------------------

    def ran(
        self,
        module: Module,
        operation: int,
        operands: Sequence[tuple[int, Value]],
        default: Devices,
        judged: int | None,
    ) -> dict[Device | None, set[Causes]]:
        """Note an operation; give the causes for which its results are committed, by device: none
        where they would be anyway.

        `judged`: how many of the operands, from the first, are more than indices.
        """
        if not any(array.supposed for _, held in operands for array in arrays(held)):
            return {}
        taking = taking_of(module, operation, operands[0][0])
        judged = judged if taking is None else 1
        slots = [
            slot
            for position, (_, held) in enumerate(operands)
            for slot in _slots(held, is_index=judged is not None and position >= judged)
        ]
        supposed = [slot for slot in slots if slot.supposed]
        causes = NO_CAUSES.union(*(causes_in(slot.supposed) for slot in supposed))
        self._join(supposed)
        self._meet(causes)
        result = causes if taking is None else causes | {taking}
        is_meant = taking in self.taken
        found: dict[Device | None, set[Causes]] = {}
        for slot in supposed:
            here = {array.device for array in slot.supposed}
            beside = [other for other in slots if other is not slot or slot.is_many]
            own = {device for other in beside for device in other.committed}
            for device in here - own:
                found.setdefault(device, set()).add(result)
            for device in slot.committed:
                found.setdefault(device, set()).add(NO_CAUSES)
            if any(other.is_open for other in beside if not other.is_index) or not _agree(
                here, own.union(*({a.device for a in other.supposed} for other in beside))
            ):
                self.note(Consequence.REFUSED, causes)
            before = own if any(other.is_surely for other in beside) else own | default
            if _agree(here, before):
                continue
            if not is_meant:
                self.note(Consequence.MOVED, result)
            if any(not _agree(here, other.uncommitted) for other in beside if not other.is_index):
                self.note(Consequence.PULLED, result)
        return found

    def _join(self, supposed: Sequence[_Slot]) -> None:
        """Note that what is computed of committed arrays meets others that are committed.

        Were only those committed, they would pull it to where they are.
        """
        operands = [slot for slot in supposed if not slot.is_index]
        is_several = len(operands) > 1 or any(slot.is_many for slot in operands)
        if is_several and any(a.origin is None for slot in operands for a in slot.supposed):
            self.joined.add(NO_CAUSES.union(*(causes_in(slot.supposed) for slot in operands)))

    def followed(self, held: Value, default: Devices, *, copied: bool = False) -> Causes:
        """Note that something is made where committed arrays are, if these are; give why.

        `copied`: it is made on the default device, and then copied there.
        """
        found = [array for array in arrays(held) if array.supposed]
        causes = causes_in(found)
        if not all(same(array.device, each) for array in found for each in default):
            self.note(Consequence.PULLED if copied else Consequence.MOVED, causes)
        return causes

    def escaped(self, held: Value) -> None:
        """Note that something goes where nobody follows it."""
        for array in arrays(held):
            self.note(Consequence.UNSEEN, array.supposed)

    def left(self, held: Value) -> None:
        """Note that something is left at the end that is committed, and is no array of which that
        is supposed, nor a part that is only read.
        """
        for array in arrays(held):
            parts = {cause for cause in array.supposed if isinstance(cause, Taking)}
            is_result = array.origin is None
            if not parts <= self.taken or (not parts and is_result):
                self.note(Consequence.UNSEEN, array.supposed)

    def refused(self, held: Value) -> None:
        """Note that something is given to what may refuse it once it is committed."""
        for array in arrays(held):
            self.note(Consequence.REFUSED, array.supposed)

    def asked(self, name: str, held: Value) -> None:
        """Note that an attribute or a method was asked that may say where an array is.

        What is committed where it was made is where it was.
        """
        for array in arrays(held) if name in _TELLING else ():
            if name in _TELLING_COMMITMENT or any(isinstance(c, Taking) for c in array.supposed):
                self.note(Consequence.UNSEEN, array.supposed)


def same(one: Device | None, other: Device | None) -> bool:
    """Return whether two devices surely are one; there is an accelerator, or nothing is copied."""
    return differ(one, other, accelerator=True) is False


def _agree(some: AbstractSet[Device | None], others: AbstractSet[Device | None]) -> bool:
    return all(same(one, other) for one in some for other in others)


def _put(atom: Atom, device: Device | None, causes: Causes) -> Atom:
    if isinstance(atom, Array):
        return replace(atom, device=device, committed=True, supposed=causes)
    return Array(device, committed=True, supposed=causes)


def causes_in(found: Iterable[Array]) -> Causes:
    """Return why arrays are committed, of those that only are because of something supposed."""
    return NO_CAUSES.union(*(array.supposed for array in found))


@dataclass(frozen=True)
class _Slot:
    """What one operand, or one item of it, may be."""

    held: Value
    is_index: bool
    is_many: bool
    """It stands for several items."""

    @functools.cached_property
    def _arrays(self) -> list[Array]:
        return [atom for atom in self.held if isinstance(atom, Array)]

    @property
    def supposed(self) -> list[Array]:
        return [array for array in self._arrays if array.supposed]

    @property
    def committed(self) -> set[Device | None]:
        """Where it is committed, whatever is supposed."""
        return {a.device for a in self._arrays if a.committed and not a.supposed}

    @property
    def uncommitted(self) -> set[Device | None]:
        """Where it is, if it is not committed, and not small."""
        return {a.device for a in self._arrays if not a.committed and not a.is_small}

    @property
    def is_surely(self) -> bool:
        """Whether it surely is committed, whatever is supposed."""
        return bool(self.held) and all(
            isinstance(a, Array) and a.committed and not a.supposed for a in self.held
        )

    @property
    def is_open(self) -> bool:
        return any(isinstance(atom, Anything | External) for atom in self.held)


def _slots(
    held: Value, *, is_index: bool, is_many: bool = False, depth: int = MAX_DEPTH
) -> Iterator[_Slot]:
    """Yield what is there at the same time in an operand: the items of lists, dicts and trees."""
    containers = [
        atom for atom in held if depth and isinstance(atom, SequenceOf | MappingOf | AnyTree)
    ]
    if len(containers) < len(held):
        yield _Slot(held.difference(containers), is_index, is_many)
    for atom in containers:
        if isinstance(atom, AnyTree):
            yield _Slot(atom.leaf, is_index, is_many=True)
            continue
        if isinstance(atom, SequenceOf):
            parts: list[tuple[Value, bool]] = [(item, is_many) for item in atom.items or ()]
            is_known = atom.items is not None
        else:
            parts = [(item, is_many) for _, item in atom.items]
            is_known = False
        if not is_known:
            parts.append((atom.element, True))
        for part, many in parts:
            yield from _slots(part, is_index=is_index, is_many=many, depth=depth - 1)
