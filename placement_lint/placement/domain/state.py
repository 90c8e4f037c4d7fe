"""The state of an abstract execution: variables, and which default device is in force."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device
from placement_lint.placement.domain.mesh_contexts import NOT_ENTERED, MeshesInForce, met
from placement_lint.placement.domain.one_of_equal import OneOfEqual
from placement_lint.placement.domain.values import Value, join

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.syntax.names import Scope

Devices: TypeAlias = "frozenset[Device | None]"
"""The devices that one may be; None among them: any other."""

Variable: TypeAlias = "tuple[Hashable, str]"
"""A scope (by id) or an object, and the name of a variable or an attribute of it."""

Outside: TypeAlias = "Callable[[Variable], Value | None]"
"""What a variable holds that nothing was assigned to in an execution; None: it is not bound."""

SYSTEM: Devices = frozenset({SYSTEM_DEFAULT})
ANY_DEVICE: Devices = frozenset({None})


@dataclass(frozen=True, eq=False)
class DefaultDevice(metaclass=OneOfEqual):
    """A default device in force: which it may be, and the expression that names it."""

    devices: Devices
    expression: Place | None = None
    inherited: bool = False
    """It was set by a caller: the names in the expression mean nothing here."""
    may_be_absent: bool = False
    """It may be that this was not entered: then what is around it holds."""
    owners: frozenset[Place] = frozenset()
    """What leaves it, where that is not the end of a `with` of its own: an `ExitStack`, or a
    context that was entered by hand."""
    is_chosen: bool = False
    """The program chooses one of the devices when it runs. What happens for some of them only is
    not reported: the arrays are mostly made under the same choice."""
    chosen_by: Place | None = None
    """The conditional expression that chooses between one device and the system's default."""

    def for_callee(self) -> DefaultDevice:
        """Return what a function that is called now sees of it."""
        return self if self.inherited else self._inherited

    @functools.cached_property
    def _inherited(self) -> DefaultDevice:
        """The same of each call: it is compared with those of other calls, by identity first."""
        return replace(self, inherited=True)


def variable(scope: Scope, name: str) -> Variable:
    """Return the key of a name that a scope owns."""
    return (id(scope), name)


class Layer:
    """Variables that no longer change, on top of others."""

    __slots__ = ("_found", "below", "is_entry", "own")

    def __init__(
        self, own: dict[Variable, Value], below: Layer | None, *, is_entry: bool = False
    ) -> None:
        # Layers of like size are merged, so that there are few: log n for n assignments.
        while below is not None and not below.is_entry and len(below.own) <= 2 * len(own):
            own = below.own | own
            below = below.below
        self.own: dict[Variable, Value] = own
        self.below: Layer | None = below
        self.is_entry: bool = is_entry
        self._found: dict[Variable, Value | None] = {}

    def get(self, key: Variable) -> Value | None:
        """Return what a variable holds here or below; None for one that is not bound."""
        passed: list[Layer] = []
        layer: Layer | None = self
        held: Value | None = None
        while layer is not None:
            held = layer.own.get(key)
            if held is not None:
                break
            if layer.is_entry:
                # There is one for each call that is not over: code calls deeply.
                if key in layer._found:
                    held = layer._found[key]
                    break
                passed.append(layer)
            layer = layer.below
        for each in passed:
            each._found[key] = held
        return held


