"""JDP715."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import SHARDS, AllOf, AnyOf, Identifier, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.shardings import made_at
from placement_lint.rules.meshes.single_arrays import sharding_of
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.loops import loop_around
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.rules.context import Context
    from placement_lint.semantic.loops import Loop


class ShardedArrayIndexedInLoop(Rule):
    """A loop that takes one row at a time from an array whose rows are split over a mesh.

    ## What it does
    Finds `x[i]` in a loop that changes `i`, in code that JAX does not trace, if `x` was certainly
    put to a sharding that splits its first dimension.

    ## Why is this bad?
    Only one device has the row. Taking it is a compiled operation on all devices of the mesh, which
    wait for one another, and each of which then has a copy of the row. At each iteration this takes
    many times as long as on one device (1 to 8 ms instead of 0.05 ms, for 64 MB on four virtual
    devices).

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    scores = jax.device_put(np.zeros((4096, 512)), NamedSharding(mesh, PartitionSpec("data")))
    for index in range(4096):
        print(scores[index].max())
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

    ## Fix safety
    No fix: the computation with each row must be rewritten for all rows at once.

    ## What it does not flag
    An index that the loop does not change, and slices; arrays whose first dimension is not split,
    or whose sharding is unknown; traced code, in which the loop is unrolled; tests. Iteration over
    the array itself (JDP714). The rule is off by default because, for a few rows, the collective
    operations may be intended.

    ## Verified by
    The proof takes a row of an array that is split over eight devices, and each device has the
    whole row. The result of a computation on all rows at once is split.

    ## References
    - [Migrating from pmap](https://docs.jax.dev/en/latest/migrate_pmap.html), appendix A
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP715", "sharded-array-indexed-in-loop"
    advice = "Compute with all rows at once, or take the array to the host first"
    severity = Severity.INFO
    pedantic = True
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(Identifier(b"for"), Identifier(b"while")),
        SHARDS,
    )

    def visit_Subscript(self, node: cst.Subscript, ctx: Context) -> None:
        index = node.slice[0].slice
        if not isinstance(index, cst.Index) or integer_value(index.value) is not None:
            return
        loop = loop_around(node, ctx)
        if loop is None or not _changes(index.value, loop, ctx):
            return
        sharding = _split_by_rows(node.value, ctx)
        if sharding is None or ctx.flow.is_traced(node) or is_in_test(node, ctx):
            return
        # Only what has something to report needs it.
        from placement_lint.rules.meshes.whole_arrays import is_asked_to_be_whole

        if is_asked_to_be_whole(node, ctx):
            return
        name = f"`{dotted(node.value)}`" if dotted(node.value) else "the array"
        ctx.report(
            node,
            f"the rows of {name} are split over the {sharding}: each index is a collective "
            "operation of all devices",
            confidence=Confidence.LIKELY,
            related=made_at(node, ctx, sharding),
        )


def _changes(index: cst.BaseExpression, loop: Loop, ctx: Context) -> bool:
    """Return whether an index has a name that the loop around binds to something else each time."""
    names = {
        each.value
        for each in (index, *ctx.tree.every(cst.Name, below=index))
        if isinstance(each, cst.Name)
    }
    if isinstance(loop, cst.While):
        stored = (each.target for each in ctx.tree.every(cst.AugAssign, below=loop.body))
        return any(isinstance(each, cst.Name) and each.value in names for each in stored)
    target = loop.target if isinstance(loop, cst.For) else loop.for_in.target
    bound = (target, *ctx.tree.every(cst.Name, below=target))
    return any(isinstance(each, cst.Name) and each.value in names for each in bound)


def _split_by_rows(node: cst.BaseExpression, ctx: Context) -> Sharding | None:
    """Return how an array is split of which the first dimension surely is."""
    shardings = [sharding_of(node, atom, ctx) for atom in ctx.flow.value(node)]
    known = [
        each
        for each in shardings
        if each is not None
        and each.spec is not None
        and each.spec.parts
        and isinstance(each.spec.parts[0], str | tuple)
        and (each.mesh is None or each.mesh.number != 1)
    ]
    return min(known, key=str) if known and len(known) == len(shardings) else None
