"""What calls that have to do with shardings were given, each time that they were executed."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.values import Value


class Running(enum.Enum):
    """How code runs."""

    EAGERLY = enum.auto()
    ON_TRACERS = enum.auto()
    """As JAX traces it, though its operations may run one by one all the same."""
    COMPILED = enum.auto()
    """As a part of a compiled program over whole arrays."""


class ShardedCall(NamedTuple):
    """One execution of a call."""

    running: Running
    given: tuple[Value, ...]
    """The arguments that matter: for `NamedSharding` the mesh and the spec, for what puts or
    constrains an array its sharding."""
    meshes: MeshesInForce
    """The meshes in force where it ran."""
    is_on_device: bool = False
    """What is put somewhere surely is in the own memory of devices, or a NumPy array."""


@dataclass
class ShardedCalls:
    """The calls of one module, by node."""

    seen: dict[int, set[ShardedCall]] = field(default_factory=dict)
    compiled: dict[int, set[ShardedCall]] = field(default_factory=dict)
    """Calls of what `jax.jit` made with `in_shardings` or `out_shardings`: these two, then what it
    was given by position, if nothing else."""
    in_force: dict[int, set[MeshesInForce]] = field(default_factory=dict)
    """The meshes in force at calls of what `jax.jit` made on arrays that are on a mesh."""
    on_host_memory: dict[int, set[tuple[tuple[int, Value], ...]]] = field(default_factory=dict)
    """Operations on arrays that are in the memory of the host: for each execution the operands,
    places and values."""

    def saw(
        self,
        node: int,
        running: Running,
        meshes: MeshesInForce,
        *given: Value,
        is_on_device: bool = False,
    ) -> None:
        """Remember what a call was given."""
        seen = ShardedCall(running, given, meshes, is_on_device)
        self.seen.setdefault(node, set()).add(seen)

    def saw_compiled(
        self, node: int, running: Running, meshes: MeshesInForce, *given: Value
    ) -> None:
        """Remember a call of what `jax.jit` made with shardings."""
        self.compiled.setdefault(node, set()).add(ShardedCall(running, given, meshes))

    def saw_on_mesh(self, node: int, meshes: MeshesInForce) -> None:
        """Remember a call of a compiled function on arrays that are on a mesh."""
        self.in_force.setdefault(node, set()).add(meshes)

    def saw_host_memory(self, node: int, operands: Sequence[tuple[int, Value]]) -> None:
        """Remember an operation on an array that is in the memory of the host."""
        self.on_host_memory.setdefault(node, set()).add(tuple(operands))

    def at(self, node: int) -> frozenset[ShardedCall]:
        """Return every execution of a call that was seen; none of one that was not followed."""
        return frozenset(self.seen.get(node, ()))
