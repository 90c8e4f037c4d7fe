"""What an operation does with its operands: rules R1 to R3 of how JAX places a computation.

It runs where a committed operand is, else on the default device; every uncommitted operand that is
elsewhere is copied there whole, each time, and stays where it was.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.placement.domain.contents import MAX_DEPTH, arrays
from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device, differ
from placement_lint.placement.domain.mesh_devices import MeshDevices, mix
from placement_lint.placement.domain.places import (
    MADE_ON_TRACERS,
    NO_CAUSES,
    NOWHERE,
    ArrayOrigin,
    Place,
)
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.sharding import Memory, Mesh, Sharding
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBT,
    NOTHING,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Host,
    Mapping,
    Sequence,
    Value,
    limited,
    sole,
)
from placement_lint.placement.domain.values import Sequence as SequenceOf

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Causes
    from placement_lint.placement.domain.record import Record, Seat
    from placement_lint.placement.domain.state import Devices, State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module


_NONE = frozenset({NO_CAUSES})


class Pins(NamedTuple):
    """Where the committed operands of an operation pin it to."""

    counts: Counter[Device | None]
    """In how many operands something is committed there."""
    devices: Devices
    are_sure: bool
    """One of the operands surely is committed."""
    is_open: bool
    """One of the operands may be an array of which nothing is known."""
    places: Devices
    """Where the operation may run."""


class Operations:
    """Applies operations, and records what they copy."""

    def __init__(
        self,
        module: Module,
        name: str,
        record: Record,
        moves: abc.Callable[[], None],
        touched: set[Place] | None,
        supposed: Supposition | None,
    ) -> None:
        """Record into a record of a module; `name`: what the places of what is made are in.

        `moves` is called when something is, or may be, copied. `touched`: what made the operands.
        """
        self._touched = touched
        self._module = module
        self.module = name
        self.record = record
        self.moves = moves
        self.supposed = supposed
        self.accelerator = module.has_accelerator
        self.at_once: abc.Callable[[], Record | None] = lambda: None
        """Where uses are recorded of arrays that traced code takes from outside, while it runs
        operation by operation."""
        self.asks_meshes: abc.Callable[[], None] = lambda: None
        """Is called where the result depends on the meshes in force."""
        self.is_to_fail: abc.Callable[[], bool] = lambda: False
        """Whether what runs now is there to fail."""
        self.later: frozenset[int] = frozenset()
        """Operands that were evaluated earlier than what is done to them now, perhaps for nothing:
        not every way that leads to them leads here."""

    def created(
        self,
        node: int,
        state: State,
        *,
        is_small: bool = False,
        is_weak: bool = False,
        certain: bool = True,
    ) -> Value:
        """Return what a creator makes here: on the default device, uncommitted."""
        default = state.default
        place = Place(self.module, node)
        # Made on one of several devices, it can be committed to none of them.
        named = default.expression if len(default.devices) == 1 else None
        origin = ArrayOrigin(place, place, named)
        chosen = ArrayOrigin(place, place, default.chosen_by, is_chosen=True)
        is_choice = default.chosen_by is not None and len(default.devices) == 2
        atoms = {
            Array(
                device,
                committed=False,
                origin=chosen if is_choice and device != SYSTEM_DEFAULT else origin,
                is_small=is_small,
                is_weak=is_weak,
            )
            for device in default.devices
        }
        return limited(frozenset(atoms) if certain else frozenset({*atoms, DOUBT}))

    def computed(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        state: State,
        kind: UseKind,
        *,
        in_loop: bool,
        certain: bool = True,
        judged: int | None = None,
        is_call: bool = False,
    ) -> Value:
        """Run an operation on operands (places and values) and give its result.

        `certain` False: it may find that there is nothing to do. `judged`: only so many of the
        operands, from the first, may be arrays that are unknown (an index seldom is one).
        `is_call`: it is a call of a jitted function, or of one like it.
        """
        if self._touched is None and self._is_outside_mesh(node, operands, state, judged):
            return UNKNOWN
        self._touch_all(node, operands, state, kind, in_loop=in_loop)
        every = [list(arrays(held)) for _, held in operands]
        pins = _pins_of(operands, every, judged, state.default.devices)
        are_mixed = self._note_together(node, operands, every, pins, judged)
        because: dict[Device | None, set[Causes]] = {}
        if self.supposed is not None:
            default = state.default.devices
            because = self.supposed.ran(self._module, node, operands, default, judged)
        for position, (place, held) in enumerate(operands):
            others_open = pins.is_open and not _is_only_open(operands, position, judged)
            self._judge(
                node,
                place,
                held,
                every[position],
                pins,
                state,
                kind,
                in_loop=in_loop,
                certain=certain and not others_open,
            )
            self._note_derived(node, every[position], pins, state)
        via = NOWHERE
        if pins.devices or is_call:
            via = self.record.pulls.operation(
                Place(self.module, node), operands, state.default,
                accelerator=self.accelerator, movable=judged, in_loop=in_loop,
                certain=certain and not any(place in self.later for place, _ in operands),
                is_call=is_call,
            )  # fmt: skip
        if are_mixed:
            # JAX raises: there is no result.
            return NOTHING
        return self._result(node, operands, every, pins, because, via, state)

    def _note_together(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        every: list[list[Array]],
        pins: Pins,
        judged: int | None,
    ) -> bool:
        """Note what meets in an operation; return whether JAX refuses it."""
        if any(is_of_host(array) for found in every for array in found):
            self.record.sharded_calls.saw_host_memory(node, operands[:judged])
        if sum(map(bool, every)) <= 1 and len(pins.devices) <= 1:
            return False
        mixed = self._mixed(operands[:judged])
        if not self.is_to_fail():
            self.record.saw_operands(node, mixed, operands)
        return bool(mixed)

    def _note_derived(self, node: int, found: list[Array], pins: Pins, state: State) -> None:
        """Note which uncommitted arrays something is computed of, and which are pulled along."""
        made = Place(self.module, node)
        # What runs there by default too would copy it whatever is committed.
        pulled = pins.are_sure and len(pins.devices) == 1
        pulled = pulled and not {None, *state.default.devices} & pins.devices
        for array in found:
            if array.origin is None or array.committed:
                continue
            self.record.derived.setdefault(array.origin.created, set()).add(made)
            if pulled:
                pulls = self.record.pulled.setdefault(array.origin.created, set())
                pulls.update((made, device) for device in pins.devices if device is not None)

    def _result(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        every: list[list[Array]],
        pins: Pins,
        because: dict[Device | None, set[Causes]],
        via: frozenset[Place],
        state: State,
    ) -> Value:
        """Return what an operation gives: where a committed operand is, else on the default."""
        is_weak = _stay_weak(operands, every)
        spread = _on_one_mesh(every)
        result: set[Atom] = {
            Array(
                device,
                committed=True,
                is_weak=is_weak,
                via=via,
                supposed=causes,
                sharding=spread if device is None else None,
            )
            for device in pins.devices
            for causes in because.get(device, _NONE)
        }
        if not pins.are_sure:
            result |= set(self.created(node, state, is_weak=is_weak))
            # What is committed elsewhere, whatever it is, JAX refuses beside what surely is
            # committed.
            if pins.is_open or any(_is_partly_open(held) for _, held in operands):
                result.add(DOUBT)
        return limited(frozenset(result))

    def compare(self, node: int, operands: abc.Sequence[tuple[int, Value]]) -> None:
        """Note operands of which all, or all of whose items, are compared with one another."""
        if not self.is_to_fail():
            self.record.saw_operands(node, self._mixed(operands), operands)

    def may_compute(
        self, node: int, place: int, held: Value, state: State, *, in_loop: bool
    ) -> None:
        """Note an operand that an operation perhaps does nothing with but hand it back."""
        default = state.default.devices
        found = {a for a in arrays(held) if any(self._moves(a, device) for device in default)}
        if found:
            self.record.saw_use(
                place, UseKind.COMPUTED, node, set(), found, always=False, in_loop=in_loop
            )

    def stays(self, held: Value, state: State) -> bool:
        """Return whether what is taken of the arrays in a value surely is where they are."""
        return all(
            array.committed or state.default.devices == {array.device} for array in arrays(held)
        )

    def touch(self, held: Value) -> None:
        """Note, in traced code, that something is done with the arrays in a value."""
        if self._touched is not None:
            of = (array.origin for array in arrays(held))
            self._touched.update(origin.created for origin in of if origin is not None)

    def _is_outside_mesh(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        state: State,
        judged: int | None,
    ) -> bool:
        """Note whether JAX refuses an operation on arrays that are not on the mesh which is set."""
        outside = self._outside_mesh(node, operands[:judged], state)
        self.record.saw_outside_mesh(node, outside, operands)
        return bool(outside)

    def _outside_mesh(
        self, node: int, operands: abc.Sequence[tuple[int, Value]], state: State
    ) -> set[tuple[int, Seat]]:
        """Return the operands that surely are not on the mesh that is set, and the operation for
        the mesh; nothing where all may be on it, or none is known to be set.
        """
        committed = [
            (place, devices)
            for place, held in operands
            for part in _parts(held)
            if (devices := _surely_committed_to(part))
        ]
        if not committed:
            return set()
        self.asks_meshes()
        meshes = state.meshes.by_set
        seats = [seat_of(Sharding(mesh=each)) for each in meshes if isinstance(each, Mesh)]
        if len(seats) != 1 or len(meshes) != 1 or seats[0] is None:
            return set()
        mesh: Seat = seats[0]
        found = {
            (place, device)
            for place, devices in committed
            if all(self._are_apart(device, mesh) for device in devices)
            for device in devices
        }
        return found | {(node, mesh)} if found else found

    def _mixed(self, operands: abc.Sequence[tuple[int, Value]]) -> set[tuple[int, Seat]]:
        """Return the operands that surely are committed to different devices."""
        committed = dict.fromkeys(
            (place, frozenset(devices))
            for place, held in operands
            for part in _parts(held)
            if (devices := _surely_committed_to(part))
        )
        found: set[tuple[int, Seat]] = set()
        for one, other in itertools.combinations(committed, 2):
            if all(self._are_apart(here, there) for here in one[1] for there in other[1]):
                found.update(
                    (place, device) for place, devices in (one, other) for device in devices
                )
        return found

    def _are_apart(self, one: Seat, other: Seat) -> bool:
        """Return whether arrays in two places surely cannot be computed with together."""
        if isinstance(one, Device) and isinstance(other, Device):
            return differ(one, other, accelerator=self.accelerator) is True
        # A mesh is meant to be of several devices.
        return mix(one, other, accelerator=self.accelerator) is not False

    def _judge(
        self,
        node: int,
        place: int,
        held: Value,
        found: list[Array],
        pins: Pins,
        state: State,
        kind: UseKind,
        *,
        in_loop: bool,
        certain: bool,
    ) -> None:
        """Record which arrays of an operand are copied to where an operation runs."""
        if not found:
            return
        default = state.default
        chosen = not pins.are_sure and default.is_chosen
        # Where nothing else is committed, it does not run there for the other arrays of an operand.
        instead = _committed_instead(held) - default.devices
        beside = pins.places.difference(each for each in instead if pins.counts[each] == 1)
        moved: set[Array] = set()
        possible: set[Array] = set()
        unsure = _beside_others(held)
        always = (certain and place not in self.later) and (
            all(isinstance(atom, Array) for atom in held)
            or all(isinstance(atom, Mapping | Sequence) for atom in held)
        )
        for array in found:
            may_be = beside if array in held and not array.committed else pins.places
            verdicts = [self._moves(array, device) for device in may_be]
            if any(verdict is True for verdict in verdicts):
                on_some = chosen and not all(verdict is True for verdict in verdicts)
                (possible if on_some or array in unsure else moved).add(array)
            elif self._moves_by_choice(array, may_be):
                possible.add(array)
            always &= all(verdict is True for verdict in verdicts)
        if moved or possible:
            self.moves()
        self.record.saw_use(
            place,
            kind,
            node,
            moved,
            possible,
            always=always,
            in_loop=in_loop,
            beside=found,
        )

    def _touch_all(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        state: State,
        kind: UseKind,
        *,
        in_loop: bool,
    ) -> None:
        """Note, in traced code, what an operation is done with."""
        if self._touched is None:
            return
        for _, held in operands:
            self.touch(held)
        self._saw_from_outside(node, operands, state, kind, in_loop=in_loop)

    def _saw_from_outside(
        self,
        node: int,
        operands: abc.Sequence[tuple[int, Value]],
        state: State,
        kind: UseKind,
        *,
        in_loop: bool,
    ) -> None:
        """Record the arrays of these operands that no tracer stands for, and that are copied."""
        record = self.at_once()
        every = [array for _, held in operands for array in arrays(held)]
        if record is None or state.default.is_chosen or any(array.committed for array in every):
            return
        for place, held in operands:
            moved = {
                atom
                for atom in held
                if isinstance(atom, Array)
                and atom.origin is not None
                and not atom.origin.created.module.startswith(MADE_ON_TRACERS)
                and all(self._moves(atom, device) is True for device in state.default.devices)
            }
            if moved and all(isinstance(atom, Array) for atom in held):
                self.moves()
                record.saw_use(place, kind, node, moved, set(), always=False, in_loop=in_loop)
                record.uses[place].is_from_outside = True

    def _moves(self, array: Array, to: object) -> bool | None:
        """Return whether an array is copied to a device.

        What was made on the default device is no hazard elsewhere: carrying it into a host block is
        what such a block is for.
        """
        if array.committed or array.is_small:
            return False
        if array.origin is None or array.origin.device is None:
            return False
        return differ(array.device, to, accelerator=self.accelerator)  # type: ignore[arg-type]

    def _moves_by_choice(self, array: Array, places: Devices) -> bool:
        """Return whether an array that may be made on the default device moves if it was not.

        It was made under a device that was chosen at run time.
        """
        if array.committed or array.is_small or array.device is None:
            return False
        accelerator = self.accelerator
        away = differ(array.device, SYSTEM_DEFAULT, accelerator=accelerator) is True
        return away and any(
            differ(array.device, place, accelerator=accelerator) is True for place in places
        )


def _pins_of(
    operands: abc.Sequence[tuple[int, Value]],
    every: list[list[Array]],
    judged: int | None,
    default: Devices,
) -> Pins:
    """Return where an operation is pinned to; `every`: the arrays in each operand."""
    counts: Counter[Device | None] = Counter()
    are_sure = is_open = False
    for position, (_, held) in enumerate(operands):
        committed = {array.device for array in every[position] if array.committed}
        if committed:
            counts.update(committed)
            are_sure = are_sure or _is_all_committed(held)
        if not is_open and (judged is None or position < judged):
            is_open = any(isinstance(atom, Anything | External) for atom in held)
    devices = frozenset(counts)
    return Pins(counts, devices, are_sure, is_open, devices if are_sure else devices | default)


def is_on_host(operands: abc.Iterable[tuple[int, Value]]) -> bool:
    """Return whether one of the operands is, or holds, an array in the memory of the host."""
    return any(is_of_host(array) for _, held in operands for array in arrays(held))


def without_host_memory(held: Value) -> Value:
    """Return a value of which it is not known any more that it is in the memory of the host."""
    return frozenset(
        replace(atom, sharding=None) if isinstance(atom, Array) and is_of_host(atom) else atom
        for atom in held
    )


def is_of_host(array: Array) -> bool:
    """Return whether an array is in the memory of the host of an accelerator, by its sharding."""
    return array.sharding is not None and array.sharding.is_of_host


def _on_one_mesh(every: list[list[Array]]) -> Sharding | None:
    """Return where an operation gives what it computes of arrays that are on one mesh, split as the
    compiler chooses; None where one of them may be elsewhere.
    """
    shardings = {array.sharding for found in every for array in found if array.committed}
    meshes = {None if each is None else each.mesh for each in shardings}
    only = meshes.pop() if len(meshes) == 1 else None
    if any(each is not None and each.is_of_host for each in shardings):
        is_every = all(each is not None and each.is_of_host for each in shardings)
        # What `pinned_host` meets may be scalars, which do not count.
        is_every &= all(array.committed for found in every for array in found)
        return Sharding(mesh=only, memory=Memory.PINNED_BY_VERSION) if is_every else None
    is_own = all(each is None or each.is_named for each in shardings)
    # Of an unknown mesh it is known that there is one.
    is_known = only is not None or (bool(shardings) and None not in shardings and not meshes)
    return Sharding(mesh=only, is_named=True) if is_own and is_known else None


def _committed_instead(held: Value) -> Devices:
    """Return the devices that one operand may be committed to, unless it is another array.

    Items of containers are there at the same time.
    """
    direct = frozenset(atom for atom in held if isinstance(atom, Array))
    if all(array.committed for array in direct):
        return frozenset()
    inside = {array.device for array in arrays(held - direct) if array.committed}
    return frozenset(a.device for a in direct if a.committed and a.device not in inside)


def _beside_others(held: Value, depth: int = MAX_DEPTH) -> frozenset[Array]:
    """Return the arrays in a value in the place of which there may be something else.

    A NumPy array, or nobody knows what, which is chosen when the program runs: mostly by what also
    chooses what is done to it. It is not reported.
    """
    if any(isinstance(atom, External | Host) or atom == ANYTHING for atom in held):
        return frozenset(arrays(held, depth))
    if not depth:
        return frozenset()
    return frozenset().union(
        *(
            _beside_others(part, depth - 1)
            for atom in held
            if isinstance(atom, Mapping | Sequence)
            for part in atom.parts()
        )
    )


def _stay_weak(operands: abc.Sequence[tuple[int, Value]], every: list[list[Array]]) -> bool:
    """Return whether nothing but Python numbers, or what has their type, is among operands."""
    return any(array.is_weak for found in every for array in found) and all(
        any(array.is_weak for array in found)
        if found
        else not any(isinstance(atom, Host) for atom in held)
        for (_, held), found in zip(operands, every, strict=True)
    )


def _is_all_committed(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Return whether an operand surely is, or holds, nothing but committed arrays.

    A list of unknown length is taken for one that holds some.
    """
    if not depth:
        return False
    for atom in held:
        if isinstance(atom, SequenceOf | Mapping):
            parts = [part for part in atom.parts() if part]
            if not parts or not all(_is_all_committed(part, depth - 1) for part in parts):
                return False
        elif isinstance(atom, AnyTree):
            if not _is_all_committed(atom.leaf, depth - 1):
                return False
        elif not isinstance(atom, Array) or not atom.committed:
            return False
    return bool(held)


