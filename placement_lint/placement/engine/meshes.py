"""The attributes of meshes, specs and shardings, and the constants of JAX that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.keys import Member
from placement_lint.placement.domain.sharding import AxisType, Mesh, Sharding, Spec
from placement_lint.placement.domain.values import (
    PLAIN,
    UNKNOWN,
    Array,
    Plain,
    Sequence,
    Value,
    join,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Atom

_AXIS_TYPES = {
    f"jax.sharding.{cls}.{name}": axis_type
    for cls in ("AxisType", "AxisTypes")
    for name, axis_type in (("Auto", AxisType.AUTO), ("Explicit", AxisType.EXPLICIT))
}


def constant(qualified: str) -> Value:
    """Return what a constant of a library is: of the types of axes, which one."""
    if qualified in _AXIS_TYPES:
        return value(Plain(member=Member(qualified)))
    return PLAIN


def axis_type(atom: Atom | None) -> AxisType | None:
    """Return the type of axes that a value is; None where it is none, or not known."""
    if not isinstance(atom, Plain) or atom.member is None:
        return None
    return _AXIS_TYPES.get(atom.member.name)


def shardings_of(held: Value) -> Value:
    """Return the attribute `sharding` of the arrays in a value."""
    arrays = [atom for atom in held if isinstance(atom, Array)]
    return frozenset(Plain() if array.sharding is None else array.sharding for array in arrays)


def mesh_attribute(atom: Mesh | Sharding | Spec, name: str) -> Value:
    """Read an attribute of a mesh, a spec or a sharding."""
    if isinstance(atom, Mesh) and name == "axis_names" and atom.axes is not None:
        names = tuple(value(Plain(axis)) for axis in atom.axes)
        return value(Sequence(names, join(*names) if names else PLAIN))
    if isinstance(atom, Sharding) and atom.is_named:
        part = {"mesh": atom.mesh, "spec": atom.spec}.get(name)
        if part is not None:
            return value(part)
    return UNKNOWN
