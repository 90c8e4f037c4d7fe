"""JDP408."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS
from placement_lint.prefilter.conditions import GIVEN, AllOf, AnyOf, Jax, Uses, Word
from placement_lint.rules.base import Rule
from placement_lint.rules.transfers.given_by_objects import computations_by_objects
from placement_lint.semantic.given_functions import computation_given, computations_here
from placement_lint.semantic.program_queries import GivenTo

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


_MESSAGE = "{} waits for the device, which waits for the callback: deadlock"


class JaxInHostCallback(Rule):
    """A JAX computation in the Python function of a host callback.

    ## What it does
    Finds the first JAX computation in a function that is passed to `jax.pure_callback`,
    `jax.experimental.io_callback` or `jax.debug.callback`: in the function itself, in a lambda, or
    in a function that it calls, of the same file or of another file of the run, where it is
    reported; and a callback that is itself a jitted function. The callback may be what an object
    of the program holds, a method that a subclass has, or an argument of a helper.

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
    needs = AllOf(Jax(), AnyOf(Uses(*HOST_CALLBACKS), Word(GIVEN.encode())))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.called(node) not in HOST_CALLBACKS:
            return
        found = computation_given(node, ctx)
        if found is None or found.node is None:
            return
        if not found.name:
            ctx.report(found.node, _MESSAGE.format("this callback"))
            return
        given = (node, ctx.module.path, "given to the device here")
        message = f"{found.name} in a host callback"
        ctx.report(found.node, _MESSAGE.format(message), related=(given,))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for call, given in computations_here(ctx, GivenTo.CALLBACK):
            message = f"{given.name} in a callback that {given.by} gives to the device"
            ctx.report(call, _MESSAGE.format(message))
        for found, there in computations_by_objects(ctx, GivenTo.CALLBACK):
            if found.node is not None:
                given_here = (found.call, there.module.path, "given to the device here")
                message = f"{found.name} in a host callback"
                ctx.report(
                    found.node,
                    _MESSAGE.format(message),
                    confidence=Confidence.LIKELY,
                    related=(given_here,),
                )
