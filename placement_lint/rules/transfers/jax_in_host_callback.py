"""JDP408."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS
from placement_lint.prefilter.conditions import GIVEN, AllOf, AnyOf, Jax, Uses, Word
from placement_lint.rules.base import Rule
from placement_lint.rules.transfers.given_by_objects import computations_by_objects
from placement_lint.semantic.given_functions import computation_given, computations_here
from placement_lint.semantic.program_queries import GivenTo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.context import Context
    from placement_lint.semantic.given_functions import FirstComputation


_MOST_CALLS = 10
"""Calls that give one function to the device, and are named with it."""
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

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        # Several calls may be given one function.
        computations: dict[int, list[FirstComputation]] = {}
        for call in ctx.tree.every(cst.Call):
            found = computation_given(call, ctx) if ctx.called(call) in HOST_CALLBACKS else None
            if found is not None and found.node is not None:
                computations.setdefault(id(found.node), []).append(found)
        for every in computations.values():
            _report(every[-1], [(each.call, ctx) for each in every[:_MOST_CALLS]], ctx)
        reported = set(computations)
        for here, given in computations_here(ctx, GivenTo.CALLBACK):
            if id(here) not in reported:
                reported.add(id(here))
                message = f"{given.name} in a callback that {given.by} gives to the device"
                ctx.report(here, _MESSAGE.format(message))
        for found, there in computations_by_objects(ctx, GivenTo.CALLBACK):
            if found.node is not None and id(found.node) not in reported:
                reported.add(id(found.node))
                _report(found, [(found.call, there)], ctx, Confidence.LIKELY)


def _report(
    found: FirstComputation,
    calls: Sequence[tuple[cst.Call, Context]],
    ctx: Context,
    confidence: Confidence = Confidence.DEFINITE,
) -> None:
    """Report a computation once, whatever number of calls gives it to the device."""
    if found.node is None:
        return
    what = f"{found.name} in a host callback" if found.name else "this callback"
    related = [(call, there.module.path, "given to the device here") for call, there in calls]
    ctx.report(
        found.node,
        _MESSAGE.format(what),
        confidence=confidence,
        related=related if found.name else (),
    )
