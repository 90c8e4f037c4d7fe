"""JDP713."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.placement.domain.sharding import AxisType
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.prefilter.mesh_names import NAMES_MESHES
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.constraints import (
    CONSTRAINT,
    constraints_in,
    may_be_set,
    meshes_of_some,
)
from placement_lint.rules.meshes.shardings import Auto, is_auto, made_at, may_split
from placement_lint.rules.meshes.single_arrays import sharding_of
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import integer_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.rules.context import Context

_REFUSED_SINCE = "0.7.1"
_SHARDED = frozenset({TraceKind.SHARDED})
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.TypeError", "builtins.ValueError",
})  # fmt: skip


class ExplicitMeshMisused(Rule):
    """A `with_sharding_constraint`, or an index, along an Explicit axis of a mesh.

    ## What it does
    Finds `jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))` if the spec names an axis
    that the program makes Explicit, as in `jax.make_mesh(shape, names,
    axis_types=(AxisType.Explicit, …))`, wherever in the program the mesh is made. And indices,
    such as `x[0]` and `x[4:]`, of arrays that are certainly split along such an axis in that
    dimension.

    ## Why is this bad?
    A constraint is a hint to the compiler. Along an Explicit axis the compiler decides nothing: the
    types of the arrays determine how they are split. JAX raises ValueError, "can only refer to Auto
    axes of the mesh". What an index takes of a dimension that is split has no type of its own:
    since 0.7.1 JAX raises ShardingTypeError.

    ## Example
    ```python
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Explicit,))

    @jax.jit
    def forward(params, batch):
        hidden = batch @ params
        return jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, PartitionSpec("data")))
    ```

    ## Use instead
    ```python
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Explicit,))

    @jax.jit
    def forward(params, batch):
        hidden = batch @ params
        return jax.sharding.reshard(hidden, NamedSharding(mesh, PartitionSpec("data")))
    ```

    `jax.sharding.reshard` accepts arrays that are on the mesh. An index says how its result is
    split: `x.at[0].get(out_sharding=NamedSharding(mesh, PartitionSpec()))`. Under `jax.set_mesh`
    the spec is enough. If the compiler should decide, make the axes Auto.

    ## Fix safety
    No fix: only the author knows which of the two is meant.

    ## What it does not flag
    Constraints along the Auto axes of a mesh that has both; a spec without axes, such as
    `PartitionSpec()`; meshes with unknown axis types; meshes of `jax.make_mesh` without
    `axis_types` (JDP712). Constraints that may run under `jax.set_mesh`, where they assert how an
    array is split. Bodies of `jax.shard_map`, where axes are Manual. Indices of a dimension that is
    not split, and slices from its start, which may take all. An exception that is expected or
    caught.

    ## Verified by
    The proof constrains an array along an Explicit axis of a mesh of eight devices, which raises
    ValueError. With `reshard` it is split.

    ## References
    - [Explicit sharding](https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html)
    - [AI-Hypercomputer/maxtext#4208](https://github.com/AI-Hypercomputer/maxtext/pull/4208): the
      assertion under `jax.set_mesh`
    - Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP713", "explicit-mesh-misused"
    advice = "Use `jax.sharding.reshard`, or make the axes of the mesh Auto"
    severity = Severity.ERROR
    follows_callers = True
    needs = AllOf(Jax(), NAMES_MESHES, AnyOf(Uses(CONSTRAINT), b"Explicit"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, CONSTRAINT):
            return
        if is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        if ctx.module.fact(TracedFunctions).around(node, _SHARDED) is not None:
            return
        calls = ctx.module.fact(constraints_in).get(node, set())
        meshes = meshes_of_some(node, calls, AxisType.EXPLICIT, ctx)
        if meshes and not may_be_set(calls, ctx):
            ctx.report(
                node,
                "jax.lax.with_sharding_constraint along an Explicit axis of the mesh "
                f"{min(map(str, meshes))} raises ValueError",
                related=made_at(node, ctx, min(meshes, key=str)),
            )

    def visit_Subscript(self, node: cst.Subscript, ctx: Context) -> None:
        if not may_split(ctx) or not ctx.target.all_reach(_REFUSED_SINCE):
            return
        cut = [place for place, each in enumerate(node.slice) if _takes_some(each.slice, ctx)]
        every = (
            isinstance(each.slice, cst.Slice) or place in cut
            for place, each in enumerate(node.slice)
        )
        if not cut or not all(every):
            # An ellipsis or `None` among them: which dimension an index is for is not counted.
            return
        sharding = _split_along(ctx, node.value, cut)
        if sharding is None or ctx.flow.is_traced(node):
            return
        if is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        # Only what has something to report needs it.
        from placement_lint.rules.meshes.whole_arrays import is_asked_to_be_whole

        if is_asked_to_be_whole(node, ctx):
            return
        ctx.report(
            node,
            f"indexing a dimension that is split along an Explicit axis, of the {sharding}, raises "
            "ShardingTypeError: use `x.at[…].get(out_sharding=…)`",
            related=made_at(node, ctx, sharding),
        )


def _takes_some(index: cst.BaseSlice, ctx: Context) -> bool:
    """Return whether an index takes a part of a dimension, whatever its size is."""
    if isinstance(index, cst.Index):
        loop = ctx.names.sole_definition(index.value) if isinstance(index.value, cst.Name) else None
        is_counted = isinstance(loop, cst.For) and ctx.is_call(loop.iter, "builtins.range")
        return is_counted or integer_value(index.value) is not None or _is_number(index.value, ctx)
    if not isinstance(index, cst.Slice):
        return False
    first, step = (
        None if each is None else integer_value(each) for each in (index.lower, index.step)
    )
    return bool(first) or (step or 1) > 1


def _is_number(index: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an index is a whole number, whatever a function is called with."""
    from placement_lint.placement.domain.values import Plain

    held = ctx.flow.value(index) if isinstance(index, cst.Name) else frozenset()
    return bool(held) and all(isinstance(atom, Plain) and atom.number is not None for atom in held)


def _split_along(ctx: Context, node: cst.BaseExpression, dimensions: list[int]) -> Sharding | None:
    """Return how an array is split of which one of some dimensions is, by Explicit axes."""
    found: list[Sharding] = []
    for atom in ctx.flow.value(node):
        sharding = sharding_of(node, atom, ctx)
        parts = () if sharding is None or sharding.spec is None else sharding.spec.parts or ()
        named = [parts[place] for place in dimensions if place < len(parts)]
        axes = frozenset(
            axis
            for part in named
            if isinstance(part, str | tuple)
            for axis in ((part,) if isinstance(part, str) else part)
        )
        if sharding is None or not axes or is_auto(sharding.mesh, axes, ctx.target) is not Auto.NO:
            return None
        found.append(sharding)
    return min(found, key=str, default=None)
