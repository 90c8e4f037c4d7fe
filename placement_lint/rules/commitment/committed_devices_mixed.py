"""JDP205."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain import contents
from placement_lint.placement.domain.devices import Device
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.known_devices import may_commit_to_known_devices
from placement_lint.rules.commitment.mixtures import clashes, described, is_known_by_name
from placement_lint.rules.journey import journey_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import libcst as cst

    from placement_lint.placement.domain.record import Seat
    from placement_lint.rules.context import Context


class CommittedDevicesMixed(Rule):
    """An operation on arrays that are committed to different devices.

    ## What it does
    Finds operators, `jnp`, `jax.lax` and `jax.random` functions, `x.at[…].set(…)`, and calls of
    jitted, mapped or differentiated functions, if two of the operands are known to be committed to
    different devices. Operands are followed through names, attributes, functions and the files of a
    run. An operand may be a tree: for a jitted function, only the leaves count that its result
    depends on, such as `params["kernel"]` in `x @ params["kernel"]`.

    ## Why is this bad?
    A computation runs where its committed operands are, and JAX never moves a committed array
    implicitly. With operands committed to two devices it raises `ValueError: Received incompatible
    devices for jitted computation`. Typical causes are parameters on the host used with a batch on
    the accelerator, and results of a function that was jitted for another backend.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    weights = jax.device_put(np.ones((64, 64)), cpu)
    batch = jax.device_put(np.ones((8, 64)), gpu)
    out = jnp.dot(batch, weights)
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    weights = jax.device_put(np.ones((64, 64)), cpu)
    batch = jax.device_put(np.ones((8, 64)), gpu)
    out = jnp.dot(batch, jax.device_put(weights, gpu))
    ```

    ## Fix safety
    No fix: only the author knows which array is in the wrong place, and whether to move it here or
    to put it elsewhere from the start.

    ## What it does not flag
    An uncommitted operand or a NumPy array, which JAX moves. NumPy functions that convert
    (`np.add(a, b)`). An argument of a jitted function if the result does not certainly depend on
    it: since JAX 0.4.34 it does not count. Arrays that a traced function closes over. Indices in
    brackets: a mask is read on the host. Devices that may be the same one. An exception that is
    expected or caught, also by every caller of the function.

    ## Verified by
    The proof puts two arrays on two devices and multiplies them, which raises ValueError. With both
    on one device it works.

    ## References
    - jax-ml/jax#1914: results of `jit(backend="cpu")` beside arrays of the default device
    - [Frequently asked questions](https://docs.jax.dev/en/latest/faq.html), "Controlling data and
      computation placement on devices"
    """

    code, name = "JDP205", "committed-devices-mixed"
    advice = "Put the operands on one device first, with `jax.device_put(x, device)`"
    severity = Severity.ERROR
    follows_callers = True
    needs = AllOf(COMMITTED, LISTED_DEVICES)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.is_executed and not ctx.module.fact(may_commit_to_known_devices):
            return
        for clash in clashes(ctx):
            devices: dict[Seat, cst.CSTNode] = {
                seat: operand for seat, operand in clash.seats.items() if isinstance(seat, Device)
            }
            if len(devices) > 1:
                is_sure = clash.is_always and not any(
                    is_known_by_name(each, ctx) for each in devices.values()
                )
                ctx.report(
                    clash.operation,
                    described(devices),
                    journey=_journey(devices.values(), ctx),
                    confidence=Confidence.DEFINITE if is_sure else Confidence.LIKELY,
                )


def _journey(operands: Iterable[cst.CSTNode], ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    """Return the way of the first operand that is committed to the host."""
    for operand in operands:
        found = [array for array in contents.arrays(ctx.flow.tree_of(operand)) if array.via]
        if found:
            return journey_of(found, operand, ctx)
    return []
