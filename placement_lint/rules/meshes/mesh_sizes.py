"""The sizes of the axes of a mesh that the program's settings say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.meshes.known_shapes import written_shape
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Mesh
    from placement_lint.rules.context import Context
    from placement_lint.rules.meshes.known_shapes import Shape

_RESHAPING = frozenset({"jax.numpy.reshape", "numpy.reshape"})
_GRID = "jax.experimental.mesh_utils.create_device_mesh"
_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
_MOST_STEPS = 4


def with_known_sizes(mesh: Mesh, ctx: Context) -> Mesh:
    """Return a mesh with the sizes of its axes, where these are numbers of the program's settings.

    `Mesh(np.array(jax.devices()).reshape(config.data, 2), …)`, `jax.make_mesh((config.data,), …)`.
    """
    if mesh.axes is None or mesh.made is None or None not in (mesh.sizes or (None,)):
        return mesh
    made, there = ctx.node_at(mesh.made) or (None, ctx)
    if not isinstance(made, cst.Call):
        return mesh
    name = there.called(made) or ""
    given = Arguments(made).get(0, "devices", "axis_shapes", "axis_sizes")
    sizes: Shape | None = None
    if given is not None and name.endswith(".make_mesh"):
        sizes = written_shape([followed(given, there)], there)
    elif given is not None and name.endswith(".Mesh"):
        sizes = _of_grid(given, there, _MOST_STEPS)
    if sizes is None or len(sizes) != len(mesh.axes):
        return mesh
    # What the interpreter knows is so in this execution.
    known = mesh.sizes or (None,) * len(sizes)
    pairs = zip(known, sizes, strict=False)
    return replace(mesh, sizes=tuple(other if one is None else one for one, other in pairs))


def _of_grid(devices: cst.BaseExpression, ctx: Context, steps: int) -> Shape | None:
    """Return the shape of an array of devices that is reshaped, or made in a shape."""
    written = followed(devices, ctx)
    if not isinstance(written, cst.Call) or not steps:
        return None
    arguments = Arguments(written)
    name = ctx.called(written) or ""
    if name in _ARRAYS:
        first = arguments.get(0, "object", "a")
        return None if first is None else _of_grid(first, ctx, steps - 1)
    shape: list[cst.BaseExpression | None] = []
    if name == _GRID:
        shape = [arguments.get(0, "mesh_shape")]
    elif name in _RESHAPING:
        shape = [arguments.get(1, "newshape", "shape")]
    elif isinstance(written.func, cst.Attribute) and written.func.attr.value == "reshape":
        shape = [*arguments.positional] if not arguments.keywords else []
    given = [each for each in shape if each is not None]
    return written_shape(given, ctx) if given else None
