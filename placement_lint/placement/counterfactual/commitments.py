"""What it takes to commit arrays where they are, so that every computation stays where it runs.

An array that is copied at each use is committed where it is made. What is taken of it then stays
there too, and so would all that is computed with it. So each part that is taken is put back to
where it was, uncommitted on the default device, but where it is only read on the host or is put
somewhere anyway. What else comes of that, the interpreter says: see `supposition`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from placement_lint.limits.budget import LimitError, RunOverError, bar, free
from placement_lint.placement.counterfactual.element_types import ElementTypes, Type
from placement_lint.placement.domain.consequences import Consequence, Destination
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.places import NO_CAUSES, Place, Taking
from placement_lint.placement.domain.values import Anything
from placement_lint.placement.engine.supposition import Supposition, same
from placement_lint.placement.facts.array_parts import Stays, taking_of
from placement_lint.placement.facts.tampering import changes_precision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.counterfactual.protocols import ExecutedProgram
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Causes
    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.domain.values import Value

_MAX_ROUNDS = 4
"""Executions in which more and more is put back."""
_MOST_NODES = 400_000
"""Nodes of the syntax trees of a program that is executed again: beyond, it would take too long."""
_KEEPING = (cst.BaseSmallStatement, cst.FunctionDef, cst.Lambda, cst.NamedExpr)
"""Nodes around an expression beyond which what it gives may be under a name."""
_Effect = TypeVar("_Effect")
_WHERE_UNCERTAIN = frozenset({Consequence.RETYPED, Consequence.UNSEEN})


@dataclass(frozen=True)
class Commitment:
    """What is to be written so that arrays are committed, and what comes of it."""

    committed: Mapping[Place, Destination]
    """The expressions to commit, each with the device that it is on."""
    put_back: frozenset[Taking] = frozenset()
    """The operations whose results are to be put back on the default device."""
    consequences: frozenset[Consequence] = frozenset()


class Commitments:
    """How the arrays of a program that was executed can be committed."""

    def __init__(
        self,
        program: ExecutedProgram,
        committed: Mapping[Place, Destination],
        *,
        moves: bool = False,
        rebinds: bool = False,
        gives_up: bool = False,
    ) -> None:
        """Take expressions that are to be committed, each to a device: see `Supposition`.

        `gives_up`: no execution is to be spent on it.
        """
        self._program = program
        self._around = _around(program, committed)
        self._committed = {
            place: target for place, target in committed.items() if place not in self._around
        }
        self._moves = moves
        self._rebinds = rebinds
        self._gives_up = gives_up
        self._types = ElementTypes(program)
        self._stays = {name: Stays(module) for name, module in program.modules.items()}
        self._trials: list[_Trial] = []

    def of(self, places: Iterable[Place], *, alone: bool = False) -> Commitment | None:
        """Return how arrays are committed that expressions made; None where that does harm.

        Where parts of them can be put back, with all others whose parts are put back there too.
        `alone`: nothing is put back.
        """
        wanted = frozenset(self._around.get(place, place) for place in places)
        if not wanted <= self._committed.keys() or self._program.sets_mesh:
            return None
        if not self._gives_up and not self._is_too_large:
            try:
                return self._foreseen(wanted, alone=alone)
            except RunOverError:
                raise
            except LimitError as error:
                # A file takes too long: nothing is foreseen, and the others keep their findings.
                stopped = error.with_traceback(None)
            bar(stopped)
            free()
            self._gives_up = True
        return self._commitment(wanted, frozenset(), {Consequence.UNSEEN})

    def _foreseen(self, wanted: frozenset[Place], *, alone: bool) -> Commitment | None:
        if not alone:
            trial = self._with_parts_put_back
            group = trial.group(wanted)
            returned = trial.returned(group)
            consequences = trial.consequences(group) | self._of_types(returned)
            if consequences <= _WHERE_UNCERTAIN:
                return self._commitment(group, returned, consequences)
        wanted = self._alone.group(wanted)
        consequences = self._alone.consequences(wanted)
        if not consequences.isdisjoint({Consequence.PULLED, Consequence.REFUSED}):
            return None
        if Consequence.UNSEEN in consequences and self._commits_elsewhere(wanted):
            # Where nobody sees it, it may meet such an array, which JAX refuses.
            return None
        return self._commitment(wanted, frozenset(), consequences | {Consequence.MOVED})

    def is_apart(self, place: Place) -> bool:
        """Return whether an answer still holds if its expression is the only one to be committed.

        Not where arrays of it and of another one met, nor where one is around the other.
        """
        alone = frozenset({place})
        return (
            place not in self._around
            and place not in self._around.values()
            and all(trial.is_apart(place) and trial.group(alone) == alone for trial in self._trials)
        )

    def _commitment(
        self,
        places: frozenset[Place],
        put_back: frozenset[Taking],
        consequences: AbstractSet[Consequence],
    ) -> Commitment:
        committed = {place: self._committed[place] for place in places}
        return Commitment(committed, put_back, frozenset(consequences))

    def _commits_elsewhere(self, places: Iterable[Place]) -> bool:
        """Return whether the program commits arrays to another device than the expressions do."""
        here = [self._committed[place].device for place in places]
        return any(not same(device, each) for device in self._devices for each in here)

    @functools.cached_property
    def _devices(self) -> set[Device | None]:
        """The devices that the program commits arrays to."""
        records = (module.record for module in self._program.modules.values())
        return {
            array.device
            for record in records
            for held in record.values.values()
            for array in arrays(held)
            if array.committed
        }

    def _of_types(self, takings: Iterable[Taking]) -> frozenset[Consequence]:
        is_kept = self._keeps_precision and all(
            self._types[taking.place] >= Type.STRONG for taking in takings
        )
        return frozenset() if is_kept else frozenset({Consequence.RETYPED})

    @functools.cached_property
    def _keeps_precision(self) -> bool:
        return not any(map(changes_precision, self._program.modules.values()))

    @functools.cached_property
    def _is_too_large(self) -> bool:
        nodes = sum(len(module.tree.nodes) for module in self._program.modules.values())
        return nodes > _MOST_NODES

    @functools.cached_property
    def _takings(self) -> dict[Taking, bool]:
        """The operations that copy an array only to move it, and whether it then is only read."""
        found: dict[Taking, bool] = {}
        for name, module in self._program.modules.items():
            for use in module.record.uses.values():
                places = {self._around.get(place, place) for place in _commit_places(use)}
                if self._committed.keys().isdisjoint(places):
                    continue
                for operation in use.operations:
                    taking = taking_of(module, operation, use.node)
                    if taking is not None:
                        found[taking] = self._stays[name](taking)
        return found

    @functools.cached_property
    def _with_parts_put_back(self) -> _Trial:
        taken = set(self._takings)
        put_back = {taking for taking, is_read in self._takings.items() if not is_read}
        for _ in range(_MAX_ROUNDS):
            trial = self._try(taken, put_back)
            if self._committed.keys() <= trial.hopeless:
                break
            before = len(taken) + len(put_back)
            for taking in trial.blamed:
                stays = taking not in taken and self._stays[taking.place.module](taking)
                if stays or self._can_be_put_back(taking):
                    taken.add(taking)
                    put_back |= set() if stays else {taking}
            if len(taken) + len(put_back) == before:
                break
        return trial

    def _can_be_put_back(self, taking: Taking) -> bool:
        # Where it copies nothing, items of NumPy's array would be something else than rows.
        return not taking.iterated or self._moves or taking in self._takings

    @functools.cached_property
    def _alone(self) -> _Trial:
        return self._try(set(self._takings), set())

    def _try(self, taken: set[Taking], put_back: set[Taking]) -> _Trial:
        supposed = Supposition(
            self._committed, taken, put_back, moves=self._moves, rebinds=self._rebinds
        )
        program = self._program.suppose(supposed)
        for held in program.unseen():
            supposed.escaped(held)
        for held in program.left():
            supposed.left(held)
        has_lost_track = _has_lost_track(self._program, program)
        if self._program.is_tampered or has_lost_track:
            for place in self._committed:
                supposed.note(Consequence.UNSEEN, frozenset({place}))
        trial = _Trial(supposed, has_lost_track=has_lost_track)
        self._trials.append(trial)
        return trial


class _Trial:
    """What came of one thing that was supposed."""

    def __init__(self, supposed: Supposition, *, has_lost_track: bool) -> None:
        self._has_lost_track = has_lost_track
        self._met = supposed.met
        self._found = supposed.found
        self._served = supposed.served
        self._groups: dict[Place, frozenset[Place]] = {}
        together = [*supposed.joined]
        together += [NO_CAUSES.union(*every) for every in supposed.served.values()]
        for causes in together:
            places = frozenset(_places(causes))
            joined = places.union(*(self._groups.get(place, places) for place in places))
            self._groups.update(dict.fromkeys(joined, joined))

    @functools.cached_property
    def _served_to(self) -> dict[Place, set[Taking]]:
        """For each expression, the operations that take parts of what it makes."""
        return _by_place(self._served)

    @functools.cached_property
    def _found_of(self) -> dict[Place, set[Consequence]]:
        """For each expression, what comes of committing it."""
        return _by_place(self._found)

    @property
    def blamed(self) -> set[Taking]:
        """The operations that take parts of which something comes."""
        every = (causes for found in self._found.values() for causes in found)
        return {cause for causes in every for cause in causes if isinstance(cause, Taking)}

    @property
    def hopeless(self) -> set[Place]:
        """The expressions of which something comes, whatever parts of their arrays are put back."""
        return {
            place
            for consequence, every in self._found.items()
            if consequence not in _WHERE_UNCERTAIN
            for causes in every
            if not any(isinstance(cause, Taking) for cause in causes)
            for place in _places(causes)
        }

    def is_apart(self, place: Place) -> bool:
        """Return whether an expression's arrays met none of another one that is committed."""
        return place not in self._met and not self._has_lost_track

    def group(self, places: frozenset[Place]) -> frozenset[Place]:
        """Return what has to be committed together with what expressions make."""
        return places.union(*(self._groups.get(place, places) for place in places))

    def returned(self, group: frozenset[Place]) -> frozenset[Taking]:
        """Return the operations that take parts of what a group makes, and are put back."""
        return frozenset[Taking]().union(*(self._served_to.get(place, ()) for place in group))

    def consequences(self, group: frozenset[Place]) -> frozenset[Consequence]:
        """Return what comes of committing a group."""
        return frozenset[Consequence]().union(*(self._found_of.get(place, ()) for place in group))


