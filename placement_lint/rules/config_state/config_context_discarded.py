"""JDP102."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.config_states import (
    CONFIG_CONTEXTS,
    ConfigContext,
    ContextKind,
)
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.config_state.taking_effect import is_traced, level_of_option
from placement_lint.semantic.config_contexts import context_of
from placement_lint.semantic.enclosing import failure_is_expected

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.config_contexts import EnteredContext
    from placement_lint.syntax.edits import Editor

_ENTERING = frozenset({"__enter__", "enter_context"})


class ConfigContextDiscarded(Rule):
    """A call of `jax.default_device`, or of another configuration context, as a statement.

    ## What it does
    Finds `jax.default_device(device)`, `jax.disable_jit()`, `jax.debug_nans(True)` and similar
    calls as statements of their own, and `jax.default_device(device).__enter__()` on an object that
    is not kept. It finds the same for a context manager of the program that enters one: a function
    that returns such a context, or that yields inside one under `contextlib.contextmanager`, and
    `functools.partial(jax.default_device, device)` of any file.

    ## Why is this bad?
    The call looks like a setter, but it only returns a context manager, which the statement
    discards. Nothing changes, and arrays are still made on the accelerator. The form with
    `__enter__()` is worse: it has no effect up to JAX 0.5.1, but from 0.5.3 on the device stays in
    effect permanently, because nothing can exit the context.

    ## Example
    ```python
    import jax

    jax.default_device(jax.devices("cpu")[0])
    ```

    ## Use instead
    ```python
    import jax

    jax.config.update("jax_default_device", jax.devices("cpu")[0])
    ```

    For a part of the program: `with jax.default_device(jax.devices("cpu")[0]):`.

    ## Fix safety
    Safe: the call becomes `jax.config.update` of the corresponding option with the same value,
    which is what the statement looks like.

    Unsafe if other findings then come up, as for arrays that are made on the host and used
    elsewhere; if JAX may raise then, as under a transfer guard; and in a generator or a coroutine,
    during which other code runs. The fix of an `__enter__()` is unsafe, because on some versions of
    JAX the line had an effect.

    No fix for starred arguments, in a function that JAX traces, in a block of the same context, or
    if `jax.config` cannot be imported.

    ## What it does not flag
    A context that is kept: assigned, returned, yielded, passed on (`stack.enter_context(…)`), used
    in a `with` or as a decorator. `jax.set_mesh(mesh)` and `jax.config.update`, which act when they
    are called; what a function of the program enters before it returns it. A call that is expected
    to fail, as in `pytest.raises`; and, as for every rule, what a test replaces by `mock.patch`,
    `monkeypatch.setattr` and the like, as long as it is replaced.

    ## Verified by
    The proof calls `jax.default_device` with the CPU in a statement, makes an array, and sees it on
    the accelerator. After the fix the array is on the CPU.

    ## References
    - [jax-ml/jax#10320](https://github.com/jax-ml/jax/issues/10320): a user is told to use
      `jax.default_device`, calls it in a statement, and asks why nothing happens
    - [jax-ml/jax#13684](https://github.com/jax-ml/jax/issues/13684): the documentation should show
      both `jax.config.update` and the context manager
    """

    code, name = "JDP102", "config-context-discarded"
    advice = (
        "Enter it as a context manager, `with jax.default_device(device):`, or set it with "
        "`jax.config.update`"
    )
    severity, fix = Severity.ERROR, Applicability.SAFE
    fix_takes_effect = True
    needs = AllOf(Jax(), Uses(*CONFIG_CONTEXTS))

    def visit_Expr(self, node: cst.Expr, ctx: Context) -> None:
        call = node.value
        entered = _entered(call)
        built = entered or call
        context = CONFIG_CONTEXTS.get(ctx.called(built) or "")
        if not isinstance(built, cst.Call) or failure_is_expected(node, ctx):
            return
        if context is None:
            _check_own_manager(built, entered is not None, ctx)
            return
        if entered is None:
            message = (
                f"{context.name}(…) returns a context manager, which is discarded: nothing is set"
            )
        else:
            message = _dropped_after_entering(context)
        ctx.report(built, message, fix=_plan(node, built, context, ctx))


def _check_own_manager(built: cst.Call, is_entered: bool, ctx: Context) -> None:
    """Check a call that makes a context manager of the program."""
    context = context_of(built, ctx)
    if context is None or context.is_object or is_entered or _is_entered_there(context):
        return
    ctx.report(
        built,
        f"`{context.through}(…)` returns a context manager, which is discarded: {context.name} in "
        "it sets nothing",
        related=((context.call, context.view.module.path, f"{context.name} is called here"),),
    )


def _is_entered_there(context: EnteredContext) -> bool:
    """Return whether the function that makes a context enters it, before it returns it."""
    tree = context.view.tree
    function = tree.around(context.call, cst.FunctionDef)
    attributes = () if function is None else tree.every(cst.Attribute, below=function.body)
    return any(each.attr.value in _ENTERING for each in attributes)


def _entered(node: cst.BaseExpression) -> cst.Call | None:
    """Return the call in `call(…).__enter__()`."""
    if (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "__enter__"
        and isinstance(node.func.value, cst.Call)
    ):
        return node.func.value
    return None


def _dropped_after_entering(context: ConfigContext) -> str:
    start = f"{context.name}(…) is entered and discarded"
    if context.kind is ContextKind.GENERATOR:
        return f"{start}: the generator is closed at once, so nothing is set"
    return (
        f"{start}: no effect up to JAX 0.5.1, and in effect permanently from 0.5.3 on, since "
        "nothing exits it"
    )


def _plan(
    statement: cst.Expr, call: cst.Call, context: ConfigContext, ctx: Context
) -> FixPlan | None:
    spelled = ctx.reach("jax.config.update", call)
    if spelled is None or not _has_plain_value(call, context):
        return None
    if ctx.inside_with(call, context.name) or is_traced(call, ctx):
        # A block goes before the option, which is in force behind it.
        return None

    def build(editor: Editor) -> list[Edit] | None:
        option = editor.string(context.option, call)
        func_start, func_end = editor.spans.outer(call.func)
        edits = [editor.replace_offsets(func_start, func_end, str(spelled))]
        _, call_end = editor.spans.inner(call)
        if call.args:
            start, _ = editor.spans.outer(call.args[0])
            value_start, _ = editor.spans.outer(call.args[0].value)
            if editor.has_comment((start, value_start)):
                return None
            edits.append(editor.replace_offsets(start, value_start, f"{option}, "))
        else:
            edits.append(editor.insert(call_end - 1, f"{option}, {context.default}"))
        if statement.value is not call:
            _, end = editor.spans.inner(statement.value)
            _, outer_end = editor.spans.outer(call)
            if editor.has_comment((outer_end, end)):
                return None
            edits.append(editor.replace_offsets(outer_end, end, ""))
        return edits

    value = call.args[0].value if call.args else None
    level = Applicability.UNSAFE
    if statement.value is call:
        level = level_of_option(context.option, value, call, ctx)
    what = f"Set the option {context.option} instead"
    return FixPlan(level, what, build, imports=spelled.imports)


def _has_plain_value(call: cst.Call, context: ConfigContext) -> bool:
    """Return whether a call passes just the value, or nothing where nothing has a meaning."""
    if not call.args:
        return context.default is not None
    argument = call.args[0]
    return (
        len(call.args) == 1
        and not argument.star
        and context.parameter is not None
        and (argument.keyword is None or argument.keyword.value == context.parameter)
        and not isinstance(argument.value, cst.GeneratorExp)
    )
