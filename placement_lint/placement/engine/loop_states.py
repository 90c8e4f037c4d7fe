"""What holds at the head of a loop, and where it is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.state import DefaultDevice, State, Variable
    from placement_lint.placement.domain.values import Value


@dataclass
class LoopExits:
    """The ways out of one loop."""

    breaks: list[State | None] = field(default_factory=list)
    continues: list[State | None] = field(default_factory=list)
    repeats: bool = True
    """Its body is executed until nothing changes any more, and not once for each item."""


@dataclass
class LoopHead:
    """What holds at the head of a loop, as far as that differs from where it is entered."""

    base: DefaultDevice
    blocks: tuple[DefaultDevice, ...]
    meshes: MeshesInForce
    changed: dict[Variable, Value]

    @classmethod
    def of(cls, head: State, entered: State) -> LoopHead:
        """Return what holds at the head of a loop that is entered so."""
        changed = {
            key: there
            for key in head.variables.differences(entered.variables)
            if (there := head.variables.get(key)) is not None
        }
        return cls(head.base, head.blocks, head.meshes, changed)


def are_under_the_same(one: State, other: State) -> bool:
    """Return whether the same default devices and meshes are in force in two states."""
    return (one.base, one.blocks, one.meshes) == (other.base, other.blocks, other.meshes)


def are_equal(one: State, other: State) -> bool:
    """Return whether the same holds in two states."""
    return are_under_the_same(one, other) and one.variables.equals(other.variables)
