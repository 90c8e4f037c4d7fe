"""JDP712."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.versions import written
from placement_lint.placement.domain.sharding import AxisType, Mesh
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.constraints import constraints_in, may_be_set, meshes_of_some
from placement_lint.rules.meshes.shardings import EXPLICIT_BY_DEFAULT, says
from placement_lint.semantic.version_guards import is_guarded
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_TYPES_SINCE = "0.5.3"
"""The oldest measured version in which `jax.make_mesh` takes `axis_types`."""
_AXIS_TYPE = "jax.sharding.AxisType"
# Who writes one of these knows of Explicit axes, and wants them.
_AWARE = (b"reshard", b"out_sharding=", b"typeof", b"Explicit")


class MeshAxisTypesByVersion(Rule):
    """A `jax.make_mesh` without `axis_types`, whose meaning depends on the version of JAX.

    ## What it does
    Finds `jax.make_mesh(shape, names)` if the project supports both versions of JAX before 0.9.0
    and 0.9.0 or later. If it supports only the latter, or does not specify versions, it finds those
    calls whose mesh reaches `jax.lax.with_sharding_constraint`, through functions, attributes and
    files, be it one of several meshes that a class or a function is given.

    ## Why is this bad?
    Before JAX 0.9.0, such a mesh has Auto axes: the compiler decides how arrays are split, and
    constraints guide it. From 0.9.0 on its axes are Explicit, and the same program raises:
    `with_sharding_constraint` accepts only Auto axes (ValueError), and indexing along a sharded
    dimension, `reshape`, or a matrix product over one raise ShardingTypeError.

    ## Example
    ```python
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((4, 2), ("data", "model"))

    @jax.jit
    def forward(params, batch):
        hidden = batch @ params
        return jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, PartitionSpec("data")))
    ```

    ## Use instead
    ```python
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))

    @jax.jit
    def forward(params, batch):
        hidden = batch @ params
        return jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, PartitionSpec("data")))
    ```

    ## Fix safety
    Safe: `axis_types=(AxisType.Auto,) * n` is the meaning of the call before 0.9.0, for which the
    program was written, or which it needs. No fix if the number of axes is not known, or if the
    project supports versions before 0.5.3, which lack `AxisType`.

    ## What it does not flag
    Calls that pass `axis_types`, or may do so by `**options`; projects for JAX before 0.9.0 only.
    Calls under a condition on the version or on `AxisType`, or in a `try` that catches the
    exception of an older version. Files that use `reshard`, `out_sharding=` or Explicit axes. For
    JAX 0.9.0 or later: meshes that reach no constraint; one of several meshes, where a condition
    may choose which of them is constrained; and constraints that may run under `jax.set_mesh`,
    where they are assertions. `jax.sharding.Mesh`, whose axes are Auto in every
    version.

    ## Verified by
    The proof constrains an array to a mesh of eight devices that `jax.make_mesh` makes, which
    raises ValueError. With Auto axes it is split.

    ## References
    - [JAX's changelog](https://docs.jax.dev/en/latest/changelog.html): 0.8.1 announces the change
    - [patrick-kidger/equinox#1171](https://github.com/patrick-kidger/equinox/issues/1171): tests
      that fail with JAX 0.9.0
    - Measured on JAX 0.5.3, 0.7.2, 0.8.1, 0.9.0.1, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP712", "mesh-axis-types-by-version"
    advice = "Say which are meant, `axis_types=(jax.sharding.AxisType.Auto, …)`"
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = AllOf(Jax(), Uses("jax.make_mesh"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, "jax.make_mesh") or not ctx.target.reaches(EXPLICIT_BY_DEFAULT):
            return
        if Arguments(node).may_pass(2, "axis_types") or is_guarded(node, ctx):
            return
        if says(ctx, *_AWARE):
            return
        if not ctx.target.all_reach(EXPLICIT_BY_DEFAULT):
            supported = f"{written(ctx.target.lowest)} to {written(ctx.target.highest)}"
            ctx.report(
                node,
                "jax.make_mesh without axis_types makes Auto axes before JAX "
                f"{EXPLICIT_BY_DEFAULT} and Explicit ones from then on (the project supports "
                f"{supported})",
                fix=_plan(node, ctx),
            )
            return
        constrained = _constrained(node, ctx)
        if constrained is not None:
            path, constraint = constrained
            ctx.report(
                node,
                f"the axes of this mesh are Explicit from JAX {EXPLICIT_BY_DEFAULT} on, and "
                "jax.lax.with_sharding_constraint raises ValueError on it",
                severity=Severity.ERROR,
                confidence=Confidence.DEFINITE,
                fix=_plan(node, ctx),
                related=[(constraint, path, "it is constrained here")],
            )


def _constrained(node: cst.Call, ctx: Context) -> tuple[str, cst.CSTNode] | None:
    """Return a call that constrains an array to the mesh that a call makes, with its file."""
    made = ctx.flow.module.place(node)
    for path, facts in ctx.module.siblings.items():
        for constraint, calls in facts.fact(constraints_in).items():
            there = ctx.beside(path)
            if there is None:
                continue
            meshes = meshes_of_some(constraint, calls, AxisType.BY_VERSION, there)
            is_made_here = any(mesh.made == made for mesh in meshes)
            if is_made_here and not may_be_set(calls, ctx):
                return path, constraint
    return None


def _plan(node: cst.Call, ctx: Context) -> FixPlan | None:
    held = ctx.flow.value(node)
    meshes = [atom for atom in held if isinstance(atom, Mesh)]
    counts = {None if mesh.axes is None else len(mesh.axes) for mesh in meshes}
    if len(counts) != 1 or not node.args or not ctx.target.all_reach(_TYPES_SINCE):
        return None
    (count,) = counts
    spelled = ctx.reach(_AXIS_TYPE, at=node)
    if not count or spelled is None:
        return None
    types = f"({spelled}.Auto,)" if count == 1 else f"({spelled}.Auto,) * {count}"

    def build(editor: Editor) -> list[Edit]:
        end = editor.spans.outer(node.args[-1].value)[1]
        return [editor.insert(end, f", axis_types={types}")]

    message = "Say that the axes are Auto, as they were before JAX 0.9.0"
    return FixPlan(Applicability.SAFE, message, build, imports=needed([spelled]))
