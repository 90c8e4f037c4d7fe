"""JDP205."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain.devices import Device
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.mixtures import clashes, described

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.record import Seat
    from placement_lint.rules.context import Context


class CommittedDevicesMixed(Rule):
    """An operation on arrays that are committed to different devices.

    ## What it does
    Finds operators, `jnp`, `jax.lax` and `jax.random` functions, `x.at[…].set(…)`, and calls of
    jitted, mapped or differentiated functions, two of whose operands are committed to devices that
    are known and differ; through names, attributes, functions and the files of a run. An operand
    may be a tree: of a jitted function those parts count that its result depends on, as
    `params["kernel"]` does in `x @ params["kernel"]`.

    ## Why is this bad?
    A computation runs where its committed operands are, and JAX never moves a committed array by
    itself. With two such places there is none to run at: `ValueError: Received incompatible devices
    for jitted computation`. The usual causes are parameters put on the host beside a batch put on
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
    No fix: which of the arrays is in the wrong place, and whether it should be moved here or put
    elsewhere to begin with, only the author knows.

    ## What it does not flag
    Operands of which one is uncommitted, or a NumPy array: those are moved. NumPy functions that
    convert (`np.add(a, b)`). An argument of a jitted function that the result does not surely
    depend on: since JAX 0.4.34 it does not count. What a traced function closes over. Indices in
    brackets: a mask is read on the host. Devices that may be the same one. What is expected to
    fail, or caught, also by every caller of the function that it is in.

    ## Verified by
    The proof puts two arrays on two devices and multiplies them: ValueError. With both on one
    device it returns.

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
        for clash in clashes(ctx):
            devices: dict[Seat, cst.CSTNode] = {
                seat: operand for seat, operand in clash.seats.items() if isinstance(seat, Device)
            }
            if len(devices) > 1:
                ctx.report(
                    clash.operation,
                    described(devices),
                    confidence=Confidence.DEFINITE if clash.is_always else Confidence.LIKELY,
                )
