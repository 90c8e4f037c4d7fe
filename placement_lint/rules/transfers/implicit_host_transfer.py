"""JDP410."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.transfers.array_sizes import size_text
from placement_lint.rules.transfers.jitted_calls import jitted
from placement_lint.rules.transfers.numpy_values import makes_numpy_array
from placement_lint.semantic.config_contexts import context_of
from placement_lint.semantic.enclosing import ancestors_in_function, is_in_test
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_CONVERTING = frozenset({"jax.numpy.array", "jax.numpy.asarray"})
_PLACING = (
    "jax.device_put",
    "jax.make_array_from_callback",
    "jax.make_array_from_process_local_data",
    "jax.make_array_from_single_device_arrays",
)
_SPELT_OUT = (
    "jax.default_device",
    "jax.transfer_guard",
    "jax.transfer_guard_host_to_device",
)

_MODELS = frozenset({"flax.linen.Module", "haiku.Module"})
"""What runs in functions that are initialised and applied, which are compiled as a whole."""
_KEYS = frozenset({"key", "prng_key", "rng"})
_WORDS = ("accelerator", "cpu", "device", "gpu", "host", "placement")
"""What the context managers of other files are called that choose a device."""


class ImplicitHostTransfer(Rule):
    """A NumPy array that is copied to the device implicitly.

    ## What it does
    Finds `jnp.array` and `jnp.asarray` of a NumPy array, and a NumPy array as an argument of a
    jitted function, outside loops. The rule is off by default; it is for projects that want every
    transfer to be explicit.

    ## Why is this bad?
    The whole array is copied from the host to the default device, and the line does not show it.
    `jax.transfer_guard("disallow")` makes JAX raise on such a copy, but only when the line runs.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    mask = jnp.asarray(np.tril(np.ones((512, 512))))
    weights = jnp.array(np.ones((512, 512)))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    device = jax.devices()[0]
    mask = jax.device_put(np.tril(np.ones((512, 512))), device)
    weights = jax.device_put(np.ones((512, 512)), device)
    ```

    ## Fix safety
    No fix: only the author knows where the array should go.

    ## What it does not flag
    Lists and numbers; values that are not certainly NumPy arrays; loops, in which each iteration
    has a new batch (JDP406 finds those that pass the same one). A call with `device=`, inside
    `jax.device_put`, or in a block that sets the default device or a transfer guard. Static
    arguments, and arguments of functions that have shardings for them; traced code, and the code
    of networks of Flax and Haiku and of initializers of parameters, which is mostly traced; a
    program that is pinned to the CPU; tests.

    ## Verified by
    The proof passes a NumPy array to a jitted function while implicit transfers are disallowed, and
    JAX raises. Put on the device by `jax.device_put`, the array is accepted.

    ## References
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html): what is implicit
    - Measured on JAX 0.4.30, 0.7.2, 0.10.2 and 0.12.0.1: the guard stops jitted functions and
      `jnp.array` on all, `jnp.asarray` from a version after 0.7.2 on
    """

    code, name = "JDP410", "implicit-host-transfer"
    advice = "Transfer it explicitly, with `jax.device_put(x, device)`"
    severity = Severity.INFO
    follows_arrays = False
    pedantic = True
    needs = AllOf(Jax(), AnyOf(b"jit", b"array"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        keeps_type = True
        if ctx.called(node) in _CONVERTING:
            arguments = Arguments(node)
            first = arguments.get(0, "object", "a")
            is_placed = (
                arguments.is_open or arguments.get(None, "device", "out_sharding") is not None
            )
            given = [] if first is None or is_placed else [first]
            keeps_type = not arguments.may_pass(1, "dtype")
            receiver = (ctx.called(node) or "").replace("jax.numpy.", "jnp.")
        else:
            compiled = jitted(node.func, ctx)
            if compiled is None or compiled.is_placed:
                return
            given, receiver = compiled.traced_arguments(node), "the jitted function"
        given = [each for each in given if makes_numpy_array(each, ctx)]
        if not given or not _is_meant(node, ctx):
            return
        for each in given:
            amount = size_text(each, ctx) if keeps_type else ""
            ctx.report(
                each,
                f"implicit host-to-device transfer: {receiver} copies this NumPy array to the "
                f"default device{amount}",
                confidence=Confidence.LIKELY,
            )


def _is_meant(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call is one that the rule is about: no loop, and nothing says where to."""
    if is_in_test(node, ctx) or is_pinned_to_cpu(ctx.module):
        return False
    if ctx.inside_with(node, *_SPELT_OUT) or any(
        _enters_one(each.item, ctx) for each in ctx.with_items(node)
    ):
        return False
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.For | cst.While) and child is ancestor.body:
            return False
        if isinstance(ancestor, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            return False
        if ctx.is_call(ancestor, *_PLACING):
            return False
    return not ctx.module.fact(TracedFunctions).is_traced(node) and not _is_of_model(node, ctx)


def _is_of_model(node: cst.Call, ctx: Context) -> bool:
    """Return whether code is of a network or makes its parameters: that is mostly traced."""
    for around in ctx.ancestors(node):
        if isinstance(around, cst.FunctionDef):
            named = [each.name.value for each in around.params.params[:2]]
            if len(named) == 2 and named[0] in _KEYS and named[1] == "shape":
                return True
        if isinstance(around, cst.ClassDef):
            return any(ctx.name(base.value) in _MODELS for base in around.bases)
    return False


def _enters_one(item: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a context manager of the program may say where to."""
    if not isinstance(item, cst.Call):
        return False
    function = function_of(item.func, ctx.names)
    if function is not None:
        calls = ctx.tree.every(cst.Call, below=function)
        return any(ctx.called(each) in _SPELT_OUT for each in calls)
    entered = context_of(item, ctx)
    if entered is not None:
        return entered.name in _SPELT_OUT
    last = dotted(item.func).rpartition(".")[2].lower()
    return any(word in last for word in _WORDS)
