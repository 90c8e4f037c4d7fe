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
    Finds donated arguments of a call that have no buffer to donate, or none that can be used: NumPy
    arrays and Python values; parameters that the compiled function never uses; arguments whose
    shape no output has.

    ## Why is this bad?
    The program still needs the memory that the donation was meant to save. JAX warns about only
    some of these, on some versions: about an output of another size up to 0.7, about NumPy arrays
    never.

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
    No fix: other calls may donate an array, and only the author knows what the donation was for.

    ## What it does not flag
    Arguments of unknown type, and functions with unknown results; Equinox's `donate="all"`, which
    names no argument. Calls inside another compiled function, where nothing is donated. Tests.

    ## Verified by
    The proof donates an array to a function that returns its sum, and the array still exists after
    the call. A function that returns an array of the same shape deletes it.

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
