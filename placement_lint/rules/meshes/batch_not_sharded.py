"""JDP708."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import SHARDS, AllOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.compiled_calls import arguments_of, kept_by, leaves_some
from placement_lint.rules.meshes.constraints import may_be_set_around
from placement_lint.rules.meshes.shardings import made_at, says
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.sharding import Mesh
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

_SPLITTING = (
    b"with_sharding_constraint", b"shard_map", b"filter_shard", b"with_logical_constraint",
    b"pmap", b"reshard",
)  # fmt: skip
"""What may split the work inside of the compiled function."""


class BatchNotSharded(Rule):
    """A computation on a mesh, none of whose arguments is split over it.

    ## What it does
    Finds calls of jitted functions if one argument is certainly replicated over a mesh, another is
    a NumPy array or a JAX array on the default device, and none is split.

    ## Why is this bad?
    The computation runs on all devices of the mesh, and each of them computes all of it. Eight
    devices take as long as one, or longer, since each gets a copy of the batch at every call. JAX
    does not warn. If the batch is split over the mesh, each device computes its part.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    params = jax.device_put(np.ones((512, 512)), NamedSharding(mesh, PartitionSpec()))
    predict = jax.jit(lambda params, batch: batch @ params)
    scores = predict(params, np.ones((4096, 512)))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    params = jax.device_put(np.ones((512, 512)), NamedSharding(mesh, PartitionSpec()))
    predict = jax.jit(lambda params, batch: batch @ params)
    batch = jax.device_put(np.ones((4096, 512)), NamedSharding(mesh, PartitionSpec("data")))
    scores = predict(params, batch)
    ```

    ## Fix safety
    No fix: only the author knows which dimension of the array is the batch.

    ## What it does not flag
    Calls with an argument of unknown placement or sharding; calls whose arguments are all on the
    mesh, such as an update of replicated parameters; scalars and keys next to them. Functions with
    `in_shardings` or `out_shardings`, and programs that split arrays inside compiled code, by
    `with_sharding_constraint`, `shard_map` and similar functions; calls that may run under
    `jax.set_mesh`. Tests. The rule is off by default because evaluation and sampling often do this
    on purpose.

    ## Verified by
    The proof multiplies a NumPy batch by parameters that are replicated over eight devices, and
    each device has the whole result. With a batch that is split, each has an eighth.

    ## References
    - [jax-ml/jax#28372](https://github.com/jax-ml/jax/issues/28372): data parallelism in which
      nothing was split
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP708", "batch-not-sharded"
    advice = "Split the batch, `jax.device_put(batch, NamedSharding(mesh, PartitionSpec(axis)))`"
    severity = Severity.WARNING
    pedantic = True
    follows_callers = True
    needs = AllOf(Jax(), SHARDS)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        arguments = arguments_of(node, ctx)
        if len(arguments) < 2 or leaves_some(node, ctx) or is_in_test(node, ctx):
            return
        if len(kept_by(node, ctx)) < len(node.args):
            return
        if says(ctx, *_SPLITTING) or ctx.module.run.mentions(ctx.module.path, *_SPLITTING):
            return
        if may_be_set_around(node, ctx) or ctx.module.fact(TracedFunctions).is_traced(node):
            return
        meshes: set[Mesh] = set()
        beside: list[cst.BaseExpression] = []
        for argument in arguments:
            mesh = _whole_on(ctx.flow.value(argument))
            if mesh is not None:
                meshes.add(mesh)
            elif not _is_no_array(ctx.flow.value(argument)):
                if not _is_off_mesh(ctx.flow.value(argument)):
                    return
                beside.append(argument)
        if not beside or len(meshes) != 1:
            return
        (mesh,) = meshes
        if mesh.number == 1:
            return
        name = f"`{dotted(beside[0])}`" if dotted(beside[0]) else "the array beside it"
        ctx.report(
            node,
            f"nothing is split over the mesh {mesh}: each of its devices gets all of {name}, and "
            "does all of the computation",
            confidence=Confidence.LIKELY,
            related=made_at(node, ctx, mesh),
        )


def _whole_on(held: Value) -> Mesh | None:
    """Return the mesh that all arrays in a value are replicated over; None: one may not be.

    What is computed of such arrays is so, too: the compiler has no reason to split it.
    """
    from placement_lint.placement.domain.contents import arrays
    from placement_lint.rules.commitment.commitment_lost import is_certain

    found = [array.sharding for array in arrays(held)]
    meshes = {None if sharding is None else sharding.mesh for sharding in found}
    specs = [sharding.spec for sharding in found if sharding is not None and sharding.spec]
    is_whole = bool(specs) and all(spec.is_whole for spec in specs)
    return meshes.pop() if is_whole and len(meshes) == 1 and is_certain(held) else None


def _is_no_array(held: Value) -> bool:
    """Return whether a value surely is a scalar, a key, or nothing that is on a device."""
    from placement_lint.placement.domain.values import Array, Plain

    return all(
        isinstance(atom, Plain)
        or (isinstance(atom, Array) and atom.is_small and not atom.committed)
        for atom in held
    )


def _is_off_mesh(held: Value) -> bool:
    """Return whether a value surely is NumPy arrays, or arrays that are committed nowhere."""
    from placement_lint.placement.domain.contents import leaves_of
    from placement_lint.placement.domain.values import Array, Host

    found = [atom for leaf in leaves_of(held) for atom in leaf]
    return bool(found) and all(
        isinstance(atom, Host) or (isinstance(atom, Array) and not atom.committed) for atom in found
    )
