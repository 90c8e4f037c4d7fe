"""JDP801."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.readings import DONATES, confidence, donated, readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import libcst as cst

    from placement_lint.rules.context import Context
    from placement_lint.semantic.donation.expressions import Reading


class DonatedArrayReused(Rule):
    """An array that is read after its buffer was donated.

    ## What it does
    Follows what is given to functions which are compiled with `donate_argnums`, `donate_argnames`
    or Equinox's `donate="all"`, on every way through a function: what is computed with after that,
    printed, indexed, or given to another call. So does a loop that donates and does not rebind. The
    compiled function may be one of another file: imported, returned by a function there, or an
    attribute of an object or a base class.

    ## Why is this bad?
    The compiled function writes its result into the buffer. JAX deletes the array that was given:
    to read it raises `RuntimeError: Array has been deleted`, to donate it again raises ValueError.
    Where no output of the size of the argument takes the buffer the array stays, on some versions
    with a warning. Such a program fails with the next change of a shape or a type.

    ## Example
    ```python
    from functools import partial

    import jax

    @partial(jax.jit, donate_argnums=0)
    def train_step(state, batch):
        return state.apply_gradients(grads=jax.grad(state.apply_fn)(state.params, batch))

    def train(state, batches):
        for batch in batches:
            new_state = train_step(state, batch)
        return new_state
    ```

    ## Use instead
    ```python
    from functools import partial

    import jax

    @partial(jax.jit, donate_argnums=0)
    def train_step(state, batch):
        return state.apply_gradients(grads=jax.grad(state.apply_fn)(state.params, batch))

    def train(state, batches):
        for batch in batches:
            state = train_step(state, batch)
        return state
    ```

    ## Fix safety
    No fix is offered: whether the new value is meant, or a copy of the old one, only the author
    knows.

    ## What it does not flag
    What is bound again before it is read, on each way that leads there; other arms of an `if`, what
    only one of them donated behind another `if`, and the handlers of a `try`; a fresh batch in each
    iteration. `x.shape`, `x.dtype`, `x.sharding`, `x.is_deleted()`, `x.delete()`,
    `jnp.zeros_like(x)`, `jax.eval_shape`, `step.lower(x)`: they need no data. NumPy arrays, which
    have nothing to donate. An argument that the compiled function does not use. A donation inside
    of another compiled function, or under `jax.disable_jit`, which has no effect. The modules that
    `flax.nnx.jit` is given: they get the new arrays. What is expected to fail (`pytest.raises`,
    `except RuntimeError`). Code behind `if not x.is_deleted():`. What is donated if a parameter
    says so (`donate_argnums=(0,) if donate else ()`).

    A finding is definite where an output surely has the shape and type of the argument, else
    likely.

    ## Verified by
    The proof donates an array to a jitted function and adds one to it: JAX raises. Rebound to the
    result, it can be read.

    ## References
    - [jax-ml/jax#9237](https://github.com/jax-ml/jax/issues/9237),
      [#3412](https://github.com/jax-ml/jax/issues/3412): the same array used after its donation
    - [Buffer donation](https://docs.jax.dev/en/latest/buffer_donation.html)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1, on the CPU, which donates
      since jaxlib 0.3.24; GPUs and TPUs always have. The CPU keeps a buffer as long as NumPy has a
      view of it
    """

    code, name = "JDP801", "donated-array-reused"
    advice = "Bind the result to the name, or donate a copy (`jnp.copy`)"
    severity = Severity.ERROR
    needs = DONATES

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for each, texts in _by_call(readings(ctx, aliases=False)):
            ctx.report(
                each.node,
                _message(each, texts, ctx),
                confidence=confidence(each.surety),
                related=() if each.is_again else [(each.donation, ctx.module.path, "donated here")],
            )


def _by_call(found: Iterable[Reading]) -> Iterator[tuple[Reading, list[str]]]:
    """Yield what is read; of one call that donates several in each iteration, once."""
    again: dict[int, list[Reading]] = {}
    for each in found:
        if each.is_again:
            again.setdefault(id(each.donation), []).append(each)
        else:
            yield each, []
    for every in again.values():
        yield every[0], [*dict.fromkeys(each.death.text for each in every if each.death.text)]


def _message(each: Reading, texts: list[str], ctx: Context) -> str:
    text = each.death.text or "what was donated"
    if each.is_again:
        what = " and ".join(f"`{one}`" for one in texts) or text
        are, they = ("are", "they are") if len(texts) > 1 else ("is", "it is")
        if each.death.is_carried:
            return (
                f"{what} {are} donated to `{each.death.to}`, and not replaced where the iteration "
                f"ends early: {they} deleted in the next one"
            )
        return (
            f"{what} {are} donated to `{each.death.to}` in each iteration and not replaced: "
            f"{they} deleted from the second one on"
        )
    read = f"`{each.text}`" if each.text and not each.is_inside else f"`{text}`"
    how = "in this call" if each.is_inside else "here"
    return f"{read} is deleted where it is read {how}: it was {donated(each, ctx)}"
