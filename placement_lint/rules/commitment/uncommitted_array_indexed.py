"""JDP201."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.placement.domain import record
from placement_lint.prefilter.conditions import Says
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.loop_copies import copied_in_first_iteration, copied_once
from placement_lint.rules.commitment.uncommitted_use import report_possible_uses, report_use

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class UncommittedArrayIndexed(Rule):
    """An uncommitted array on the host that is indexed where the host is not the default device.

    ## What it does
    Finds indexing, slicing, unpacking and iteration of an array that was made under
    `jax.default_device(d)`, or while `jax_default_device` was set, in a place where another device
    is the default. The finding is at the use; the first related place is where the array was made.
    For `jax.default_device(d if condition else None)` the message names the condition, and the
    confidence is likely.

    ## Why is this bad?
    A default device is where an array is *made*, not where it stays: the array is *uncommitted*. An
    operation on uncommitted arrays runs on the current default device, and JAX first copies all of
    each operand there. So `array[0]`, outside the block, copies the whole array to the accelerator,
    takes one row, and discards the copy; the next index does so again. With a 6.5 GB array, an item
    took 1.2 s; after `jax.device_put(array, cpu)` it took 0.0002 s. Even `float(array[0, 0])`
    copies everything. If the array does not fit, the program runs out of memory.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    from safetensors.flax import load_file

    @jax.jit
    def train(params, batch):
        return params - 0.1 * batch.mean(axis=0)

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        tokens = load_file("train.safetensors")["tokens"]
    params = jnp.zeros((1024,))
    for step in range(1000):
        params = train(params, tokens[step])
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    from safetensors.flax import load_file

    @jax.jit
    def train(params, batch):
        return params - 0.1 * batch.mean(axis=0)

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        tokens = jax.device_put(load_file("train.safetensors")["tokens"], cpu)
    params = jnp.zeros((1024,))
    for step in range(1000):
        params = train(params, jax.device_put(jax.device_get(tokens[step])))
    ```

    The dataset stays on the host, one batch is copied for each step, and `params` stays where it
    was. A batch that is taken from a committed array is committed to the host too, and would make
    every step run there if it were passed to `train` directly. `jax.device_get` and
    `jax.device_put` put it on the default device, uncommitted. On a mesh, use
    `jax.device_put(tokens[step], sharding)`.

    ## Fix safety
    Safe if no computation and no other array moves: the array is committed where it is made, which
    copies nothing, and each part that is taken from it is put back on the default device, unless it
    is only read on the host (`print`, `float`, NumPy) or put on a device anyway.

    Unsafe if that is not certain: the array is passed to an unknown function, or stored under a
    name or attribute that other packages may use; a part may have a weak type, which becomes a
    strong type; or a computation uses the whole array, and then runs on the host, as the fix says.
    Also unsafe if the device is an expression that may return another device the second time. No
    fix if arrays on the accelerator would be copied to the host, or if JAX would raise because
    another operand is or may be committed to another device.

    ## What it does not flag
    Operations that return the same array: `x[:]`, `x[...]`, `x[()]`. Operations that only read it:
    `len(x)`, `x.shape`, `x.item(0)`, `np.asarray(x)[0]`, printing. Arrays that are committed, or
    used only under the same default device; PRNG keys and scalars; in tests, arrays that are known
    to have fewer than 65,536 elements, and what the `init` of a model makes. A device that may be
    the accelerator, such as a parameter or a variable that the command line sets. Programs that
    pin themselves to the CPU (`JAX_PLATFORMS=cpu`), or `accelerator = false` in the settings.

    ## Verified by
    The proof makes an array under `jax.default_device` and indexes it outside the block under JAX's
    device-to-device transfer guard. The guard reports a copy of the whole array. After the fix
    nothing is copied, and the row is where it was. The data path measures the time of an item.

    ## References
    - [jax.Array.committed](https://docs.jax.dev/en/latest/_autosummary/jax.Array.committed.html)
    - [jax.default_device](https://docs.jax.dev/en/latest/_autosummary/jax.default_device.html)
    """

    code, name = "JDP201", "uncommitted-array-indexed"
    advice = (
        "Commit it where it is made, with `jax.device_put(array, device)`, and put each part "
        "that is taken on the accelerator; or put it there once, whole"
    )
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = Says("default_device", "jax_default_device")

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for use in ctx.flow.uses():
            if use.kind is not record.UseKind.INDEXED:
                continue
            first = copied_in_first_iteration(use, ctx)
            moved = use.moved - copied_once(use, ctx) | first
            if moved:
                each_time = use.in_loop and moved != first
                report_use(replace(use, moved=moved, in_loop=each_time), ctx, "indexing it")
        report_possible_uses(record.UseKind.INDEXED, ctx, "indexing it")
