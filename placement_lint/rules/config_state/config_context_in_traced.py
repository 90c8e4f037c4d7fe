"""JDP105."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.config_states import INERT_WHEN_TRACED
from placement_lint.jaxmodel.tracing import COMPILING, TraceKind, Tracing
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.compiled_callers import runs_only_compiled
from placement_lint.semantic.config_contexts import context_of
from placement_lint.semantic.enclosing import is_asserted_to_fail
from placement_lint.semantic.program_queries import CallsAsked
from placement_lint.semantic.tracing import TracedBy, TracedFunctions

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_RECORDED = COMPILING | {TraceKind.REPLAYED}
_ENTERING = frozenset({"enter_context", "enterContext", "enter_async_context"})
_OBEYED = "jax.ensure_compile_time_eval"


class ConfigContextInTraced(Rule):
    """A `with jax.default_device(…)` inside a function that JAX compiles.

    ## What it does
    Finds `jax.default_device(device)` entered in a function that is passed to `jax.jit`,
    `jax.pmap`, `jax.shard_map`, `jax.checkpoint`, `jax.lax.scan`, `cond`, `while_loop` and similar
    functions, or to the wrappers of flax.nnx and equinox, by a decorator or by a call; and in a
    function of any file that only such functions call. It finds the same for `jax.debug_nans`,
    `jax.debug_infs`, `jax.log_compiles` and `jax.transfer_guard` in compiled functions, and for
    `jax.jit(jax.default_device(device)(function))`, also with decorators.
    The context may be entered by a context manager of the program.

    ## Why is this bad?
    JAX runs such a function in Python only once, to trace it. No array is made while the context is
    in effect. The compiled program runs later, as a whole, where its committed arguments are, or
    else on the default device of the *caller*. So the block has no effect, and JAX does not warn.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp

    @jax.jit
    def normalise(x):
        with jax.default_device(jax.devices("cpu")[0]):
            table = jnp.linspace(0.0, 1.0, 1024)
        return table @ x
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp

    @jax.jit
    def normalise(x):
        table = jnp.linspace(0.0, 1.0, 1024)
        return table @ x
    ```

    To run the function on the CPU, enter the context around the *call*, or put the arguments there:
    `normalise(jax.device_put(x, jax.devices("cpu")[0]))`.

    ## Fix safety
    Display-only: it removes the context, which does not change what the program does. What was
    intended must be done by the caller.

    ## What it does not flag
    Functions passed only to `jax.vmap`, `jax.grad`, `jax.vjp`, `jax.custom_vjp` or `jnp.vectorize`:
    these run operation by operation, and the context works. Contexts that JAX reads while it
    traces: `default_matmul_precision`, `enable_x64`, `numpy_dtype_promotion`, `disable_jit`. A
    function that is also called directly; the Python function of a `jax.pure_callback`, which runs
    on the host; `jax.ensure_compile_time_eval`, which does make arrays; a context around the call
    of a compiled function.

    ## Verified by
    The proof makes an array in such a block of a jitted function and finds it on the accelerator.
    In the fix the block is around the call, and the array is on the host. A test executes every
    function that traces, with the context and with `jax.device_put` inside.

    ## References
    - [jax-ml/jax#26000](https://github.com/jax-ml/jax/issues/26000): placement inside of jit is not
      addressable by devices
    - [jax.default_device](https://docs.jax.dev/en/latest/_autosummary/jax.default_device.html)
    """

    code, name = "JDP105", "config-context-in-traced"
    advice = (
        "Choose the device outside of the compiled function: put its arguments there with "
        "`jax.device_put`"
    )
    severity, fix = Severity.ERROR, Applicability.DISPLAY
    needs = AllOf(Jax(), Uses(*INERT_WHEN_TRACED))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name, parent = ctx.called(node), ctx.parent(node)
        if name not in INERT_WHEN_TRACED:
            if isinstance(parent, cst.WithItem) or _is_entered(parent, ctx):
                self._check_own_manager(node, parent, ctx)
            return
        if is_asserted_to_fail(node, ctx):
            return
        kinds = _kinds(name)
        if isinstance(parent, cst.Decorator):
            self._check_decorator(node, parent, kinds, ctx)
        elif isinstance(parent, cst.Call) and parent.func is node:
            self._check_wrapped(node, parent, kinds, ctx)
        elif isinstance(parent, cst.WithItem) or _is_entered(parent, ctx):
            traced = ctx.module.fact(TracedFunctions)
            traced_by = traced.around(node, kinds)
            if traced_by is None:
                self._check_helper(node, name, parent, kinds, ctx)
            elif not _is_evaluated_at_once(node, parent, ctx):
                _report(node, name, traced_by, ctx, _block_plan(parent, ctx))

    def visit_With(self, node: cst.With, ctx: Context) -> None:
        """Check `with places.host:`, of a property that gives a context."""
        for item in node.items:
            if isinstance(item.item, cst.Attribute):
                self._check_own_manager(item.item, item, ctx)

    def _check_own_manager(
        self, call: cst.Call | cst.Attribute, parent: cst.CSTNode | None, ctx: Context
    ) -> None:
        """Check a block that a context manager of the program enters."""
        entered = context_of(call, ctx)
        if entered is None or entered.name not in INERT_WHEN_TRACED:
            return
        kinds = _kinds(entered.name)
        traced_by = ctx.module.fact(TracedFunctions).around(call, kinds)
        if is_asserted_to_fail(call, ctx):
            return
        there = ctx.beside(entered.view.module.path)
        if there is None or _compiler_of_helper(entered.call, kinds, there)[0] is not None:
            # Each call of it is compiled: it is reported itself.
            return
        if traced_by is None:
            self._check_helper(call, entered.spelled, parent, kinds, ctx)
        elif not _is_evaluated_at_once(call, parent, ctx):
            _report(call, entered.spelled, traced_by, ctx, _block_plan(parent, ctx))

    def _check_helper(
        self,
        call: cst.Call | cst.Attribute,
        context: str | None,
        parent: cst.CSTNode | None,
        kinds: frozenset[TraceKind],
        ctx: Context,
    ) -> None:
        """Check a block in a function that only compiled functions call, of any file."""
        name, is_certain = _compiler_of_helper(call, kinds, ctx)
        if name is None or _is_evaluated_at_once(call, parent, ctx):
            return
        ctx.report(
            call,
            f"{context} has no effect: only functions that {name} compiles call this one",
            confidence=Confidence.DEFINITE if is_certain else Confidence.LIKELY,
            fix=_block_plan(parent, ctx),
        )

    def _check_decorator(
        self, call: cst.Call, decorator: cst.Decorator, kinds: frozenset[TraceKind], ctx: Context
    ) -> None:
        function = ctx.parent(decorator)
        if not isinstance(function, cst.FunctionDef):
            return
        for above in itertools.takewhile(lambda each: each is not decorator, function.decorators):
            tracing = ctx.module.fact(TracedFunctions).tracing(above.decorator)
            if tracing is not None and tracing.decorates and tracing.kind in kinds:
                _report(
                    call, ctx.called(call), TracedBy(tracing, True), ctx, _decorator_plan(decorator)
                )
                return

    def _check_wrapped(
        self, call: cst.Call, wrapped: cst.Call, kinds: frozenset[TraceKind], ctx: Context
    ) -> None:
        """Check `jax.jit(jax.default_device(device)(function))`."""
        argument = ctx.parent(wrapped)
        outer = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(outer, cst.Call) or outer.args[0] is not argument:
            return
        tracing = ctx.module.fact(TracedFunctions).tracing(outer.func)
        if tracing is not None and tracing.decorates and tracing.kind in kinds:
            _report(call, ctx.called(call), TracedBy(tracing, True), ctx, None)


def _kinds(context: str) -> frozenset[TraceKind]:
    """Return the kinds of tracing in which a context has no effect."""
    return _RECORDED if context == "jax.default_device" else COMPILING


def _compiler_of_helper(
    call: cst.Call | cst.Attribute, kinds: frozenset[TraceKind], ctx: Context
) -> tuple[str | None, bool]:
    """Return what compiles every function that calls the one around a call, and if that is sure."""
    traced = ctx.module.fact(TracedFunctions)
    helper = traced.function_around(call)
    traced_by = traced.only_from(call, kinds)
    name = None if traced_by is None else traced_by.tracing.name
    if runs_only_compiled(call, ctx):
        name = name or "JAX"
    elif helper is not None:
        function = helper.name.value
        if name is None and ctx.names.uses(function, ctx.names.module_scope):
            return None, False
        run, path = ctx.module.run, ctx.module.path
        elsewhere = run.calls_from_elsewhere(path, function, CallsAsked.COMPILES)
        if elsewhere.is_used and elsewhere.traced_by is None:
            return None, False
        name = name or elsewhere.traced_by
    return name, traced_by is not None and traced_by.is_certain


def _report(
    call: cst.Call | cst.Attribute,
    name: str | None,
    traced_by: TracedBy,
    ctx: Context,
    plan: FixPlan | None,
) -> None:
    # Only what has something to report needs it.
    from placement_lint.semantic.untraced import runs_only_untraced

    if runs_only_untraced(call, ctx):
        return
    ctx.report(
        call,
        f"{name} has no effect in a function that {_how(traced_by.tracing)}",
        confidence=Confidence.DEFINITE if traced_by.is_certain else Confidence.LIKELY,
        fix=plan,
    )


def _how(tracing: Tracing) -> str:
    what = "compiles" if tracing.kind in COMPILING else "records"
    return f"{tracing.name} {what}"


def _is_entered(parent: cst.CSTNode | None, ctx: Context) -> bool:
    """Return whether a context is the argument of `stack.enter_context(…)`."""
    call = ctx.parent(parent) if isinstance(parent, cst.Arg) else None
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value in _ENTERING
    )


def _is_evaluated_at_once(
    call: cst.Call | cst.Attribute, parent: cst.CSTNode | None, ctx: Context
) -> bool:
    """Return whether JAX computes at once around a context or inside it: then it is obeyed."""
    if ctx.inside_with(call, _OBEYED):
        return True
    block = ctx.parent(parent) if parent is not None else None
    return isinstance(block, cst.With) and any(
        ctx.is_call(node, _OBEYED) for node in ctx.tree.descendants(block)
    )


# -- what is shown ----------------------------------------------------------------------------

_IMPERATIVE = "Remove the context manager: it has no effect"


def _decorator_plan(decorator: cst.Decorator) -> FixPlan:
    def build(editor: Editor) -> list[Edit]:
        span = editor.span(decorator)
        return [editor.delete_lines(span.line, span.end_line)]

    return FixPlan(Applicability.DISPLAY, _IMPERATIVE, build)


def _block_plan(item: cst.CSTNode | None, ctx: Context) -> FixPlan | None:
    block = None if item is None else ctx.parent(item)
    if (
        not isinstance(item, cst.WithItem)
        or not isinstance(block, cst.With)
        or item.asname is not None
    ):
        return None
    items = list(block.items)
    place = items.index(item)

    def without_item(editor: Editor) -> list[Edit]:
        if place:
            _, start = editor.spans.outer(items[place - 1].item)
            _, end = editor.spans.outer(item.item)
        else:
            start, _ = editor.spans.outer(item.item)
            end, _ = editor.spans.outer(items[1].item)
        return [editor.replace_offsets(start, end, "")]

    def without_block(editor: Editor) -> list[Edit] | None:
        header, body = editor.span(block), editor.span(block.body)
        margin = editor.indentation(header.line)
        first = block.body.body[0]
        step = editor.indentation(editor.line_of(first)).removeprefix(margin)
        if not isinstance(block.body, cst.IndentedBlock) or not step:
            return None
        return [
            editor.delete_lines(header.line, editor.line_of(first) - 1),
            *editor.dedent_lines(editor.line_of(first), body.end_line, step),
        ]

    build = without_item if len(items) > 1 else without_block
    return FixPlan(Applicability.DISPLAY, _IMPERATIVE, build)
