"""The state of an abstract execution: variables, and which default device is in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.values import SYSTEM_DEFAULT, Device, Value, join

if TYPE_CHECKING:
    from placement_lint.syntax.names import Scope

Devices: TypeAlias = "frozenset[Device | None]"
"""The devices that one may be; None among them: any other."""

Variable: TypeAlias = "tuple[int, str]"
"""A scope, by id, and a name in it."""

SYSTEM: Devices = frozenset({SYSTEM_DEFAULT})
ANY_DEVICE: Devices = frozenset({None})


@dataclass(frozen=True)
class DefaultDevice:
    """A default device in force: which it may be, and the expression that names it."""

    devices: Devices
    expression: int | None = None


def variable(scope: Scope, name: str) -> Variable:
    """Give the key of a name that a scope owns."""
    return (id(scope), name)


@dataclass
class State:
    """One point of an execution. Copied where ways part, joined where they meet."""

    base: DefaultDevice
    """The default device outside of every block: the system's, or what `config.update` set."""
    blocks: tuple[DefaultDevice, ...] = ()
    """The `with jax.default_device(…)` blocks around, innermost last."""
    variables: dict[Variable, Value] = field(default_factory=dict)

    def copy(self) -> State:
        """Give a state that can go another way."""
        return State(self.base, self.blocks, dict(self.variables))

    @property
    def default(self) -> DefaultDevice:
        """The default device in force."""
        return self.blocks[-1] if self.blocks else self.base


def meet(states: list[State | None], blocks: tuple[DefaultDevice, ...]) -> State | None:
    """Join the states of all ways that lead to one point, inside the given blocks.

    A name that is unbound on one way is judged by the others: reading it there raises NameError.
    """
    alive = [state for state in states if state is not None]
    if not alive:
        return None
    first = alive[0]
    if len(alive) == 1:
        return State(first.base, blocks, first.variables)
    variables = dict(first.variables)
    base = first.base
    for state in alive[1:]:
        for key, held in state.variables.items():
            before = variables.get(key)
            if before is None:
                variables[key] = held
            elif before is not held and before != held:
                variables[key] = join(before, held)
        if state.base != base:
            base = DefaultDevice(base.devices | state.base.devices)
    return State(base, blocks, variables)
