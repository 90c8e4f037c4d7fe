"""JDP703."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.configured import whole_number
from placement_lint.rules.meshes.shardings import calls_at, made_at
from placement_lint.rules.transfers.array_sizes import is_numpy_sampler, sampled_size
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Mesh, Part
    from placement_lint.rules.context import Context

_PUT = "jax.device_put"
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.ValueError",
})  # fmt: skip
_SHAPED = {
    **{
        f"{package}.{name}": 0
        for package in ("jax.numpy", "numpy")
        for name in ("empty", "full", "ones", "zeros")
    },
    "jax.random.normal": 1,
    "jax.random.uniform": 1,
}
"""Functions that make one array, and the position of its shape."""
_BY_SIZES = frozenset({"numpy.random.rand", "numpy.random.randn"})
"""Functions of which each argument is a size."""
_MOST_STEPS = 4


class ShardingDoesNotFit(Rule):
    """A sharding that does not fit the shape of the array.

    ## What it does
    Finds `jax.device_put(x, NamedSharding(mesh, spec))` if the shape of the array, the sizes of the
    mesh and the spec are known, and a dimension cannot be split into as many equal parts as the
    spec says, or the spec has more entries than the array has dimensions. The sizes of a mesh may
    be numbers that are passed to what makes it, `get_mesh(data=2, model=4)`, or fields of a
    dataclass of settings that are set once. A mesh of `jax.devices()[:8]` is taken to have eight.

    ## Why is this bad?
    JAX raises ValueError: "the global size of its dimension 0 should be divisible by 4", or "is
    only valid for values of rank at least 2". All entries of a spec count, so
    `PartitionSpec("data", None)` does not fit a vector, such as the labels of images.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("data", None))
    labels = jax.device_put(np.zeros(64), by_row)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    labels = jax.device_put(np.zeros(64), by_row)
    ```

    ## Fix safety
    No fix: only the author knows whether to pad the array or to split it differently.

    ## What it does not flag
    Shapes, sizes of meshes and specs that are not known, such as a mesh over `jax.devices()`, whose
    number is unknown; trees of arrays; names that are assigned more than once; constraints inside
    compiled functions, which pad; an exception that is expected or caught.

    ## Verified by
    The proof puts an array of 6 rows to a sharding that splits them into 4 parts, which raises
    ValueError. An array of 8 rows is split.

    ## References
    - [jax.sharding.NamedSharding](https://docs.jax.dev/en/latest/jax.sharding.html)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP703", "sharding-does-not-fit"
    advice = "Pad the array, or write a spec for its shape"
    severity = Severity.ERROR
    follows_callers = True
    needs = AllOf(Jax(), Uses(_PUT))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, _PUT):
            return
        arguments = Arguments(node)
        given = arguments.get(0, "x")
        if given is None or arguments.is_open or arguments.get(1, "device") is None:
            return
        shape = _shape(given, ctx)
        # What is asked last has the file interpreted.
        if shape is None or not (calls := calls_at(node, ctx)):
            return
        problems = [
            (_problem(shape, atom, ctx), atom) if isinstance(atom, Sharding) else (None, None)
            for call in calls
            for atom in call.given[0]
        ]
        known = [
            (problem, sharding)
            for problem, sharding in problems
            if problem is not None and sharding is not None
        ]
        if not known or len(known) < len(problems):
            return
        if not is_asserted_to_fail(node, ctx) and not is_caught(node, ctx, _CAUGHT):
            first, sharding = min(known, key=lambda each: each[0])
            ctx.report(node, first, related=made_at(node, ctx, sharding))


_Shape = tuple[int | None, ...]


def _shape(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> _Shape | None:
    """Return the shape of the array that an expression makes; None where that is not known."""
    node = followed(node, ctx)
    if not isinstance(node, cst.Call) or not steps:
        return None
    arguments = Arguments(node)
    if arguments.is_open:
        return None
    position = _SHAPED.get(ctx.called(node) or "")
    if position is not None:
        written = arguments.get(position, "shape")
        return None if written is None else _written([written], ctx)
    if is_numpy_sampler(node, ctx):
        size = sampled_size(node, ctx)
        # `choice` gives rows, of an array that has more dimensions than one.
        return None if size is None or said(node.func) == "choice" else _written([size], ctx)
    if ctx.called(node) in _BY_SIZES:
        return _written(arguments.positional, ctx) if arguments.positional else None
    function = node.func
    if not isinstance(function, cst.Attribute) or arguments.keywords:
        return None
    if function.attr.value == "reshape":
        sizes = _written(arguments.positional, ctx)
        # It is an array of which the numbers are known, and no list of devices.
        return sizes if _is_array(function.value, ctx) else None
    return _shape(function.value, ctx, steps - 1) if function.attr.value == "astype" else None


def _is_array(node: cst.BaseExpression, ctx: Context) -> bool:
    name = ctx.called(followed(node, ctx)) or ""
    return name.startswith(("jax.numpy.", "jax.random.", "numpy."))


def _written(given: list[cst.BaseExpression], ctx: Context) -> _Shape | None:
    """Return a shape that is written as a tuple or as numbers, None in it for what is not known."""
    if len(given) == 1:
        only = followed(given[0], ctx)
        if isinstance(only, cst.Tuple):
            given = [element.value for element in only.elements]
            if any(isinstance(element, cst.StarredElement) for element in only.elements):
                return None
        elif whole_number(only, ctx) is None:
            return None
    sizes = [whole_number(each, ctx) for each in given]
    return tuple(None if size is None or size < 0 else size for size in sizes)


def _problem(shape: _Shape, sharding: Sharding, ctx: Context) -> str | None:
    """Return why an array of a shape cannot be put to a sharding; None where it perhaps can."""
    spec, mesh = sharding.spec, sharding.mesh
    if not sharding.is_named or spec is None or spec.parts is None:
        return None
    if len(spec.parts) > len(shape):
        return (
            f"{spec} is for {len(spec.parts)} dimension{'s' * (len(spec.parts) > 1)}, and the "
            f"array has {len(shape)}: ValueError"
        )
    mesh = None if mesh is None else _configured(mesh, ctx)
    for position, (part, size) in enumerate(zip(spec.parts, shape, strict=False)):
        ways = None if mesh is None else _ways(part, mesh)
        if size and ways and size % ways:
            text = ", ".join("…" if each is None else str(each) for each in shape)
            text += "," * (len(shape) == 1)
            return (
                f"dimension {position} of an array of shape ({text}) cannot be split {ways} ways, "
                f"as {spec} says over the mesh {mesh}: ValueError"
            )
    return None


def _configured(mesh: Mesh, ctx: Context) -> Mesh:
    """Return a mesh with the sizes of its axes, where these are numbers of the program's settings.

    `Mesh(np.array(jax.devices()).reshape(config.data, 2), …)`, `jax.make_mesh((config.data,), …)`.
    """
    if mesh.axes is None or mesh.made is None or None not in (mesh.sizes or (None,)):
        return mesh
    there = ctx.beside(mesh.made.module)
    made = None if there is None else there.tree.nodes[mesh.made.node]
    if there is None or not isinstance(made, cst.Call):
        return mesh
    name = there.called(made) or ""
    given = Arguments(made).get(0, "devices", "axis_shapes", "axis_sizes")
    if given is None or not name.endswith((".Mesh", ".make_mesh")):
        return mesh
    written = followed(given, there)
    sizes: _Shape | None = None
    if name.endswith(".make_mesh"):
        sizes = _written([written], there)
    elif isinstance(written, cst.Call) and isinstance(written.func, cst.Attribute):
        is_reshaped = written.func.attr.value == "reshape" and not Arguments(written).keywords
        sizes = _written(Arguments(written).positional, there) if is_reshaped else None
    if sizes is None or len(sizes) != len(mesh.axes):
        return mesh
    return replace(mesh, sizes=sizes)


def _ways(part: Part, mesh: Mesh) -> int | None:
    """Return how many ways one dimension is split; None where that is not known."""
    axes = (part,) if isinstance(part, str) else part
    if not isinstance(axes, tuple) or mesh.axes is None or mesh.sizes is None:
        return None
    sizes = dict(zip(mesh.axes, mesh.sizes, strict=False))
    known = [size for axis in axes if (size := sizes.get(axis)) is not None]
    return math.prod(known) if len(known) == len(axes) else None
