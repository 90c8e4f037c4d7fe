"""JDP803."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.readings import DONATES, confidence, donations
from placement_lint.semantic.donation.buffers import Surety
from placement_lint.semantic.enclosing import failure_is_expected

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class DonatedTwice(Rule):
    """A buffer that is passed to a call twice, and donated at least once.

    ## What it does
    Finds calls of compiled functions that donate an argument and get the same array as two
    arguments, or a tree that contains one array twice: `step({"params": params, "ema": params})`.

    ## Why is this bad?
    XLA raises when the function runs: `INVALID_ARGUMENT: Attempt to donate the same buffer twice in
    Execute()`, or `Attempt to use a buffer that was previously donated in the same call`. A state
    whose averages, targets or momenta initially *are* the parameters fails in its first step.

    ## Example
    ```python
    from functools import partial

    import jax

    @partial(jax.jit, donate_argnums=0)
    def update(state):
        return jax.tree.map(lambda x: x * 0.9, state)

    def train(params):
        state = {"params": params, "ema": params}
        return update(state)
    ```

    ## Use instead
    ```python
    from functools import partial

    import jax
    import jax.numpy as jnp

    @partial(jax.jit, donate_argnums=0)
    def update(state):
        return jax.tree.map(lambda x: x * 0.9, state)

    def train(params):
        state = {"params": params, "ema": jax.tree.map(jnp.copy, params)}
        return update(state)
    ```

    ## Fix safety
    No fix: a copy takes memory, and only the author knows which of the two to copy.

    ## What it does not flag
    Arguments none of which is donated; copies; different parts of one tree; an item by a number or
    an unknown index, `cache[slot]`, beside the whole: of an array it is a copy; NumPy arrays and
    numbers; an argument that the function does not use; arguments that are the same array only if
    another condition holds, or a loop has no iteration (with `--min-confidence possible` they are
    reported).

    ## Verified by
    The proof passes a dict with one array under two keys to a jitted function that donates its
    argument, which raises. With a copy under one of them it runs.

    ## References
    - [google-deepmind/optax#1059](https://github.com/google-deepmind/optax/issues/1059),
      [jax-ml/jax#9635](https://github.com/jax-ml/jax/issues/9635),
      [#2936](https://github.com/jax-ml/jax/issues/2936)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, on the CPU
    """

    code, name = "JDP803", "donated-twice"
    advice = "Give it a copy in one of the places (`jnp.copy`, or `jax.tree.map(jnp.copy, …)`)"
    severity = Severity.ERROR
    needs = DONATES

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for each in donations(ctx).repeats:
            if failure_is_expected(each.node, ctx):
                continue
            what = f"`{each.text}`" if each.text else "one array"
            perhaps = "perhaps " if each.surety is Surety.MAYBE else ""
            then = "donated twice" if each.is_donated_twice else "donated and passed again"
            ctx.report(
                each.node,
                f"{what} is {perhaps}{then} in this call of `{each.to}`: JAX refuses to run it",
                confidence=confidence(each.surety),
            )
