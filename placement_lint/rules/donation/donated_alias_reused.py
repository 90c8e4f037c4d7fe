"""JDP802."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Severity
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.donation.readings import DONATES, confidence, deleted, donated, readings
from placement_lint.syntax.dotted import whole_of
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.findings import Edit
    from placement_lint.rules.context import Context
    from placement_lint.semantic.donation.readings import Reading
    from placement_lint.syntax.edits import Editor


class DonatedAliasReused(Rule):
    """An array that shares its buffer with a donated one, and is read after the donation.

    ## What it does
    Finds reads of a donated array by another name: after `backup = params`, and after an expression
    that looks like a copy but is not, such as `jnp.asarray(x)`, `x[:]`, `jax.device_put(x)`,
    `jax.tree.map(lambda a: a, x)`, `x.addressable_data(0)` and, from one device, `jax.device_put(x,
    NamedSharding(mesh, PartitionSpec()))`. It also finds assignments that put the donated array
    back: `params = backup`, `params = new if ok else backup`; also where a method of the object
    has donated it.

    ## Why is this bad?
    A donation deletes the buffer for all names that refer to it. Old parameters that were kept for
    a comparison, an average or a retry are gone after the first step: `RuntimeError: Array has been
    deleted`.

    ## Example
    ```python
    from functools import partial

    import jax
    import jax.numpy as jnp

    @partial(jax.jit, donate_argnums=0)
    def update(params):
        return params * 0.9

    params = jnp.ones((1024, 1024))
    initial = params
    params = update(params)
    print(jnp.abs(params - initial).max())
    ```

    ## Use instead
    ```python
    from functools import partial

    import jax
    import jax.numpy as jnp

    @partial(jax.jit, donate_argnums=0)
    def update(params):
        return params * 0.9

    params = jnp.ones((1024, 1024))
    initial = jnp.copy(params)
    params = update(params)
    print(jnp.abs(params - initial).max())
    ```

    ## Fix safety
    Display-only: a copy takes as much memory as the donation was meant to save.

    ## What it does not flag
    Copies: `jnp.array(x)`, `jnp.copy(x)`, `x.copy()`, `copy.deepcopy`, the result of a jitted
    function, `jax.device_put` to a sharding that splits the array. Possible copies:
    `x.astype(dtype)`, `jax.device_put(x, device)`, `dict(x)`. Items by a number or an
    unknown index that were taken before the donation, `row = cache[slot]`: of an array they are
    copies. And everything that JDP801 does not flag.

    ## Verified by
    The proof keeps `jnp.asarray(x)`, donates `x`, and reads what it kept, which raises. With
    `jnp.copy(x)` it can be read.

    ## References
    - [google-deepmind/optax#1059](https://github.com/google-deepmind/optax/issues/1059): an
      optimizer's state that is the parameters themselves
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, on the CPU
    """

    code, name = "JDP802", "donated-alias-reused"
    advice = "Make a copy before the donation (`jnp.copy`, or `jax.tree.map(jnp.copy, …)`)"
    severity, fix = Severity.ERROR, Applicability.DISPLAY
    needs = DONATES

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for each in readings(ctx, aliases=True):
            ctx.report(
                each.node,
                _message(each, ctx),
                confidence=confidence(each.surety),
                related=[(each.donation, ctx.module.path, "donated here")],
                fix=_copied(each.node, ctx),
            )


def _message(each: Reading, ctx: Context) -> str:
    text = each.kept_as or each.death.text or "what was donated"
    if each.is_again:
        return (
            f"`{each.text}` shares the buffer of `{text}`, which is donated to `{each.death.to}` "
            "in each iteration: it is deleted from the second one on"
        )
    return (
        f"`{each.text}` shares the buffer of `{text}`, which {deleted(each)}: it was "
        f"{donated(each, ctx)}"
    )


def _copied(node: cst.CSTNode, ctx: Context) -> FixPlan | None:
    """Copy what the name was bound to, where one assignment of the file binds it."""
    name = whole_of(node)
    if not isinstance(name, cst.Name) or not ctx.tree.contains(name):
        return None
    value = ctx.names.sole_value(name)
    spelled = None if value is None else ctx.reach("jax.numpy.copy", at=node)
    mapped = None if value is None else ctx.reach("jax.tree.map", at=node)
    if value is None or spelled is None or mapped is None:
        return None

    def build(editor: Editor) -> list[Edit]:
        return editor.wrap(value, f"{mapped}({spelled}, ", ")")

    return FixPlan(
        Applicability.DISPLAY,
        "Copy it before it is donated",
        build,
        imports=needed([spelled, mapped]),
    )
