"""Which meshes are in force: what a bare `PartitionSpec` is for.

There are two kinds, which JAX keeps apart (measured on 0.5.3 to 0.12.0.1): that of
`jax.set_mesh(mesh)`, which all take that accept a spec, and that of `with mesh:`, which a sharding
constraint takes where none is set.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.one_of_equal import OneOfEqual

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Mesh


class MeshSource(enum.Enum):
    """Where a mesh comes from that nothing in the program entered."""

    OUTSIDE = enum.auto()
    """Nothing was entered: there is the one, or none, of whatever called the program's code."""
    NOWHERE = enum.auto()
    """There surely is none: nothing was entered since a module, or a thread, was started."""
    LEFT = enum.auto()
    """Beside NOWHERE, or in the place of OUTSIDE: where this was made or started there was one."""
    THREAD = enum.auto()
    """Beside NOWHERE: in a thread of the program. What sets one elsewhere, even by a statement of
    its own, sets it for its own thread only (measured on 0.10.2)."""
    UNKNOWN = enum.auto()


Meshes: TypeAlias = "frozenset[Mesh | MeshSource]"
"""Which mesh may be in force."""

_OUTSIDE: Meshes = frozenset({MeshSource.OUTSIDE})
_LEFT: Meshes = frozenset({MeshSource.LEFT})
_NONE: Meshes = frozenset({MeshSource.NOWHERE, MeshSource.LEFT})
_IN_THREAD: Meshes = _NONE | {MeshSource.THREAD}
_UNKNOWN: Meshes = frozenset({MeshSource.UNKNOWN})
_MOST = 4
"""Meshes of which one may be in force; of more nothing is known."""


@dataclass(frozen=True, eq=False)
class MeshesInForce(metaclass=OneOfEqual):
    """The meshes that are in force at a point of an execution."""

    by_set: Meshes = _OUTSIDE
    """That of `jax.set_mesh` or `jax.sharding.use_mesh`."""
    by_with: Meshes = _OUTSIDE
    """That of `with mesh:`."""

    @property
    def is_entered(self) -> bool:
        """Whether the program itself has a mesh in force, or may have."""
        return any(atom is not MeshSource.OUTSIDE for atom in (*self.by_set, *self.by_with))

    def in_thread(self) -> MeshesInForce:
        """Return what a thread sees that is started here."""
        if not self.is_entered:
            return self
        return MeshesInForce(_in_thread(self.by_set), _in_thread(self.by_with))

    def since_start(self) -> MeshesInForce:
        """Return them where the code is reached from the start of a module."""
        return MeshesInForce(_since_start(self.by_set), _since_start(self.by_with))


@dataclass(frozen=True)
class MeshChange:
    """What a context manager does to the meshes in force; None: nothing."""

    by_set: Meshes | None = None
    by_with: Meshes | None = None

    def applied(self, now: MeshesInForce) -> MeshesInForce:
        """Return the meshes in force inside."""
        return MeshesInForce(
            now.by_set if self.by_set is None else self.by_set,
            now.by_with if self.by_with is None else self.by_with,
        )


NOT_ENTERED = MeshesInForce()
ANY_MESHES = MeshesInForce(_UNKNOWN, _UNKNOWN)
LEFT_BEHIND = MeshesInForce(_LEFT, _LEFT)
ANY_CHANGE = MeshChange(_UNKNOWN, _UNKNOWN)
ANY_MESH_BY_WITH = MeshChange(by_with=_UNKNOWN)
"""That of `with mesh:`, where nothing more is known of the mesh."""


def change_between(outside: MeshesInForce, inside: MeshesInForce) -> MeshChange | None:
    """Return what leads from the one to the other; None: nothing has to."""
    if inside == outside:
        return None
    return MeshChange(
        None if inside.by_set == outside.by_set else inside.by_set,
        None if inside.by_with == outside.by_with else inside.by_with,
    )


def met(one: MeshesInForce, other: MeshesInForce) -> MeshesInForce:
    """Return the meshes in force where two ways meet."""
    if one == other:
        return one
    return MeshesInForce(_either(one.by_set, other.by_set), _either(one.by_with, other.by_with))


def left(outside: MeshesInForce, inside: MeshesInForce, now: MeshesInForce) -> MeshesInForce:
    """Return the meshes in force behind a `with`.

    Leaving it restores what entering it has changed; what was set since then, and not by it, stays.
    """
    if inside == outside:
        return now
    return replace(
        now,
        by_set=now.by_set if inside.by_set == outside.by_set else outside.by_set,
        by_with=now.by_with if inside.by_with == outside.by_with else outside.by_with,
    )


def either(meshes: frozenset[Mesh | MeshSource]) -> Meshes:
    """Return which mesh may be in force: one of several."""
    is_known = bool(meshes) and MeshSource.UNKNOWN not in meshes and len(meshes) <= _MOST
    return meshes if is_known else _UNKNOWN


def _either(one: Meshes, other: Meshes) -> Meshes:
    return either(one | other)


def is_none(meshes: Meshes) -> bool:
    """Return whether no mesh is in force, surely."""
    return MeshSource.NOWHERE in meshes and meshes <= _IN_THREAD


def _in_thread(meshes: Meshes) -> Meshes:
    if meshes == _OUTSIDE:
        return frozenset({MeshSource.NOWHERE})
    return _NONE if meshes == _UNKNOWN else _IN_THREAD


def _since_start(meshes: Meshes) -> Meshes:
    if MeshSource.OUTSIDE in meshes or MeshSource.LEFT in meshes:
        return meshes - _OUTSIDE | {MeshSource.NOWHERE}
    return meshes
