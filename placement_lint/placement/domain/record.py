"""What the interpreter saw: uses of arrays, values of expressions, default devices at calls.

A statement in a loop is executed several times until nothing changes; the record of a node joins
what was seen each time.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.pulls import Pulls
from placement_lint.placement.domain.sharded_calls import ShardedCalls
from placement_lint.placement.domain.shared_values import SharedValues
from placement_lint.placement.domain.values import Array, Value, join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.mesh_devices import MeshDevices
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import DefaultDevice

Seat: TypeAlias = "Device | MeshDevices"
"""Where an array is committed: one device, or those of a mesh."""


class UseKind(enum.Enum):
    """How an array is used."""

    INDEXED = enum.auto()
    """Indexed, sliced, unpacked or iterated."""
    COMPUTED = enum.auto()
    """An operand of any other JAX computation."""


@dataclass
class Use:
    """One place at which an array is an operand that JAX may have to move."""

    node: int
    """The expression that is the array."""
    kind: UseKind
    operations: set[int] = field(default_factory=set)
    """The operations that it is an operand of: of an iteration, itself."""
    moved: frozenset[Array] = frozenset()
    """The arrays, of those that the operand may be, that are copied to another device."""
    possible: frozenset[Array] = frozenset()
    """Those that are copied where a device that is chosen at run time comes out one way, and not
    where it comes out the other, and those that may be something else: they are reported only on
    demand."""
    beside: frozenset[Array] = frozenset()
    """What else the operand may be, in one execution, where it may be one of those."""
    always: bool = True
    """On every way that leads here the operand is one of these, and it is copied."""
    in_loop: bool = False
    is_from_outside: bool = False
    """The operation is in code that JAX traces, which takes the array from around it."""


@dataclass
class Mixture:
    """One operation whose operands are committed to different devices: JAX refuses it."""

    node: int
    operands: set[tuple[int, Seat]] = field(default_factory=set)
    """The operands that surely are committed, each with its device, or those of its mesh."""
    always: bool = True
    """Every time that the operation was executed."""
    held: dict[int, Value] = field(default_factory=dict)
    """What the operands were when that was first so."""


@dataclass
class ArgumentsSeen:
    """What calls were given that run functions of the program in another thread or process."""

    seen: dict[int, dict[int, Value]] = field(default_factory=dict)
    """By call: what each argument was, by its expression."""

    def saw(self, call: int, arguments: dict[int, Value]) -> None:
        """Remember what a call was given."""
        before = self.seen.setdefault(call, {})
        for place, held in arguments.items():
            before[place] = join(before[place], held) if place in before else held


@dataclass
class Record:
    """Everything that is remembered of one module."""

    uses: dict[int, Use] = field(default_factory=dict)
    values: dict[int, Value] = field(default_factory=dict)
    defaults: dict[int, frozenset[DefaultDevice]] = field(default_factory=dict)
    derived: dict[Place, set[Place]] = field(default_factory=dict)
    """For what made an array: the operations that made another array of it."""
    reads: dict[Place, set[Place]] = field(default_factory=dict)
    """For what opened a file of arrays: the calls that read one from it."""
    put: set[Place] = field(default_factory=set)
    """What made arrays that are put on a device after that."""
    mixtures: dict[int, Mixture] = field(default_factory=dict)
    outside_mesh: dict[int, Mixture] = field(default_factory=dict)
    """Operations on arrays outside of the mesh that `jax.set_mesh` has set: JAX refuses them. The
    operands, and the operation itself for that mesh."""
    agreeing: set[int] = field(default_factory=set)
    """Operations that were executed with operands which JAX may accept."""
    trees: dict[int, Value] = field(default_factory=dict)
    """For operands that are objects, or hold some: what is in them, with dicts in their place."""
    pulled: dict[Place, set[tuple[Place, Device]]] = field(default_factory=dict)
    """For what made an uncommitted array: the operations that surely run where another operand
    is committed, and that device."""
    pulls: Pulls = field(default_factory=Pulls)
    sharded_calls: ShardedCalls = field(default_factory=ShardedCalls)
    """Also of traced code, which leaves little else here."""
    given: ArgumentsSeen = field(default_factory=ArgumentsSeen)
    """Also of traced code."""
    _shared: SharedValues = field(default_factory=SharedValues)
    _sole: dict[DefaultDevice, frozenset[DefaultDevice]] = field(default_factory=dict)
    """What `defaults` has at the many calls where one was in force: one object for each."""

    def saw_value(self, node: int, seen: Value) -> None:
        """Remember a value that an expression had."""
        before = self.values.get(node)
        # To join a value of one alternative with itself changes nothing.
        if before is not seen and not (len(seen) < 2 and before == seen):
            joined = seen if before is None else join(before, seen)
            self.values[node] = self._shared.of(joined)

    def saw_tree(self, node: int, seen: Value) -> None:
        """Remember what is in an object that an expression was."""
        self.trees[node] = join(seen, self.trees[node]) if node in self.trees else seen

    def saw_read(self, opened: Place | None, read: Place) -> None:
        """Remember a call that reads an array from a file, by the call that opened it."""
        if opened is not None:
            self.reads.setdefault(opened, set()).add(read)

    def saw_default(self, node: int, default: DefaultDevice) -> None:
        """Remember a default device that was in force at a call."""
        before = self.defaults.get(node)
        if before is None:
            self.defaults[node] = self._sole.setdefault(default, frozenset({default}))
        elif default not in before:
            self.defaults[node] = before | {default}

    def saw_use(
        self,
        node: int,
        kind: UseKind,
        operation: int,
        moved: set[Array],
        possible: set[Array],
        *,
        always: bool,
        in_loop: bool,
        beside: Iterable[Array] = (),
    ) -> None:
        """Remember a use: which arrays it copies, if any, and what else it may be `beside` them."""
        use = self.uses.get(node)
        if use is None:
            use = self.uses[node] = Use(node, kind)
        use.operations.add(operation)
        use.moved |= moved
        use.possible |= possible
        if moved:
            use.beside = use.beside.union(beside) - use.moved
        use.always &= always
        use.in_loop |= in_loop

    def saw_outside_mesh(
        self, node: int, found: set[tuple[int, Seat]], operands: Iterable[tuple[int, Value]]
    ) -> None:
        """Remember which operands are not on the mesh that is set; none, where all may be.

        `saw_operands` is called for the latter, after this.
        """
        if found:
            mixture = _saw_mixed(self.outside_mesh, node, found, operands)
            mixture.always &= node not in self.agreeing
        elif node in self.outside_mesh:
            self.outside_mesh[node].always = False

    def saw_operands(
        self, node: int, mixed: set[tuple[int, Seat]], operands: Iterable[tuple[int, Value]]
    ) -> None:
        """Remember which operands of an operation are committed to different devices."""
        if mixed:
            mixture = _saw_mixed(self.mixtures, node, mixed, operands)
            mixture.always &= node not in self.agreeing
        else:
            self.agreeing.add(node)
            if node in self.mixtures:
                self.mixtures[node].always = False


def _saw_mixed(
    mixtures: dict[int, Mixture],
    node: int,
    found: set[tuple[int, Seat]],
    operands: Iterable[tuple[int, Value]],
) -> Mixture:
    """Add operands that do not go together to what is known of an operation; return all of it."""
    mixture = mixtures.setdefault(node, Mixture(node))
    if not mixture.held:
        mixture.held.update(operands)
    mixture.operands |= found
    return mixture
