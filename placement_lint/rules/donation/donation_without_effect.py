"""JDP804."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.readings import DONATES, donations
from placement_lint.semantic.enclosing import is_in_test

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class DonationWithoutEffect(Rule):
    """A donation that frees nothing.

    ## What it does
    Finds arguments that a call is to donate and that have no buffer to take, or none that can be
    taken: NumPy arrays and Python values; parameters that the compiled function never uses;
    arguments of which no output has the shape.

    ## Why is this bad?
    The program needs the memory that somebody wanted to save. JAX warns of some of these on some
    versions only: of an output of another size up to 0.7, of NumPy arrays never.

    ## Example
    ```python
    from functools import partial

    import jax
    import numpy as np

    @partial(jax.jit, donate_argnums=0)
    def normalize(images):
        return images / 255

    print(normalize(np.zeros((512, 512))))
    ```

    ## Use instead
    ```python
    from functools import partial

    import jax
    import jax.numpy as jnp

    @partial(jax.jit, donate_argnums=0)
    def normalize(images):
        return images / 255

    print(normalize(jnp.zeros((512, 512))))
    ```

    ## Fix safety
    No fix is offered: the argument may be donated elsewhere, and what is to be saved is open.

    ## What it does not flag
    Arguments of which it is not known what they are, and functions of which it is not known what
    they give. Calls inside of another compiled function, where nothing is donated. Tests.

    ## Verified by
    The proof donates an array to a function that only gives its sum: the array is alive after that.
    A function that gives an array of the same shape takes it.

    ## References
    - [jax-ml/jax#9675](https://github.com/jax-ml/jax/issues/9675),
      [#25346](https://github.com/jax-ml/jax/issues/25346),
      [#18617](https://github.com/jax-ml/jax/issues/18617)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, on the CPU
    """

    code, name = "JDP804", "donation-without-effect"
    advice = "Leave the donation out, or give the call a JAX array that an output can replace"
    severity = Severity.INFO
    pedantic = True
    needs = DONATES

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for each in donations(ctx).idle:
            if is_in_test(each.node, ctx):
                continue
            what = f"`{each.text}`" if each.text else "this argument"
            ctx.report(each.node, f"{what} is donated to `{each.to}` in vain: {each.why}")
