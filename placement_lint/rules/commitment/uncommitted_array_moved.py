"""JDP202."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Severity
from placement_lint.placement.domain import record
from placement_lint.prefilter.conditions import Says
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.loop_copies import ItemsInLoops, copied_once
from placement_lint.rules.commitment.scalars import is_made_as_number, is_used_as_number
from placement_lint.rules.commitment.uncommitted_use import report_possible_uses, report_use

if TYPE_CHECKING:
    from placement_lint.rules.context import Context


class UncommittedArrayMoved(Rule):
    """An uncommitted array on the host that is used in a computation where the host is not the
    default device.

    ## What it does
    Finds arithmetic, `jnp` functions, methods that compute, jitted functions, and the NumPy
    functions that call the array's own method (`np.sum`, `np.mean`, `np.reshape` …), on an array
    that was made under `jax.default_device(d)`, in a place where another device is the default.
    What `functools.partial` bound for a jitted function, or one of JAX, is an argument of each of
    its calls.

    ## Why is this bad?
    The array is *uncommitted*: nothing keeps it on the device where it was made. The operation runs
    on the default device, and JAX first copies the whole array there. The array itself stays where
    it was, so the next operation copies it again. If the parameters of a jitted function that a
    loop calls are such arrays, every step copies all of them to the accelerator.

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
    Safe if a part is taken (`jnp.take`, `jax.lax.dynamic_slice`): the array is committed where it
    is made, and the part is put back on the default device, so that every computation runs where it
    ran.

    Unsafe for everything else, even if the array is only rearranged (`reshape`, `T`): the array is
    committed where it is made, and computations with it then run on the host, as the fix says. No
    fix if another operand is an array on the accelerator, which would be copied to the host, or if
    another operand is or may be committed to another device, so that JAX would raise.

    ## What it does not flag
    Parameters made on the host and then put or sharded elsewhere (`jax.device_put`,
    `jax.tree.map(lambda a: jax.device_put(a, s), params)`, `jit(f, out_shardings=…)`,
    `make_array_from_callback`), which is one intended copy. Parameters that the first iteration of
    a loop moves, `params = step(params, batch)`, or the first call of a method that replaces them:
    after that they are on the accelerator. (A table that is filled item by item, `table =
    table.at[i].set(row)`, was meant to stay on the host, and is flagged.) Operations that convert
    to NumPy (`np.asarray`, `np.stack`, `jax.device_get`), read metadata, print or save. The other
    direction: an array on the default device used in a block of the host. PRNG keys and scalars; in
    tests, arrays that are known to have fewer than 65,536 elements, what the `init` of a model
    makes, and all of them if the tests pin themselves to the CPU. Arrays that are only used under
    the same default device. A device that may be the accelerator itself.

    ## Verified by
    The proof makes an array under `jax.default_device` and computes with it outside the block under
    JAX's device-to-device transfer guard. The guard reports a copy of the whole array. After the
    fix nothing is copied.

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
        items = ItemsInLoops(ctx)
        for use in ctx.flow.uses():
            if use.kind is not record.UseKind.COMPUTED:
                continue
            used = ctx.tree.nodes[use.node]
            once = copied_once(use, ctx)
            # What is filled item by item was made on the host to stay there.
            is_updated = bool(once) and _is_updated(used, ctx)
            again = use.moved if is_updated else use.moved - once
            again = frozenset(array for array in again if not is_made_as_number(array, ctx))
            if again and not is_used_as_number(used, ctx):
                in_loop = use.in_loop and not is_updated and not items.is_part_of(used)
                copied = replace(use, moved=again, in_loop=in_loop)
                report_use(copied, ctx, "computing with it")
        report_possible_uses(record.UseKind.COMPUTED, ctx, "computing with it")


def _is_updated(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether items of an array are set: `table` of `table.at[i].set(row)`."""
    around = ctx.parent(node)
    return isinstance(around, cst.Attribute) and around.attr.value == "at"
