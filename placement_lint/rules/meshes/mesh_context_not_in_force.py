"""JDP717."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.bare_specs import bare_specs, was_left, without_mesh
from placement_lint.rules.meshes.constraints import CONSTRAINT
from placement_lint.rules.meshes.shardings import made_of
from placement_lint.rules.meshes.spec_without_mesh import SPECS, TAKING_SPECS

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class MeshContextNotInForce(Rule):
    """A spec in a thread or a compiled function where the mesh that was set is no longer in
    effect.

    ## What it does
    Finds `jax.lax.with_sharding_constraint(x, PartitionSpec("data"))`, and `jax.device_put` with a
    spec, in a function that is passed to `jax.jit` inside `with mesh:` or `with
    jax.set_mesh(mesh):` and called outside; also if the specs are its `in_shardings` or
    `out_shardings`. It also finds them in a function that runs in a thread which is started inside
    the block by `threading.Thread` or an executor.

    ## Why is this bad?
    A mesh is in effect for the thread that entered it, and only while the compiled function is
    *called*: that is when JAX traces it. Where the function was compiled, or the thread was
    started, does not matter. The spec then has no mesh: RuntimeError, "requires a non-empty mesh in
    context".

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import PartitionSpec

    def encode(batch):
        return jax.lax.with_sharding_constraint(batch * 2, PartitionSpec("data"))

    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    with jax.set_mesh(mesh):
        compiled = jax.jit(encode)

    features = compiled(jnp.ones((64, 16)))
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import PartitionSpec

    def encode(batch):
        return jax.lax.with_sharding_constraint(batch * 2, PartitionSpec("data"))

    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    compiled = jax.jit(encode)
    with jax.set_mesh(mesh):
        features = compiled(jnp.ones((64, 16)))
    ```

    A sharding needs no context: `NamedSharding(mesh, PartitionSpec("data"))`.

    ## Fix safety
    No fix: only the author knows whether to move the call into the context or to give the spec its
    mesh.

    ## What it does not flag
    Functions that are called from outside the program, where a mesh may be in effect. Code under or
    after a condition on meshes, shardings or devices. Programs that set a mesh by a statement of
    its own, or that import packages that may set one, but for threads, which see none of these.
    Shardings, which contain their mesh. An exception that is expected or caught.

    ## Verified by
    The proof starts a thread inside `with mesh:` that constrains an array to a spec, which raises
    RuntimeError. With a sharding over the mesh the array is split.

    ## References
    - [jax-ml/jax#26552](https://github.com/jax-ml/jax/issues/26552): specs and the mesh in context
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP717", "mesh-context-not-in-force"
    advice = "Enter the mesh where it runs, or pass `NamedSharding(mesh, spec)`"
    severity = Severity.ERROR
    follows_callers = True
    needs = AllOf(Jax(), SPECS, TAKING_SPECS, AnyOf(b"with ", b"with\\"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        left = [call for call in without_mesh(node, ctx) if was_left(call)]
        if not left:
            return
        spec = min(str(each) for call in left for each in bare_specs(call))
        what = "the constraint is" if ctx.called(node) == CONSTRAINT else "it takes"
        every = ctx.flow.record.sharded_calls
        compiled = every.compiled.get(ctx.tree.index(node), set())
        where = "the thread was started"
        if compiled or any(call.running is Running.COMPILED for call in left):
            where = "the function was compiled, or the thread was started,"
        seen = every.at(ctx.tree.index(node)) or compiled
        ctx.report(
            node,
            f"{what} {spec}, and the mesh that was in effect where {where} is not in effect where "
            "it runs: RuntimeError",
            confidence=Confidence.DEFINITE if len(left) == len(seen) else Confidence.LIKELY,
            related=made_of(node, ctx, *(frozenset(bare_specs(call)) for call in left)),
        )
