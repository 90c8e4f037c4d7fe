"""JDP408."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS, runs_on_device
from placement_lint.jaxmodel.transfer import TABLE, Effect
from placement_lint.prefilter.conditions import AllOf, GivenFunction, Jax
from placement_lint.rules.base import Rule
from placement_lint.semantic.elsewhere import effects_of, method_effects
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.semantic.functions import calls_inside
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from placement_lint.placement.facts.traced import Traced
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import EffectOrigin, FunctionEffects


_MESSAGE = "{} waits for the device, which waits for the callback: deadlock"


class JaxInHostCallback(Rule):
    """A JAX computation in the Python function of a host callback.

    ## What it does
    Finds the first JAX computation in a function that is passed to `jax.pure_callback`,
    `jax.experimental.io_callback` or `jax.debug.callback`: in the function itself, in a lambda, or
    in a function that it calls, of the same file or, directly, of another file of the run; and a
    callback that is itself a jitted function.

    ## Why is this bad?
    The device waits for the callback, and the computation in the callback waits for the device.
    While few steps are pending, a thread is free to run it, and the program works. With about
    thirty steps dispatched ahead, as in any training loop, the program deadlocks, without a
    message. This was measured on every version tried from 0.5.3 to 0.10.2.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp

    def standardise(x):
        return (x - jnp.mean(x)) / jnp.std(x)

    @jax.jit
    def step(x):
        return jax.pure_callback(standardise, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    def standardise(x):
        x = np.asarray(x)
        return (x - np.mean(x)) / np.std(x)

    @jax.jit
    def step(x):
        return jax.pure_callback(standardise, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    ```

    ## Fix safety
    No fix: only the author knows whether NumPy has the function, with the same result.

    ## What it does not flag
    Expressions that compute nothing on a device: types (`jnp.float32`), shapes,
    `jax.ShapeDtypeStruct`, `jax.device_get`, tree functions over NumPy functions, `np.asarray`.
    Functions that the callback only defines; unknown callbacks. Code that runs only while JAX
    traces, which is not the case in a callback: the handler of
    `jax.errors.TracerArrayConversionError` and similar, or code behind `isinstance(x,
    jax.core.Tracer)`.

    Arithmetic on the callback's arguments, `x[0]`, and `np.sum(x)`, which calls a method of `x`,
    are not flagged either, although a callback gets JAX arrays, so that they are JAX computations
    and can deadlock in the same way. Begin each callback with `x = np.asarray(x)`.

    ## Verified by
    The proof dispatches 64 steps and waits for them. With the computation in the callback they have
    not finished after twelve seconds. With NumPy they all finish within one or two.

    ## References
    - [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html): a callback is to
      use NumPy or other host code
    - jax-ml/jax#24255, jax-ml/jax#25861: programs that hang in this way since 0.4.32
    - jax-ml/jax#24720: `jax.random` in a callback on a TPU
    """

    code, name = "JDP408", "jax-in-host-callback"
    advice = "Compute with NumPy in the callback"
    severity = Severity.ERROR
    needs = AllOf(Jax(), GivenFunction(HOST_CALLBACKS, "callback"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.called(node) not in HOST_CALLBACKS or failure_is_expected(node, ctx):
            return
        callback = Arguments(node).get(0, "callback")
        if callback is None:
            return
        if _computes(callback, ctx):
            ctx.report(callback, _MESSAGE.format("this callback"))
            return
        function = function_of(callback, ctx.names)
        if function is None:
            origin = _computed_in(effects_of(callback, ctx))
            origin = origin or _computed_in(method_effects(callback, "__call__", ctx))
            if origin is not None:
                ctx.report(callback, _MESSAGE.format(origin))
            return
        given = (node, ctx.module.path, "given to the device here")
        for call in calls_inside(function, ctx, traced=False):
            name = ctx.called(call)
            if name is None:
                continue
            message = f"{name} in a host callback"
            if not runs_on_device(name):
                origin = _computed_in(effects_of(call.func, ctx))
                if origin is None:
                    continue
                message = f"{origin}, called in a host callback,"
            ctx.report(call, _MESSAGE.format(message), related=(given,))
            return


def _computed_in(effects: FunctionEffects | None) -> EffectOrigin | None:
    """Return the first JAX computation in a function of another file."""
    if effects is None or effects.is_traced:
        return None
    return next(map(effects.origin, (c for c in effects.calls if runs_on_device(c.name))), None)


def _computes(callback: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a callback is itself a JAX function, or one that `jax.jit` made."""
    name = ctx.name(callback)
    if name is not None and runs_on_device(name):
        return True
    maker = ctx.called(followed(callback, ctx))
    row = TABLE.get(maker or "")
    if row is not None and row.effect is Effect.TRANSFORM:
        return True
    function = function_of(callback, ctx.names)
    traced = ctx.module.fact(_traced)
    return isinstance(function, cst.FunctionDef) and traced.computation(function) is not None


def _traced(facts: ModuleFacts) -> Traced:
    from placement_lint.placement.facts.traced import Traced

    return Traced(facts.tree, facts.names)