def _by_place(found: Mapping[_Effect, Iterable[Causes]]) -> dict[Place, set[_Effect]]:
    """Return, for each expression that is a cause of something, what it is a cause of."""
    effects: dict[Causes, set[_Effect]] = {}
    for effect, every in found.items():
        for causes in every:
            effects.setdefault(causes, set()).add(effect)
    by_place: dict[Place, set[_Effect]] = {}
    for causes, of_them in effects.items():
        for place in _places(causes):
            by_place.setdefault(place, set()).update(of_them)
    return by_place


def _places(causes: Causes) -> Iterator[Place]:
    return (cause for cause in causes if not isinstance(cause, Taking))


def copied(program: ExecutedProgram) -> dict[Place, Destination]:
    """Return the expressions that made arrays which are copied, with the device that each is on."""
    found: dict[Place, set[Destination]] = {}
    for module in program.modules.values():
        for array in (array for use in module.record.uses.values() for array in use.moved):
            made = array.origin
            if made is not None and made.device is not None and made.can_be_committed:
                target = Destination(array.device, made.device)
                found.setdefault(made.commit_at, set()).add(target)
    return {
        place: next(iter(targets))
        for place, targets in found.items()
        if len(targets) == 1 and not _is_iterated(program, place)
    }


def _is_iterated(program: ExecutedProgram, place: Place) -> bool:
    """Return whether an expression made arrays by being iterated over, and is none of them."""
    use = program.module_of(place).record.uses.get(place.node)
    return use is not None and place.node in use.operations


