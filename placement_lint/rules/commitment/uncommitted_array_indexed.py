"""JDP201."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.placement import record
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.creation import report_use
from placement_lint.rules.commitment.turns import copied_at_first_turn, copied_once
from placement_lint.rules.needs import Says

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class UncommittedArrayIndexed(Rule):
    """An array that lives on the host, uncommitted, and is indexed where that is not the default.

    ## What it does
    Finds indexing, slicing, unpacking and iteration of an array that was made under
    `jax.default_device(d)`, or while `jax_default_device` was set, at a place where another device
    is the default. The finding is at the use; the first related place is the creation.

    ## Why is this bad?
    A default device says where an array is *made*, not where it stays: the array is *uncommitted*.
    An operation on uncommitted arrays runs on the default device of that moment, and JAX first
    copies every operand there, whole. So `array[0]`, outside of the block, copies all of the array
    to the accelerator, takes one row, and throws the copy away; and the next index does it again.
    On a 6.5 GB array an item took 1.2 s; after `jax.device_put(array, cpu)` it took 0.0002 s. Even
    `float(array[0, 0])` copies everything. Where the array does not fit, the program dies of
    memory.

    ## Example
    ```python
    import jax
    from safetensors.flax import load_file

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        tokens = load_file("train.safetensors")["tokens"]
    for step in range(1000):
        batch = tokens[step]
    ```

    ## Use instead
    ```python
    import jax
    from safetensors.flax import load_file

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        tokens = jax.device_put(load_file("train.safetensors")["tokens"], cpu)
    for step in range(1000):
        batch = tokens[step]
    ```

    ## Fix safety
    Safe: committing an array to the device that it is on copies nothing. What is taken from it then
    stays on that device too, so a batch still has to be put on the accelerator, with
    `jax.device_put(batch, device)`, where it is computed upon. Where the array, or something made
    of it, meets an array that is or may be committed to another device, no fix is offered, because
    that operation would fail. The fix is unsafe where the device is named by an expression that may
    give another device the second time.

    ## What it does not flag
    What gives back the same array: `x[:]`, `x[...]`, `x[()]`. What only reads it: `len(x)`,
    `x.shape`, `x.item(0)`, `np.asarray(x)[0]`, printing. An array that is committed, or used only
    under the same default device; PRNG keys and scalars. A device that may be the accelerator
    itself, such as a parameter. A program that pins itself to the CPU (`JAX_PLATFORMS=cpu`), or
    `accelerator = false` in the settings.

    ## Verified by
    The proof makes an array under `jax.default_device`, indexes it outside of the block with JAX's
    device-to-device transfer guard on, and sees the guard name the whole parent; after the fix
    nothing moves. The data path measures the time of an item.

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
        """Report what the interpreter saw."""
        for use in ctx.flow.uses():
            if use.kind is not record.UseKind.INDEXED:
                continue
            first = copied_at_first_turn(use, ctx)
            moved = use.moved - copied_once(use, ctx) | first
            if moved:
                each_time = use.in_loop and moved != first
                report_use(replace(use, moved=moved, in_loop=each_time), ctx, "indexing it")
