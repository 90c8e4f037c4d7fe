"""The state of an abstract execution: variables, and which default device is in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.values import SYSTEM_DEFAULT, Device, Place, Value, join

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from placement_lint.syntax.names import Scope

Devices: TypeAlias = "frozenset[Device | None]"
"""The devices that one may be; None among them: any other."""

Variable: TypeAlias = "tuple[Hashable, str]"
"""A scope (by id) or an object, and the name of a variable or an attribute of it."""

SYSTEM: Devices = frozenset({SYSTEM_DEFAULT})
ANY_DEVICE: Devices = frozenset({None})


@dataclass(frozen=True)
class DefaultDevice:
    """A default device in force: which it may be, and the expression that names it."""

    devices: Devices
    expression: Place | None = None
    inherited: bool = False
    """It was set by a caller: the names in the expression mean nothing here."""

    def for_callee(self) -> DefaultDevice:
        """Give what a function that is called now sees of it."""
        return DefaultDevice(self.devices, self.expression, inherited=True)


def variable(scope: Scope, name: str) -> Variable:
    """Give the key of a name that a scope owns."""
    return (id(scope), name)


class _Layer:
    """Variables that no longer change, on top of others."""

    __slots__ = ("below", "is_entry", "own")

    def __init__(
        self, own: dict[Variable, Value], below: _Layer | None, *, is_entry: bool = False
    ) -> None:
        # Layers of like size are merged, so that there are few: log n for n assignments.
        while below is not None and not below.is_entry and len(below.own) <= 2 * len(own):
            own = below.own | own
            below = below.below
        self.own: dict[Variable, Value] = own
        self.below: _Layer | None = below
        self.is_entry: bool = is_entry


class Variables:
    """A mapping that is copied in constant time, and compared and joined by what has changed."""

    __slots__ = ("_base", "_own")

    def __init__(self, base: _Layer | None = None) -> None:
        """Begin empty, or on top of a frozen layer."""
        self._own: dict[Variable, Value] = {}
        self._base = base

    def get(self, key: Variable) -> Value | None:
        """Give what a variable holds; None for one that is not bound."""
        held = self._own.get(key)
        layer = self._base
        while held is None and layer is not None:
            held = layer.own.get(key)
            layer = layer.below
        return held

    def __setitem__(self, key: Variable, held: Value) -> None:
        """Bind a variable."""
        self._own[key] = held

    def freeze(self) -> _Layer | None:
        """Give all that is bound now, as a layer that further assignments leave alone."""
        if self._own:
            self._base = _Layer(self._own, self._base)
            self._own = {}
        return self._base

    def copy(self) -> Variables:
        """Give a mapping that can change on its own."""
        return Variables(self.freeze())

    def enter(self) -> tuple[Variables, _Layer]:
        """Give a copy for a function that is called now, and what `changes` is to count from."""
        entry = _Layer({}, self.freeze(), is_entry=True)
        return Variables(entry), entry

    def changes(self, since: _Layer | None) -> dict[Variable, Value]:
        """Give what was bound after a layer was frozen."""
        found = dict(self._own)
        layer = self._base
        while layer is not None and layer is not since:
            for key, held in layer.own.items():
                found.setdefault(key, held)
            layer = layer.below
        return found

    def _layers(self) -> Iterator[_Layer]:
        layer = self.freeze()
        while layer is not None:
            yield layer
            layer = layer.below

    @staticmethod
    def joined(every: list[Variables]) -> Variables:
        """Give what holds where several ways meet.

        A variable that is unbound on one of them is judged by the others: reading it there raises.
        """
        shared = _shared(every)
        result = Variables(shared)
        keys: dict[Variable, None] = {}
        for variables in every:
            keys.update(dict.fromkeys(variables.changes(shared)))
        for key in keys:
            held = [found for v in every if (found := v.get(key)) is not None]
            first = held[0]
            same = all(other is first or other == first for other in held)
            result._own[key] = first if same else join(*held)
        return result

    def differences(self, other: Variables) -> list[Variable]:
        """Give the variables that two mappings hold different values of."""
        shared = _shared([self, other])
        keys = dict.fromkeys([*self.changes(shared), *other.changes(shared)])
        return [key for key in keys if self.get(key) != other.get(key)]

    def equals(self, other: Variables) -> bool:
        """Tell whether two mappings hold the same."""
        return not self.differences(other)


def _shared(every: list[Variables]) -> _Layer | None:
    """Give a layer that all of these stand on, searched from the top: it is near."""
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

    def copy(self) -> State:
        """Give a state that can go another way."""
        return State(self.base, self.blocks, self.variables.copy())

    @property
    def default(self) -> DefaultDevice:
        """The default device in force."""
        return self.blocks[-1] if self.blocks else self.base


def meet(states: Iterable[State | None], blocks: tuple[DefaultDevice, ...]) -> State | None:
    """Join the states of all ways that lead to one point, inside the given blocks."""
    alive = [state for state in states if state is not None]
    if not alive:
        return None
    first = alive[0]
    if len(alive) == 1:
        return State(first.base, blocks, first.variables)
    base = first.base
    for state in alive[1:]:
        if state.base != base:
            base = DefaultDevice(base.devices | state.base.devices)
    return State(base, blocks, Variables.joined([state.variables for state in alive]))
