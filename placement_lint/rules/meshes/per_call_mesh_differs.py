"""JDP718."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.combining import COMBINING
from placement_lint.rules.meshes.compiled_calls import arguments_of
from placement_lint.rules.meshes.shardings import made_at
from placement_lint.semantic.enclosing import failure_is_expected, is_caught, is_in_test

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.sharding import Mesh
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

_CAUGHT = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.ValueError"})


class PerCallMeshDiffers(Rule):
    """An operation on arrays on two meshes whose device order depends on the machine.

    ## What it does
    Finds operators, and calls of `jnp` and jitted functions, if one operand is on a mesh that
    `jax.make_mesh` or `create_device_mesh` made of all devices, and another is on a mesh of all
    devices with another shape, or in the order of `jax.devices()`.

    ## Why is this bad?
    Both functions order the devices by the connections of the machine, in a different way for each
    shape. On CPUs, and on machines with a few GPUs, the order is that of `jax.devices()`, and the
    operation works. On TPUs, and on GPUs in several hosts, it may differ: "Received incompatible
    devices for jitted computation". JAX raises this for the same devices in another order, even if
    both arrays are replicated.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    grid = jax.make_mesh((2, 4), ("data", "model"))
    line = jax.make_mesh((8,), ("data",))
    params = jax.device_put(np.ones((64, 8)), NamedSharding(grid, PartitionSpec(None, "model")))
    batch = jax.device_put(np.ones((32, 64)), NamedSharding(line, PartitionSpec("data")))
    logits = batch @ params
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    grid = jax.make_mesh((2, 4), ("data", "model"))
    params = jax.device_put(np.ones((64, 8)), NamedSharding(grid, PartitionSpec(None, "model")))
    batch = jax.device_put(np.ones((32, 64)), NamedSharding(grid, PartitionSpec(("data", "model"))))
    logits = batch @ params
    ```

    Or make the second mesh from the devices of the first: `Mesh(grid.devices.reshape(8),
    ("data",))`.

    ## Fix safety
    No fix: only the author knows which mesh both arrays should be on.

    ## What it does not flag
    Meshes of the same shape, whatever the names of their axes; meshes of unknown shape or devices;
    a mesh made from the devices of another mesh; tests, and an exception that is expected or
    caught. Meshes that differ on every machine (JDP709). The rule is off by default because the two
    orders are the same on most machines.

    ## Verified by
    Virtual devices have no connections, so the proof makes the second mesh from eight devices in
    another order, as a machine may, and JAX raises ValueError. With a mesh made from the devices of
    the first it works.

    ## References
    - [jax-ml/jax#25541](https://github.com/jax-ml/jax/issues/25541): a tutorial that fails on four
      GPUs, since it makes two meshes
    - [jax.make_mesh](https://docs.jax.dev/en/latest/_autosummary/jax.make_mesh.html)
    """

    code, name = "JDP718", "per-call-mesh-differs"
    advice = "Use one mesh for both, or make the second of the devices of the first"
    severity = Severity.WARNING
    pedantic = True
    follows_callers = True
    needs = AllOf(Jax(), Uses("jax.sharding.*", "jax.NamedSharding", "jax.make_mesh"))

    def visit_BinaryOperation(self, node: cst.BinaryOperation, ctx: Context) -> None:
        _check(node, [node.left, node.right], ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.called(node) in COMBINING:
            _check(node, [each.value for each in node.args if not each.star], ctx)
        elif len(node.args) > 1:
            _check(node, arguments_of(node, ctx), ctx)


def _check(node: cst.CSTNode, operands: list[cst.BaseExpression], ctx: Context) -> None:
    meshes = [mesh for each in operands if (mesh := _mesh_of(ctx.flow.value(each))) is not None]
    for one, other in itertools.combinations(meshes, 2):
        if _may_differ(one, other) and not _is_excused(node, ctx):
            ctx.report(
                node,
                f"operands are on two meshes, {one} and {other}, whose devices are in "
                "different orders on some machines: ValueError there",
                confidence=Confidence.LIKELY,
                related=made_at(node, ctx, one, other),
            )
            return


def _is_excused(node: cst.CSTNode, ctx: Context) -> bool:
    return (
        ctx.flow.is_traced(node)
        or is_in_test(node, ctx)
        or failure_is_expected(node, ctx)
        or is_caught(node, ctx, _CAUGHT)
    )


def _mesh_of(held: Value) -> Mesh | None:
    """Return the one mesh that all arrays in a value surely are on."""
    from placement_lint.placement.domain.contents import arrays
    from placement_lint.rules.commitment.commitment_lost import is_certain

    meshes = {None if each.sharding is None else each.sharding.mesh for each in arrays(held)}
    return meshes.pop() if len(meshes) == 1 and is_certain(held) else None


def _may_differ(one: Mesh, other: Mesh) -> bool:
    """Return whether two meshes have the same devices, perhaps in two orders."""
    here, there = one.devices, other.devices
    if here is None or there is None or not (here.is_arranged or there.is_arranged):
        return False
    are_whole = all(
        each.listed is None and each.part == (None, None, None) and each.platform == here.platform
        for each in (here, there)
    )
    # All devices are as many as the other mesh has, or the operation fails anyhow.
    numbers = {each.number for each in (one, other)} - {None}
    if not are_whole or len(numbers) != 1:
        return False
    shapes = [each.arranged_as for each in (here, there) if each.is_arranged]
    is_known = all(shape is not None and None not in shape for shape in shapes)
    return is_known and (len(shapes) == 1 or shapes[0] != shapes[1])
