"""JDP709."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain.mesh_devices import MeshDevices, mix
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf, AnyOf, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.known_devices import may_commit_to_known_devices
from placement_lint.rules.commitment.mixtures import clashes, described, outside_mesh
from placement_lint.rules.meshes.shardings import made_at
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.record import Seat
    from placement_lint.rules.context import Context


class DeviceSetsMixed(Rule):
    """An operation on arrays on different sets of devices, or on one set in two orders.

    ## What it does
    Finds operators, `jnp`, `jax.lax` and `jax.random` functions, `x.at[…].set(…)`, and calls of
    jitted, mapped or differentiated functions, if one operand is on a mesh and another is on a
    single device, on a mesh of other devices, or on a mesh of the same devices in another order.
    Operands are followed through names, attributes, functions and the files of a run. The devices
    of a mesh must be known: `jax.devices()`, a literal slice of them, a list of devices, all
    devices by `jax.make_mesh` and `create_device_mesh`, or what a loop or a comprehension takes by
    a few numbers, `devices[4 * i : 4 * i + 4]`, or as the rows of an array of devices. If the
    program has set a mesh by
    `jax.set_mesh`, it also finds operations on an array on a single device or on another mesh,
    which raise even without a second operand.

    ## Why is this bad?
    JAX never moves a committed array implicitly, and an array on a mesh is committed to all of its
    devices. JAX raises `ValueError: Received incompatible devices for jitted computation`, even if
    both arrays are replicated. On a machine with one device it works, so the error first appears
    where the program is meant to run. Typical causes are parameters, a moving average or a restored
    checkpoint on one device, used with a batch that is split over all of them.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    params = jax.device_put(np.ones((64, 10)), jax.devices()[0])
    batch = jax.device_put(np.ones((32, 64)), NamedSharding(mesh, PartitionSpec("data")))
    logits = batch @ params
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    params = jax.device_put(np.ones((64, 10)), NamedSharding(mesh, PartitionSpec()))
    batch = jax.device_put(np.ones((32, 64)), NamedSharding(mesh, PartitionSpec("data")))
    logits = batch @ params
    ```

    ## Fix safety
    No fix: only the author knows which array is in the wrong place.

    ## What it does not flag
    An uncommitted operand or a NumPy array, which JAX copies to the mesh. Two meshes of the same
    devices in the same order, whatever their shapes and the names of their axes. Two meshes that
    `jax.make_mesh` or `create_device_mesh` makes, or one of a written shape beside all devices,
    whose order depends on the machine (JDP718). Meshes of one device, and devices that are selected
    at run time. An argument of a jitted function if the result does not certainly depend on it, and
    arrays that a traced function closes over. An exception that is expected or caught, also by
    every caller of the function.

    ## Verified by
    The proof multiplies an array that is split over eight devices by one that is on a single
    device, which raises ValueError. With both on the mesh it works.

    ## References
    - [jax-ml/jax#15903](https://github.com/jax-ml/jax/issues/15903): replicated over the same
      devices in another order
    - [Physical-Intelligence/openpi#261](https://github.com/Physical-Intelligence/openpi/issues/261):
      on two devices, not on one
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP709", "device-sets-mixed"
    advice = "Put the operands on one mesh first, with `jax.device_put(x, sharding)`"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        COMMITTED,
        AnyOf(LISTED_DEVICES, Uses("jax.make_mesh", "jax.experimental.mesh_utils.*")),
    )

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.is_executed and not ctx.module.fact(may_commit_to_known_devices):
            return
        for clash in clashes(ctx):
            pair = _apart(clash.seats, ctx)
            if pair is not None:
                seats, is_everywhere = pair
                is_sure = clash.is_always and is_everywhere
                ctx.report(
                    clash.operation,
                    described(seats),
                    confidence=Confidence.DEFINITE if is_sure else Confidence.LIKELY,
                    related=_related(clash.operation, seats, ctx),
                )
        for clash in outside_mesh(ctx):
            (seat, operand), *_ = clash.seats.items()
            name = f"`{dotted(operand)}`" if dotted(operand) else "the operand"
            ctx.report(
                clash.operation,
                f"{name} is committed to {seat}, which is not the mesh that `jax.set_mesh` has "
                "set: ValueError",
                confidence=Confidence.LIKELY,
            )


def _related(
    operation: cst.CSTNode, seats: dict[Seat, cst.CSTNode], ctx: Context
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where the meshes and specs of the operands are made, for each that has one."""
    from placement_lint.placement.domain.values import Array, sole

    held = [sole(ctx.flow.value(operand)) for operand in seats.values()]
    shardings = [each.sharding for each in held if isinstance(each, Array)]
    return made_at(operation, ctx, *shardings)


def _apart(
    seats: dict[Seat, cst.CSTNode], ctx: Context
) -> tuple[dict[Seat, cst.CSTNode], bool] | None:
    """Return two operands that do not agree, one of them on a mesh, and whether on any machine."""
    for one, other in itertools.combinations(seats, 2):
        if isinstance(one, MeshDevices) or isinstance(other, MeshDevices):
            differ = mix(one, other, accelerator=ctx.flow.accelerator)
            if differ is not False:
                return {one: seats[one], other: seats[other]}, differ is True
    return None
