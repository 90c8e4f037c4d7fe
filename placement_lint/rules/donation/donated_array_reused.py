"""JDP801."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.readings import (
    DONATES,
    confidence,
    deleted,
    donated,
    readings,
)
from placement_lint.semantic.donation.buffers import Surety

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import libcst as cst

    from placement_lint.rules.context import Context
    from placement_lint.semantic.donation.readings import Reading


class DonatedArrayReused(Rule):
    """An array that is read after its buffer was donated.

    ## What it does
    Finds an argument of a function that is compiled with `donate_argnums`, `donate_argnames` or
    Equinox's `donate="all"`, if it is used after the call, on any path through the function: in a
    computation, printed, indexed, or passed to another call; or returned, alone or with others, by
    a function that nothing in the file calls. It also finds a loop that donates and does not assign
    the result to the donated name. The compiled function may come from another file: imported,
    returned by a function there, or an attribute of an object or a base class; what an attribute or
    a parameter is an object of may be said by an annotation. It may be wrapped by
    a function or an object of the program that passes its arguments on. Functions that `jax.lax`
    or `jax.tree.map` calls at once read it as well: `jax.lax.cond(ok, lambda: new, lambda: old)`.

    ## Why is this bad?
    The compiled function writes its result into the buffer of the argument, and JAX deletes the
    argument. Reading it raises `RuntimeError: Array has been deleted`, and donating it again raises
    ValueError. If no output has the size of the argument, JAX keeps the array, on some versions
    with a warning. Such a program fails as soon as a shape or a type changes.

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
    No fix: only the author knows whether the new value is meant, or a copy of the old one.

    ## What it does not flag
    Names that are assigned again before they are read, on every path; other branches of an `if`,
    uses behind an `if` of arrays that only one branch has donated (with `--min-confidence possible`
    they are reported), and the handlers of a `try`; a new batch in each iteration. `x.shape`,
    `x.dtype`, `x.sharding`, `x.is_deleted()`, `x.delete()`, `jnp.zeros_like(x)`, `jax.eval_shape`,
    `step.lower(x)`, which do not read the data. NumPy arrays, which have no buffer to donate. An
    argument that the compiled function does not use. A donation inside another compiled function,
    or under `jax.disable_jit`, which has no effect. Modules that are passed to `flax.nnx.jit`,
    which get the new arrays. An exception that is expected (`pytest.raises`, `except
    RuntimeError`). Code behind `if not x.is_deleted():`. A donation that depends on a parameter
    (`donate_argnums=(0,) if donate else ()`).

    The confidence is definite if an output certainly has the shape and type of the argument, and
    likely otherwise.

    ## Verified by
    The proof donates an array to a jitted function and adds one to it, which raises. If the name is
    assigned the result, it can be read.

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
                related=_related(each, ctx),
            )


def _related(each: Reading, ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    if each.is_again:
        return []
    call = each.death.call if each.is_returned else each.donation
    return [(call, ctx.module.path, "donated here")] if ctx.tree.contains(call) else []


def _by_call(found: Iterable[Reading]) -> Iterator[tuple[Reading, list[str]]]:
    """Yield what is read; of one call that donates several in each iteration, once."""
    again: dict[int, list[Reading]] = {}
    for each in found:
        if each.is_again:
            again.setdefault(id(each.donation), []).append(each)
        else:
            yield each, []
    for every in again.values():
        best = max(every, key=lambda each: each.surety)
        alike = [each for each in every if each.surety is best.surety]
        yield best, [*dict.fromkeys(each.death.text for each in alike if each.death.text)]


def _message(each: Reading, texts: list[str], ctx: Context) -> str:
    text = each.death.text or "what was donated"
    if each.is_again:
        what = " and ".join(f"`{one}`" for one in texts) or text
        are, they = ("are", "they are") if len(texts) > 1 else ("is", "it is")
        if each.surety is Surety.MAYBE:
            return (
                f"{what} {are} donated to `{each.death.to}`, and may not be replaced by the next "
                f"iteration: {they.split()[0]} may be deleted there"
            )
        if each.death.is_carried:
            return (
                f"{what} {are} donated to `{each.death.to}`, and not replaced where the iteration "
                f"ends early: {they} deleted in the next one"
            )
        return (
            f"{what} {are} donated to `{each.death.to}` in each iteration and not replaced: "
            f"{they} deleted from the second one on"
        )
    if each.is_returned:
        return f"what this call returns {deleted(each)}: it was donated to `{each.death.to}` in it"
    read = f"`{each.text}`" if each.text and not each.is_inside else f"`{text}`"
    how = "in this call" if each.is_inside else "here"
    return f"{read} {deleted(each)} where it is read {how}: it was {donated(each, ctx)}"