def _parts(held: Value) -> Iterator[Value]:
    """Yield the leaves of a tree whose structure is known; all else is one part.

    A dict that a loop fills counts as filled.
    """
    atom = sole(frozenset(atom for atom in held if not _is_empty(atom)))
    if isinstance(atom, SequenceOf) and atom.items:
        for item in dict.fromkeys(atom.items):
            yield from _parts(item)
    elif isinstance(atom, AnyTree):
        yield from _parts(atom.leaf)
    elif isinstance(atom, SequenceOf | Mapping) and any(atom.parts()):
        for part in dict.fromkeys(atom.parts()):
            yield from _parts(part)
    else:
        yield held


def _is_empty(atom: Atom) -> bool:
    return isinstance(atom, SequenceOf | Mapping) and not any(atom.parts())


def _surely_committed_to(held: Value) -> set[Seat]:
    """Return where a value surely is committed, to one of these; nothing where that is unsure."""
    found: set[Seat] = set()
    for atom in held:
        if isinstance(atom, AnyTree):
            inner = _surely_committed_to(atom.leaf)
            if not inner:
                return set()
            found |= inner
            continue
        if not isinstance(atom, Array) or not atom.committed:
            return set()
        seat = atom.device if atom.sharding is None else seat_of(atom.sharding)
        if seat is None:
            return set()
        found.add(seat)
    return found


def seat_of(sharding: Sharding) -> MeshDevices | None:
    """Return the devices of the mesh of a sharding; None where they are not known."""
    mesh = sharding.mesh
    if mesh is None or mesh.devices is None:
        return None
    return mesh.devices if mesh.number is None else replace(mesh.devices, number=mesh.number)


def _is_partly_open(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Return whether a container holds something unknown, which may be committed elsewhere."""
    return (
        depth > 0
        and any(
            part == UNKNOWN or _is_partly_open(part, depth - 1)
            for atom in held
            if isinstance(atom, Mapping | Sequence)
            for part in atom.parts()
        )
    ) or any(
        isinstance(leaf, Anything | External)
        for atom in held
        if isinstance(atom, AnyTree)
        for leaf in atom.leaf
    )


def _is_only_open(
    operands: abc.Sequence[tuple[int, Value]], position: int, judged: int | None
) -> bool:
    """Return whether no operand but this one may be anything."""
    for other, (_, held) in enumerate(operands):
        counts = judged is None or other < judged
        if (
            other != position
            and counts
            and any(isinstance(atom, Anything | External) for atom in held)
        ):
            return False
    return True