def _around(program: ExecutedProgram, committed: Mapping[Place, Destination]) -> dict[Place, Place]:
    """Return the expressions that need not be committed, since another one around each is.

    What they give goes nowhere but there, or they may give what that gives.
    """
    found: dict[Place, Place] = {}
    for place, target in committed.items():
        tree = program.module_of(place).tree
        for ancestor in tree.ancestors(tree.nodes[place.node]):
            if isinstance(ancestor, _KEEPING):
                break
            around = Place(place.module, tree.index(ancestor))
            if committed.get(around) == target:
                found[place] = around
    return found


def _commit_places(use: Use) -> set[Place]:
    return {array.origin.commit_at for array in use.moved if array.origin is not None}


def _has_lost_track(before: ExecutedProgram, after: ExecutedProgram) -> bool:
    """Return whether less was seen in the second of two executions, or something that is not
    explained by what was supposed.
    """
    for name, module in before.modules.items():
        again = after.modules.get(name)
        if again is None:
            return True
        known = again.record.values
        for node, held in module.record.values.items():
            now = known.get(node)
            if now is held:
                continue
            if now is None or _differs(held, now):
                return True
    return False


def _differs(held: Value, now: Value) -> bool:
    if any(isinstance(a, Anything) for a in now) and not any(isinstance(a, Anything) for a in held):
        return True
    before = {(array.device, array.committed) for array in arrays(held)}
    found = {(array.device, array.committed) for array in arrays(now) if not array.supposed}
    changed = any(array.supposed for array in arrays(now))
    return not found <= before or (not changed and found != before)
