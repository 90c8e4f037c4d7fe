"""JDP713."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.placement.domain.sharding import AxisType
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.constraints import (
    CONSTRAINT,
    constrained_meshes,
    constraints_in,
    may_be_set,
)
from placement_lint.rules.meshes.shardings import made_at
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught
from placement_lint.semantic.tracing import TracedFunctions

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context

_SHARDED = frozenset({TraceKind.SHARDED})
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.TypeError", "builtins.ValueError",
})  # fmt: skip


class ExplicitMeshMisused(Rule):
    """A `with_sharding_constraint` along an Explicit axis of a mesh.

    ## What it does
    Finds `jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))` if the spec names an axis
    that the program makes Explicit, as in `jax.make_mesh(shape, names,
    axis_types=(AxisType.Explicit, …))`, wherever in the program the mesh is made.

    ## Why is this bad?
    A constraint is a hint to the compiler. Along an Explicit axis the compiler decides nothing: the
    types of the arrays determine how they are split. JAX raises ValueError, "can only refer to Auto
    axes of the mesh".

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

    `jax.sharding.reshard` accepts arrays that are on the mesh. If the compiler should decide, make
    the axes Auto.

    ## Fix safety
    No fix: only the author knows which of the two is meant.

    ## What it does not flag
    Constraints along the Auto axes of a mesh that has both; a spec without axes, such as
    `PartitionSpec()`; meshes with unknown axis types; meshes of `jax.make_mesh` without
    `axis_types` (JDP712). Constraints that may run under `jax.set_mesh`, where they assert how an
    array is split. Bodies of `jax.shard_map`, where axes are Manual. An exception that is expected
    or caught.

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
    needs = AllOf(Jax(), Uses(CONSTRAINT))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, CONSTRAINT):
            return
        if is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        if ctx.module.fact(TracedFunctions).around(node, _SHARDED) is not None:
            return
        calls = ctx.module.fact(constraints_in).get(node, set())
        meshes = constrained_meshes(calls, AxisType.EXPLICIT)
        if meshes and not may_be_set(calls, ctx):
            ctx.report(
                node,
                "jax.lax.with_sharding_constraint along an Explicit axis of the mesh "
                f"{min(map(str, meshes))} raises ValueError",
                related=made_at(node, ctx, min(meshes, key=str)),
            )
