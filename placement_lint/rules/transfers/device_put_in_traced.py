"""JDP403."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.tracing import COMPILING, COMPILING_WORDS, TraceKind
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Says, Uses, passed
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.queries import names_device
from placement_lint.rules.meshes.compiled_callers import runs_only_compiled
from placement_lint.rules.meshes.shardings import calls_at, may_know_devices
from placement_lint.semantic.enclosing import is_asserted_to_fail
from placement_lint.semantic.tracing import TracedBy, TracedFunctions
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

# Those that ignore `device=` while they are traced; `arange`, `linspace` and `asarray` obey it.
_CREATORS = frozenset(
    f"jax.numpy.{name}"
    for name in "empty eye full full_like ones ones_like zeros zeros_like".split()
)

_AT_TRACE_TIME = ("jax.core.eval_context", "jax.ensure_compile_time_eval")
_UNCOMPILED = ("chex.fake_jit", "chex.fake_pmap_and_jit", "jax.disable_jit")
_SHARDINGS_OF_ONE = (b"SingleDeviceSharding", b".sharding")


class DevicePutInTraced(Rule):
    """A `jax.device_put` to a device inside a function that JAX compiles.

    ## What it does
    Finds `jax.device_put(x, jax.devices("cpu")[0])`, `x.to_device(device)` and `jnp.zeros(…,
    device=device)` with a single device, in a function that is passed to `jax.jit`, `jax.pmap`,
    `jax.lax.scan`, `cond`, `while_loop`, `jax.shard_map` and similar functions, or to the wrappers
    of flax.nnx and equinox, by a decorator or by a call, also under the name of a
    `functools.partial(jax.jit, …)`; and in a function or method of any file
    that only compiled code calls, or that a subclass compiles. The device may be what an object
    holds.

    ## Why is this bad?
    A compiled program runs on one set of devices, that of its arguments. The compiler silently
    ignores a device inside it: an array that should be offloaded to the host, or moved to a second
    accelerator, stays where it is. In `jax.shard_map` outside jit, the call raises ValueError.

    ## Example
    ```python
    import jax

    cpu = jax.devices("cpu")[0]

    @jax.jit
    def step(state, batch):
        history = jax.device_put(state.history, cpu)
        return update(state, batch, history)
    ```

    ## Use instead
    ```python
    import jax

    cpu = jax.devices("cpu")[0]

    @jax.jit
    def step(state, batch, history):
        return update(state, batch, history)

    def train(state, batch):
        state = step(state, batch, state.history)
        return state, jax.device_put(state.history, cpu)
    ```

    Inside a compiled function, memory kinds do work: `jax.device_put(x,
    sharding.with_memory_kind("pinned_host"))`. Shardings work only in
    `jax.lax.with_sharding_constraint`: see JDP705.

    ## Fix safety
    Display-only: it removes the call, which does not change what the program does. What was
    intended must be done by the caller.

    ## What it does not flag
    Shardings (JDP705), memory kinds, and arguments that may be either; `jax.device_put(x)`.
    Functions passed only to `jax.vmap`, `jax.grad` or `jax.checkpoint`, in which `jax.device_put`
    works outside jit. `jnp.arange`, `linspace` and `asarray` with `device=`, which works in newer
    versions. A function that is also called directly; the Python function of a `jax.pure_callback`.
    Code under `jax.ensure_compile_time_eval`; functions that are only used under `jax.disable_jit`.

    ## Verified by
    The proof puts an array on the host in a jitted function and finds the result on the
    accelerator. In the fix the caller puts the result there, and it is on the host. A test executes
    every function that traces with `jax.device_put` inside.

    ## References
    - [jax-ml/jax#6040](https://github.com/jax-ml/jax/issues/6040): `device_put` does not work in
      jitted functions
    - [jax-ml/jax#26000](https://github.com/jax-ml/jax/issues/26000): placement inside of jit is
      controlled by shardings
    - Measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP403", "device-put-in-traced"
    advice = "Put the arguments on the device before the call, or the result after it"
    severity, fix = Severity.ERROR, Applicability.DISPLAY
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(
            Uses("jax.device_put"),
            Says("to_device"),
            passed(b"device"),
        ),
        AnyOf(*COMPILING_WORDS, Uses("jax.device_put")),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name = ctx.called(node)
        arguments = Arguments(node)
        operand: cst.BaseExpression | None
        if name == "jax.device_put":
            operand, target = arguments.get(0, "x"), arguments.get(1, "device")
        elif name in _CREATORS:
            operand, target = None, arguments.get(None, "device")
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "to_device":
            operand, target, name = node.func.value, arguments.get(0, "device"), "to_device"
        else:
            return
        if target is None or is_asserted_to_fail(node, ctx):
            return
        traced_by = ctx.module.fact(TracedFunctions).around(node, COMPILING)
        if traced_by is None and _is_called_by_nothing(node, ctx):
            return
        if not names_device(target, ctx) and not _is_given_device(node, ctx):
            return
        if traced_by is not None or runs_only_compiled(node, ctx):
            if _runs_as_python(node, ctx):
                return
            is_certain = traced_by is not None and traced_by.is_certain
            ctx.report(
                node,
                _message(name or "", traced_by),
                confidence=Confidence.DEFINITE if is_certain else Confidence.LIKELY,
                fix=None if operand is None else _plan(node, operand),
            )


def _runs_as_python(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call runs as it is: when its function is traced, or since nothing is
    compiled where that is defined, or where the file uses it.
    """
    # Only what has something to report needs it.
    from placement_lint.semantic.untraced import runs_only_untraced

    if ctx.inside_with(node, *_AT_TRACE_TIME, *_UNCOMPILED) or runs_only_untraced(node, ctx):
        return True
    function = ctx.function(node)
    while function is not None:
        uses: list[cst.Name] = []
        if isinstance(function, cst.FunctionDef):
            scope = ctx.names.scope(function)
            uses = [*ctx.names.uses(function.name.value, scope)]
        if ctx.inside_with(function, *_UNCOMPILED) or (
            uses and all(ctx.inside_with(use, *_UNCOMPILED) for use in uses)
        ):
            return True
        function = ctx.function(function)
    return False


def _is_called_by_nothing(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call is in a function at the top that no code of its program names."""
    function = ctx.function(node)
    if ctx.module.has_siblings or not isinstance(function, cst.FunctionDef):
        return False
    scope = ctx.names.scope(function)
    is_plain = scope is ctx.names.module_scope and not function.decorators
    return is_plain and not ctx.names.uses(function.name.value, scope)


def _is_given_device(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call gets a device as its target each time: what an object holds, say.

    Not where the program has shardings of one device, which JAX does not ignore.
    """
    if not may_know_devices(ctx) or any(
        facts.says(*_SHARDINGS_OF_ONE) for facts in ctx.module.siblings.values()
    ):
        return False
    from placement_lint.placement.domain.values import TheDevice

    seen = [call.given[0] for call in calls_at(node, ctx) if call.given]
    return bool(seen) and all(
        bool(held) and all(isinstance(atom, TheDevice) for atom in held) for held in seen
    )


def _message(name: str, traced_by: TracedBy | None) -> str:
    short = name.replace("jax.numpy.", "jnp.")
    if traced_by is None:
        what = f"device= of {short}" if name in _CREATORS else f"{short} to a device"
        return f"{what} is ignored in a function that only compiled code calls"
    tracing = traced_by.tracing
    if name in _CREATORS:
        return f"device= of {short} is ignored in a function that {tracing.name} compiles"
    if tracing.kind is TraceKind.SHARDED:
        return (
            f"{short} to a device in a function that {tracing.name} compiles is ignored in jit, "
            "and raises ValueError outside of it"
        )
    return f"{short} to a device is ignored in a function that {tracing.name} compiles"


def _plan(call: cst.Call, operand: cst.BaseExpression) -> FixPlan:
    def build(editor: Editor) -> list[Edit]:
        start, end = editor.spans.outer(operand)
        return [editor.replace(call, editor.source.text[start:end])]

    return FixPlan(Applicability.DISPLAY, "Remove the call: it has no effect", build)
