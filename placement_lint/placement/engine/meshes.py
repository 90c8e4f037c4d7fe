"""The attributes of meshes, specs and shardings, the constants of JAX that they are made of, and
the arrays of devices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.keys import Member
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.mesh_devices import MeshDevices
from placement_lint.placement.domain.sharding import (
    AxisType,
    DeviceGrid,
    Memory,
    Mesh,
    Sharding,
    Spec,
)
from placement_lint.placement.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Array,
    Plain,
    Sequence,
    TheDevice,
    Value,
    join,
    sole,
    value,
)
from placement_lint.syntax.calls import integer_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from placement_lint.placement.domain.library_values import AbstractArray
    from placement_lint.placement.domain.values import Atom
    from placement_lint.syntax.calls import Arguments
    from placement_lint.syntax.names import Names

    ValueOf: TypeAlias = Callable[[cst.BaseExpression], Value]
    """Evaluates an expression once more, where it is passed to a call."""

_AXIS_TYPES = {
    f"jax.sharding.{cls}.{name}": axis_type
    for cls in ("AxisType", "AxisTypes")
    for name, axis_type in (("Auto", AxisType.AUTO), ("Explicit", AxisType.EXPLICIT))
}
_MOST_ROWS = 64
_MEMORIES = {"device": Memory.DEVICE, "pinned_host": Memory.PINNED}
_SPACES = {
    "jax.memory.Space.Device": value(Sharding(memory=Memory.DEVICE)),
    "jax.memory.Space.Host": value(Sharding(memory=Memory.PINNED)),
}


def constant(qualified: str) -> Value:
    """Return what a constant of a library is: of the types of axes, or of memories, which one."""
    if qualified in _AXIS_TYPES:
        return value(Plain(member=Member(qualified)))
    return _SPACES.get(qualified, PLAIN)


def axis_type(atom: Atom | None) -> AxisType | None:
    """Return the type of axes that a value is; None where it is none, or not known."""
    if not isinstance(atom, Plain) or atom.member is None:
        return None
    return _AXIS_TYPES.get(atom.member.name)


def shardings_of(held: Value) -> Value:
    """Return the attribute `sharding` of the arrays in a value."""
    arrays = [atom for atom in held if isinstance(atom, Array)]
    return frozenset(Plain() if array.sharding is None else array.sharding for array in arrays)


def described_by(described: AbstractArray, name: str) -> Value:
    """Return an attribute of the description of an array."""
    if name != "sharding":
        return PLAIN
    if described.sharding is not None:
        return value(described.sharding)
    return value(*(TheDevice(device) for device in described.devices))


def memory_of(kind: Value) -> Memory | None:
    """Return the memory that a `memory_kind` names; None where it is not known which."""
    only = sole(kind)
    if kind == NONE:
        return Memory.DEVICE
    return _MEMORIES.get(only.text or "") if isinstance(only, Plain) else None


def in_memory(atom: Atom, memory: Memory | None) -> Sharding:
    """Return what `sharding.with_memory_kind(kind)` gives."""
    return (atom if isinstance(atom, Sharding) else Sharding()).in_memory(memory)


def mesh_attribute(atom: Mesh | Sharding | Spec, name: str) -> Value:
    """Read an attribute of a mesh, a spec or a sharding."""
    if isinstance(atom, Mesh) and name == "devices":
        return value(DeviceGrid(atom.devices, atom.sizes))
    if isinstance(atom, Mesh) and name == "abstract_mesh":
        return value(replace(atom, devices=None))
    if isinstance(atom, Mesh) and name == "axis_names" and atom.axes is not None:
        names = tuple(value(Plain(axis)) for axis in atom.axes)
        return value(Sequence(names, join(*names) if names else PLAIN))
    if isinstance(atom, Sharding) and atom.is_named:
        part = {"mesh": atom.mesh, "spec": atom.spec}.get(name)
        if part is not None:
            return value(part)
    return UNKNOWN


def grid_of(held: Value) -> DeviceGrid | None:
    """Return the devices in a value, as an array of them; None where it is something else.

    A list of devices is one of one dimension; what is nested is as its author wrote it.
    """
    only = sole(held)
    if isinstance(only, DeviceGrid):
        return only
    grids = [atom for atom in held if isinstance(atom, DeviceGrid)]
    if grids and len(grids) == len(held):
        return _either(grids)
    if isinstance(only, DeviceList):
        some = MeshDevices(only.platform, only.part, is_local=only.is_local)
        return DeviceGrid(some, (_asked_for(only),))
    if not isinstance(only, Sequence) or not only.items:
        return None
    rows = [grid_of(item) if _is_row(item) else _one(item) for item in only.items]
    if None in rows:
        return None
    known = [row for row in rows if row is not None]
    shapes = {row.shape for row in known}
    listed = [None if row.devices is None else row.devices.listed for row in known]
    platforms = {row.devices.platform for row in known if row.devices is not None}
    devices = None
    if None not in listed and len(platforms) == 1:
        every = tuple(index for indices in listed for index in indices or ())
        devices = MeshDevices(platforms.pop(), listed=every, number=len(every))
    shape = shapes.pop() if len(shapes) == 1 else None
    return DeviceGrid(devices, None if shape is None else (len(known), *shape))


def _either(grids: list[DeviceGrid]) -> DeviceGrid:
    """Return what is so of each of several arrays of devices: for one slice, or for several."""
    shapes = [grid.shape for grid in grids if grid.shape is not None]
    shape = None
    if len(shapes) == len(grids) and len({*map(len, shapes)}) == 1:
        along = zip(*shapes, strict=True)
        shape = tuple(sizes[0] if len({*sizes}) == 1 else None for sizes in along)
    unordered = {
        None
        if grid.devices is None
        else replace(grid.devices, is_arranged=True, arranged_as=None, number=None)
        for grid in grids
    }
    devices = unordered.pop() if len(unordered) == 1 else None
    numbers = {None if grid.devices is None else grid.devices.number for grid in grids}
    if devices is not None and len(numbers) == 1:
        devices = replace(devices, number=numbers.pop())
    return DeviceGrid(devices, shape)


def _asked_for(devices: DeviceList) -> int | None:
    """Return how many devices a list is meant to have: `jax.devices()[:8]`, or `[4:8]` of them."""
    start, stop, step = devices.part
    first = start or 0
    if stop is None or not 0 <= first < stop or step not in {None, 1}:
        return None
    return stop - first


def _is_row(held: Value) -> bool:
    return not isinstance(sole(held), TheDevice)


def _one(held: Value) -> DeviceGrid:
    """Return a device as an array without dimensions."""
    only = sole(held)
    device = only.device if isinstance(only, TheDevice) else None
    if not isinstance(device, Device) or device.index is None:
        return DeviceGrid(None, ())
    return DeviceGrid(MeshDevices(device.platform, listed=(device.index,), number=1), ())


def reshaped(grid: DeviceGrid, shape: tuple[int | None, ...] | None) -> DeviceGrid:
    """Return devices in another shape; None in it for what is not known or -1."""
    devices = grid.devices
    if shape is None or any(size is not None and size < 0 for size in shape):
        sizes = shape and tuple(None if size is None or size < 0 else size for size in shape)
        return DeviceGrid(devices, sizes)
    sizes = tuple(size for size in shape if size is not None)
    if devices is not None and len(sizes) == len(shape):
        devices = replace(devices, number=math.prod(sizes))
    return DeviceGrid(devices, shape)


def rows_of(grid: DeviceGrid) -> list[DeviceGrid] | None:
    """Return the parts of an array of devices along its first dimension, the whole shape of which
    is known; None where it is not known which devices each of them has.
    """
    if grid.devices is None or grid.shape is None or len(grid.shape) < 2:
        return None
    sizes = [size for size in grid.shape if size is not None]
    if len(sizes) < len(grid.shape) or sizes[0] > _MOST_ROWS:
        return None
    each = math.prod(sizes[1:])
    found: list[DeviceGrid] = []
    for row in range(sizes[0]):
        devices = grid.devices.sliced((row * each, (row + 1) * each, None))
        if devices is None:
            return None
        found.append(DeviceGrid(replace(devices, number=each), tuple(sizes[1:])))
    return found


def grid_method(
    grid: DeviceGrid, name: str, arguments: Arguments, names: Names, of: ValueOf
) -> Value:
    """Return what a method of an array of devices gives."""
    if name == "reshape":
        known = not arguments.is_open and not arguments.keywords.keys() - {"newshape", "shape"}
        shape = arguments.get(None, "newshape", "shape")
        given = arguments.positional or ([] if shape is None else [shape])
        return value(reshaped(grid, shape_of(given, names, of) if known and given else None))
    if name in {"flatten", "ravel"}:
        return value(DeviceGrid(grid.devices, (None,)))
    if name in {"transpose", "swapaxes", "squeeze"}:
        return value(DeviceGrid(None))
    return UNKNOWN


def shape_of(
    given: list[cst.BaseExpression], names: Names, of: ValueOf
) -> tuple[int | None, ...] | None:
    """Return a shape that is passed as one tuple, or as several numbers; None: how many of them
    there are is not known.

    `of`: what an expression is now, which says more of one that is not written out.
    """
    if len(given) == 1:
        only = _followed(given[0], names)
        if isinstance(only, cst.Tuple | cst.List):
            given = [element.value for element in only.elements]
            if any(isinstance(element, cst.StarredElement) for element in only.elements):
                return None
        elif _number(only, names, of) is None:
            held = sole(of(given[0]))
            if not isinstance(held, Sequence) or held.items is None:
                return None
            return tuple(map(number_of, held.items))
    return tuple(_number(each, names, of) for each in given)


def _number(node: cst.BaseExpression, names: Names, of: ValueOf) -> int | None:
    """Return the number that an expression is; None where it is none, or not known."""
    written = integer_value(_followed(node, names))
    return number_of(of(node)) if written is None else written


def number_of(held: Value) -> int | None:
    """Return the whole number that a value is; None where it is none, or not known."""
    only = sole(held)
    return only.number if isinstance(only, Plain) else None


def _followed(node: cst.BaseExpression, names: Names) -> cst.BaseExpression:
    """Return what a name stands for that is bound once."""
    if isinstance(node, cst.Name):
        bound = names.sole_value(node)
        return node if bound is None else bound
    return node
