"""JDP714."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses, passed
from placement_lint.prefilter.mesh_names import SPLITS
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.shardings import made_at, may_split
from placement_lint.rules.meshes.single_arrays import sharding_of
from placement_lint.rules.meshes.spanning import FAILURES, ITERATING, is_silent_at, read_in_part
from placement_lint.semantic.enclosing import is_in_test

if TYPE_CHECKING:
    from placement_lint.rules.context import Context


class ShardedArrayIterated(Rule):
    """Iteration over an array that is split over the devices of a mesh.

    ## What it does
    Finds `for row in x`, `[f(row) for row in x]`, `list(x)`, `zip(x, y)`, `first, second = x`,
    `yield from x` and `f(*x)` in code that JAX does not trace, if `x` was certainly put to a
    sharding that splits it.

    ## Why is this bad?
    JAX first copies the whole array to the memory of the host. Then it puts each row on the default
    device, uncommitted, so the mesh is lost. Computations with the rows run on one device, and
    together with arrays on the mesh each row is copied to all devices.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    scores = jax.device_put(np.zeros((4096, 512)), NamedSharding(mesh, PartitionSpec("data")))
    for row in scores:
        print(row.max())
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    scores = jax.device_put(np.zeros((4096, 512)), NamedSharding(mesh, PartitionSpec("data")))
    for largest in np.asarray(scores.max(axis=1)):
        print(largest)
    ```

    Compute on the whole array, and iterate over the result as a NumPy array. To get the parts on
    each device, use `x.addressable_shards`. Indexing, `x[i]`, keeps the mesh, but each index is a
    collective operation over all devices.

    ## Fix safety
    No fix: the computation with each row must be rewritten for all rows at once.

    ## What it does not flag
    Replicated arrays, whose rows stay on the mesh; arrays of unknown sharding, including results of
    computations; `x.addressable_shards`, `np.asarray(x)`; traced code, in which a loop is unrolled.
    Arrays that span processes, over which no process can iterate (JDP721). Code behind a
    check that there is one device, or that the array is replicated. Tests.

    ## Verified by
    The proof iterates over an array that is split over eight devices, and a row is on one device.
    The rows of an array that was computed on the mesh and copied to NumPy are not JAX arrays.

    ## References
    - [Migrating from pmap](https://docs.jax.dev/en/latest/migrate_pmap.html), appendix A
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP714", "sharded-array-iterated"
    advice = "Compute on the whole array, and iterate over `np.asarray` of the result"
    severity = Severity.WARNING
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        SPLITS,
        AnyOf(
            Uses("jax.device_put", "jax.lax.with_sharding_constraint"),
            b"make_array_from_callback",
            b"make_array_from_process_local_data",
            passed(b"device"),
        ),
    )

    def visit_For(self, node: cst.For, ctx: Context) -> None:
        _check(node.iter, ctx)

    def visit_CompFor(self, node: cst.CompFor, ctx: Context) -> None:
        _check(node.iter, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        is_iterating = ctx.called(node) in ITERATING
        for argument in node.args:
            if argument.star == "*" or (is_iterating and argument.keyword is None):
                _check(argument.value, ctx)

    def visit_Yield(self, node: cst.Yield, ctx: Context) -> None:
        if isinstance(node.value, cst.From):
            _check(node.value.item, ctx)

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        if any(isinstance(each.target, cst.Tuple | cst.List) for each in node.targets):
            _check(node.value, ctx)

    def visit_StarredElement(self, node: cst.StarredElement, ctx: Context) -> None:
        _check(node.value, ctx)


def _check(node: cst.BaseExpression, ctx: Context) -> None:
    if isinstance(node, cst.Tuple | cst.List | cst.SimpleString | cst.Integer) or not may_split(
        ctx
    ):
        return
    held = ctx.flow.value(node)
    shardings = [sharding_of(node, atom, ctx) for atom in held]
    if not shardings or any(
        sharding is None
        or not sharding.is_named
        or sharding.spec is None
        or not sharding.spec.splits
        for sharding in shardings
    ):
        return
    if ctx.flow.is_traced(node) or is_in_test(node, ctx) or _is_global(node, ctx):
        return
    # Only what has something to report needs it.
    from placement_lint.rules.devices.processes import has_one_device
    from placement_lint.rules.meshes.whole_arrays import is_asked_to_be_whole

    if has_one_device(node, ctx) or is_asked_to_be_whole(node, ctx):
        return
    sharding = min((each for each in shardings if each is not None), key=str)
    ctx.report(
        node,
        f"iterating takes all of an array that is split over the {sharding} to the host, and its "
        "rows to the default device",
        related=made_at(node, ctx, sharding),
    )


def _is_global(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether to iterate raises instead, as it is reported (JDP721): this process has a part
    of the array only.
    """
    split = read_in_part(node, ctx, in_trees=False)
    if split is None or split.confidence is Confidence.POSSIBLE:
        return False
    return not is_silent_at(node, node, ctx, FAILURES)
