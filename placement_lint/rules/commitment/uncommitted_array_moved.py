"""JDP202."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.placement.domain import record
from placement_lint.prefilter.conditions import Says
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.loop_copies import copied_once
from placement_lint.rules.commitment.scalars import is_made_as_number, is_used_as_number
from placement_lint.rules.commitment.uncommitted_use import report_possible_uses, report_use

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class UncommittedArrayMoved(Rule):
    """An uncommitted array on the host that is computed with where the host is not the default
    device.

    ## What it does
    Finds arithmetic, `jnp` functions, methods that compute, jitted functions, and the NumPy
    functions that call the array's own method (`np.sum`, `np.mean`, `np.reshape` …), given an array
    that was made under `jax.default_device(d)` at a place where another device is the default.

    ## Why is this bad?
    The array is *uncommitted*: nothing keeps it on the device that it was made on. The operation
    runs on the default device, and the whole array is first copied there. The array itself stays
    where it was, so the next operation copies it again. A jitted function that a loop calls with
    such parameters copies all of them to the accelerator in every step.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        table = jnp.zeros((50_000, 1024))
    mean = jnp.mean(table)
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        table = jnp.zeros((50_000, 1024))
    table = jax.device_put(table, jax.devices()[0])
    mean = jnp.mean(table)
    ```

    This copies the array once, to where the computation runs. If the computation belongs on the
    host, commit the array where it is made, `table = jax.device_put(jnp.zeros((50_000, 1024)),
    cpu)`: computations with it then run there.

    ## Fix safety
    Safe where a part is taken (`jnp.take`, `jax.lax.dynamic_slice`): the array is committed where
    it is made, and the part is put back on the default device, so that every computation stays
    where it runs.

    Unsafe for all else, also where the array is only rearranged (`reshape`, `T`): the array is
    committed where it is made, and what is computed with it then runs on the host, as the fix says.
    No fix where another operand is an array of the accelerator, which would be copied to the host,
    or is or may be committed to another device, where JAX would refuse the operation.

    ## What it does not flag
    Parameters made on the host and then put or sharded elsewhere (`jax.device_put`,
    `jax.tree.map(lambda a: jax.device_put(a, s), params)`, `jit(f, out_shardings=…)`,
    `make_array_from_callback`): one move, on purpose. Nor those that the first iteration of a loop
    takes along, `params = step(params, batch)`, or the first call of a method that replaces them:
    what comes around is on the accelerator. What converts to NumPy (`np.asarray`,
    `np.stack`, `jax.device_get`), reads metadata, prints or saves. The other direction: an array of
    the default device used in a host block. PRNG keys and scalars. What is only used under the same
    default device. A device that may be the accelerator itself.

    ## Verified by
    The proof makes an array under `jax.default_device` and computes with it outside of the block
    with JAX's device-to-device transfer guard on: the guard names the whole array; after the fix
    nothing moves.

    ## References
    - [jax.Array.committed](https://docs.jax.dev/en/latest/_autosummary/jax.Array.committed.html)
    - data-apis/array-api#835: a maintainer of JAX confirms that uncommitted arrays may be moved
      without a word
    """

    code, name = "JDP202", "uncommitted-array-moved"
    advice = (
        "Put it on the accelerator once, `x = jax.device_put(x, jax.devices()[0])`, or commit "
        "it where the computation belongs on the host"
    )
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = Says("default_device", "jax_default_device")

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for use in ctx.flow.uses():
            if use.kind is not record.UseKind.COMPUTED:
                continue
            again = use.moved - copied_once(use, ctx)
            again = {array for array in again if not is_made_as_number(array, ctx)}
            if again and not is_used_as_number(ctx.tree.nodes[use.node], ctx):
                report_use(replace(use, moved=again), ctx, "computing with it")
        report_possible_uses(record.UseKind.COMPUTED, ctx, "computing with it")