class Variables:
    """A mapping that is copied in constant time, and compared and joined by what has changed."""

    __slots__ = ("_base", "_outside", "_own")

    def __init__(self, base: Layer | None = None, outside: Outside | None = None) -> None:
        """Begin empty, or on top of a frozen layer. `outside`: what variables hold besides."""
        self._own: dict[Variable, Value] = {}
        self._base = base
        self._outside = outside

    def get(self, key: Variable) -> Value | None:
        """Return what a variable holds; None for one that is not bound."""
        held = self._own.get(key)
        if held is None and self._base is not None:
            return self._base.get(key)
        return held

    def __setitem__(self, key: Variable, held: Value) -> None:
        self._own[key] = held

    def freeze(self) -> Layer | None:
        """Return all that is bound now, as a layer that further assignments leave alone."""
        if self._own:
            self._base = Layer(self._own, self._base)
            self._own = {}
        return self._base

    def copy(self) -> Variables:
        """Return a mapping that can change on its own."""
        return Variables(self.freeze(), self._outside)

    def enter(self) -> tuple[Variables, Layer]:
        """Return a copy for a function that is called now, and what `changes` is to count from."""
        entry = Layer({}, self.freeze(), is_entry=True)
        return Variables(entry, self._outside), entry

    def changes(self, since: Layer | None) -> dict[Variable, Value]:
        """Return what was bound after a layer was frozen."""
        found = [self._own]
        layer = self._base
        while layer is not None and layer is not since:
            found.append(layer.own)
            layer = layer.below
        changed: dict[Variable, Value] = {}
        for own in reversed(found):
            changed |= own
        return changed

    def _layers(self) -> Iterator[Layer]:
        layer = self.freeze()
        while layer is not None:
            yield layer
            layer = layer.below

    @staticmethod
    def joined(every: list[Variables]) -> Variables:
        """Return what holds where several ways meet.

        A variable that is unbound on one of them is judged by the others: reading it there raises.
        Unless it is one of another body, which bound it before.
        """
        shared = _shared(every)
        outside = every[0]._outside
        result = Variables(shared, outside)
        changes = [variables.changes(shared) for variables in every]
        keys: dict[Variable, None] = {}
        for changed in changes:
            keys |= dict.fromkeys(changed)
        for key in keys:
            held = [changed[key] for changed in changes if key in changed]
            if len(held) < len(changes):
                before = None if shared is None else shared.get(key)
                if before is None and outside is not None:
                    before = outside(key)
                if before is not None:
                    held.append(before)
            first = held[0]
            for other in held:
                if other is not first and other != first:
                    first = join(*held)
                    break
            result._own[key] = first
        return result

    def differences(self, other: Variables) -> list[Variable]:
        """Return the variables that two mappings hold different values of."""
        shared = _shared([self, other])
        here, there = self.changes(shared), other.changes(shared)
        both = [key for key in here if key in there and here[key] != there[key]]
        return both + [
            key
            for one, another in ((here, there), (there, here))
            for key, held in one.items()
            if key not in another and (shared is None or held != shared.get(key))
        ]

    def assigned_since(self, before: Variables) -> Iterator[Variable]:
        """Yield the variables that were assigned to, perhaps what they held, on the way here."""
        yield from self.changes(_shared([self, before]))

    def equals(self, other: Variables) -> bool:
        return not self.differences(other)


def _shared(every: list[Variables]) -> Layer | None:
    """Return a layer that all of these stand on, searched from the top: it is near."""
    chains = [variables._layers() for variables in every]
    seen: dict[int, int] = {}
    while chains:
        chains_left = []
        for chain in chains:
            layer = next(chain, None)
            if layer is None:
                continue
            chains_left.append(chain)
            seen[id(layer)] = seen.get(id(layer), 0) + 1
            if seen[id(layer)] == len(every):
                return layer
        chains = chains_left
    return None


@dataclass
class State:
    """One point of an execution. Copied where ways part, joined where they meet."""

    base: DefaultDevice
    """The default device outside of every block: the system's, or what `config.update` set."""
    blocks: tuple[DefaultDevice, ...]
    """The `with jax.default_device(…)` blocks around, innermost last."""
    variables: Variables
    suspended: bool = False
    """A context manager yields here: nothing follows before the end of its `with`."""
    resumed: bool = False
    """What follows such a `yield`, once the `with` has ended."""
    meshes: MeshesInForce = NOT_ENTERED

    def copy(self) -> State:
        """Return a state that can go another way."""
        return State(
            self.base,
            self.blocks,
            self.variables.copy(),
            self.suspended,
            self.resumed,
            self.meshes,
        )

    @property
    def default(self) -> DefaultDevice:
        """The default device in force."""
        if not self.blocks:
            return self.base
        innermost = self.blocks[-1]
        if not innermost.may_be_absent:
            return innermost
        return _one_of([*self.alternatives()])

    def alternatives(self, around: int | None = None) -> Iterator[DefaultDevice]:
        """Yield the blocks of which one is in force, innermost first, and what is around them.

        `around`: those of the function's caller. Others are its own, whoever made them.
        """
        for position, block in reversed([*enumerate(self.blocks)]):
            is_own = around is not None and position >= around
            yield replace(block, inherited=False) if is_own else block
            if not block.may_be_absent:
                return
        yield self.base

    def still_entered(self) -> tuple[DefaultDevice, ...]:
        """Return what was entered by hand, or through a stack, and is in force at the end."""
        return tuple(block.for_callee() for block in self.blocks if block.owners)

    def seen_by_callee(self) -> tuple[DefaultDevice, ...]:
        """Return the blocks around the body of a function that is called now."""
        found: list[DefaultDevice] = []
        for block in reversed(self.blocks):
            found.append(block.for_callee())
            if not block.may_be_absent:
                break
        return tuple(reversed(found))

    def become(self, other: State) -> None:
        """Go on as another state does."""
        self.base, self.blocks, self.variables = other.base, other.blocks, other.variables
        self.suspended, self.resumed = other.suspended, other.resumed
        self.meshes = other.meshes

    def resume(self, at: State) -> None:
        """Go on after a `yield`, with what the variables hold by now."""
        self.base, self.variables, self.resumed = at.base, at.variables.copy(), True

    def release(self, owners: frozenset[Place]) -> bool:
        """Leave the blocks of an `ExitStack`, or one entered by hand; False where none is known.

        Leaving restores the default device that was in force before: what was entered later ends.
        """
        for position, block in enumerate(self.blocks):
            if block.owners and block.owners <= owners:
                self.blocks = self.blocks[:position]
                return True
        return False

    def forget_default(self) -> None:
        """Assume that any default device may be in force from here on."""
        self.base = DefaultDevice(ANY_DEVICE)
        self.blocks = tuple(DefaultDevice(ANY_DEVICE) for _ in self.blocks)


def initial_state() -> State:
    """Return the state before anything has happened."""
    return State(DefaultDevice(SYSTEM), (), Variables())


def meet(states: Iterable[State | None]) -> State | None:
    """Join the states of all ways that lead to one point."""
    alive = [state for state in states if state is not None and not state.suspended]
    resumed = [state for state in alive if state.resumed]
    # What was before the `yield` is over.
    alive = resumed or alive
    if not alive:
        return None
    first = alive[0]
    if len(alive) == 1:
        return State(
            first.base,
            first.blocks,
            first.variables,
            resumed=first.resumed,
            meshes=first.meshes,
        )
    base, blocks, meshes = first.base, first.blocks, first.meshes
    for state in alive[1:]:
        if state.base != base:
            base = _joined(base, state.base)
        if state.blocks != blocks:
            blocks = _met_blocks(blocks, state.blocks)
        if state.meshes is not meshes:
            meshes = met(meshes, state.meshes)
    variables = Variables.joined([state.variables for state in alive])
    return State(base, blocks, variables, resumed=first.resumed, meshes=meshes)


def _met_blocks(
    one: tuple[DefaultDevice, ...], other: tuple[DefaultDevice, ...]
) -> tuple[DefaultDevice, ...]:
    """Return the blocks around a point that two ways lead to.

    Lexical ones are the same on both. What an `ExitStack` entered on only one of them may be
    absent.
    """
    shared = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared += 1
    common, mine_left, theirs_left = one[:shared], one[shared:], other[shared:]
    every = [*mine_left, *theirs_left]
    joined = every[0]
    for block in every[1:]:
        joined = _joined(joined, block)
    absent = any(all(block.may_be_absent for block in left) for left in (mine_left, theirs_left))
    joined = replace(
        joined,
        may_be_absent=absent,
        is_chosen=absent or len(joined.devices) > 1,
        owners=frozenset().union(*(block.owners for block in every)),
    )
    if common and common[-1] == joined and absent:
        # Entered round after round of a loop: once more makes no difference.
        return common
    return (*common, joined)


def _joined(one: DefaultDevice, other: DefaultDevice) -> DefaultDevice:
    """Return the default device that is the one or the other."""
    if one == other:
        return one
    named = [each.expression for each in (one, other) if each.expression is not None]
    devices = one.devices | other.devices
    return DefaultDevice(
        devices,
        # Two ways to write one device: either will do.
        min(named) if len(named) == 2 and len(devices) == 1 else None,
        inherited=one.inherited or other.inherited,
        is_chosen=one.is_chosen or other.is_chosen,
        chosen_by=_choice_of(one, other) or _choice_of(other, one),
    )


def _choice_of(one: DefaultDevice, other: DefaultDevice) -> Place | None:
    """Return what chooses the one device, where that is beside the system's default."""
    is_same = other.chosen_by == one.chosen_by and other.devices == one.devices
    return one.chosen_by if is_same or other.devices == SYSTEM else None


def _one_of(every: list[DefaultDevice]) -> DefaultDevice:
    """Return the default device where one of several is in force, as was chosen at run time."""
    joined = every[0]
    for each in every[1:]:
        joined = _joined(joined, each)
    return replace(joined, may_be_absent=False, is_chosen=len(joined.devices) > 1)


def chosen_defaults(state: State) -> frozenset[Place]:
    """Return the expressions that name the default devices in force; none for the usual one."""
    return frozenset(
        default.expression
        for default in (state.base, *state.seen_by_callee())
        if default.devices != SYSTEM and default.expression is not None
    )
