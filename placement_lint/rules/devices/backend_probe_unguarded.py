"""JDP302."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, ArgumentMatches, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.backend_guards import backend_of, is_guarded
from placement_lint.rules.devices.emptiness import question_of, question_of_variable
from placement_lint.rules.devices.queries import listed_argument, listed_platform, texts_seen
from placement_lint.syntax.definitions import texts_of

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_COMPARABLE = frozenset({"gpu", "tpu"})


class BackendProbeUnguarded(Rule):
    """`if jax.devices("gpu"):`, which raises if there is no GPU.

    ## What it does
    Finds `jax.devices("gpu")`, `jax.local_devices(backend="gpu")` and the same for other platforms
    than the CPU, also for each platform that a loop goes through, if the code uses the result to
    test whether there are any: as a condition, under `not`, `and` or `or`, in `len`, `bool` or
    `any`, also of something for each of them, or compared with `[]`. It also finds tests of a
    variable that only ever holds that list: `if gpus:`, `len(gpus) > 0`.

    ## Why is this bad?
    JAX never returns an empty list. If the backend is missing, `jax.devices("gpu")` raises
    `RuntimeError: Unknown backend`. The program fails on exactly those machines that the test was
    written for, such as a laptop or continuous integration.

    ## Example
    ```python
    import jax

    if jax.devices("gpu"):
        print("training on the GPU")
    ```

    ## Use instead
    ```python
    import jax

    if jax.default_backend() == "gpu":
        print("training on the GPU")
    ```

    If the GPU need not be the default backend, or if the list is needed:

    ```python
    import jax

    try:
        gpus = jax.devices("gpu")
    except RuntimeError:
        gpus = []
    ```

    ## Fix safety
    Unsafe: in a condition, the call becomes a comparison with `jax.default_backend()`, which gives
    another answer if there is a GPU that is not the default backend. No fix if the list itself, or
    its length, is used.

    ## What it does not flag
    A call in a `try` that catches RuntimeError (or Exception), or in
    `contextlib.suppress(RuntimeError)`. A call that is reached only after a comparison of
    `jax.default_backend()` or of a device's `.platform`. A call that is expected to raise, as in
    `pytest.raises`. Code that requires the devices, such as `jax.devices("gpu")[0]`, or stores how
    many there are. `jax.devices("cpu")`, which always exists. A platform that is not known,
    such as one from the command line.

    ## Verified by
    The proof runs `if jax.devices("gpu"):` on a JAX without a GPU and gets the RuntimeError. After
    the fix the condition is False.

    ## References
    - [jax-ml/jax#6459](https://github.com/jax-ml/jax/issues/6459): the wish for a probe that does
      not raise, open since 2021
    - [jax.default_backend](https://docs.jax.dev/en/latest/_autosummary/jax.default_backend.html)
    """

    code, name = "JDP302", "backend-probe-unguarded"
    advice = "Compare `jax.default_backend()` with the name of the platform, or catch RuntimeError"
    severity, fix = Severity.ERROR, Applicability.UNSAFE
    follows_callers = True
    # Something like a string, and not just "cpu"; or a name, an attribute, an item of a table.
    needs = AllOf(
        Jax(),
        ArgumentMatches(
            ("jax.devices", "jax.local_devices"),
            r"[\"'](?!cpu[\"'])[\w\\]|^\s*(?:backend\s*=\s*)?[A-Za-z_][\w\s.\[\]]*$",
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `jax.devices("gpu")`."""
        asked = listed_argument(node, ctx)
        if asked is None:
            return
        text = listed_platform(node, ctx)
        # A loop may go over the names of several.
        question = question_of(node, ctx) or question_of_variable(node, ctx)
        platforms = _gone_through(asked, ctx) if text is None else [text]
        if not platforms and question is not None:
            platforms = [] if _is_chosen(asked, ctx) else texts_seen(asked, ctx)
        unguarded = (
            each for each in platforms if each != "cpu" and not is_guarded(node, each, ctx)
        )
        platform = next(unguarded, None)
        if platform is None:
            return
        asking = None if question is not None else _asking_of_result(node, platform, ctx)
        if question is None and asking is None:
            return
        # Its first parameter is the number of a process.
        name = ctx.called(node)
        given = f'backend="{platform}"' if name == "jax.local_devices" else f'"{platform}"'
        ctx.report(
            node,
            f"`{name}({given})` raises RuntimeError if there is no such device; "
            "it never returns an empty list",
            related=((asking, ctx.module.path, "asked here"),) if asking is not None else (),
            fix=_plan(node, platform, ctx)
            if question is not None and question.is_truth_only and text
            else None,
        )


def _asking_of_result(node: cst.Call, platform: str, ctx: Context) -> cst.Call | None:
    """Return an unguarded call of a function that returns the list, which asks if that is empty."""
    function = ctx.function(node)
    returned = ctx.parent(node)
    if not isinstance(returned, cst.Return) or not isinstance(function, cst.FunctionDef):
        return None
    scope = ctx.names.scope(function)
    if function.decorators or function.asynchronous or isinstance(scope.node, cst.ClassDef):
        return None
    for use in ctx.names.uses(function.name.value, scope):
        call = ctx.parent(use)
        if (
            isinstance(call, cst.Call)
            and call.func is use
            and not is_guarded(call, platform, ctx)
            and (question_of(call, ctx) or question_of_variable(call, ctx))
        ):
            return call
    return None


def _gone_through(asked: cst.BaseExpression | None, ctx: Context) -> list[str]:
    """Return the platforms that a loop goes through, and compares with nothing."""
    if not isinstance(asked, cst.Name):
        return []
    texts = texts_of(asked, ctx.names)
    return [] if not texts or _is_compared(asked, ctx) else texts


def _is_chosen(asked: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a variable that holds a platform is tested, or is given another one."""
    if not isinstance(asked, cst.Name):
        return False
    return len(ctx.names.bindings(asked)) != 1 or _is_compared(asked, ctx)


def _is_compared(asked: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a variable that holds a platform is compared with anything."""
    if not isinstance(asked, cst.Name):
        return False
    uses = (ctx.parent(use) for use in ctx.names.uses(asked.value, ctx.names.scope(asked)))
    return any(isinstance(each, cst.Comparison | cst.ComparisonTarget) for each in uses)


def _plan(call: cst.Call, platform: str, ctx: Context) -> FixPlan | None:
    backend = backend_of(platform)
    spelled = ctx.reach("jax.default_backend", call)
    if spelled is None or backend not in _COMPARABLE:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        if editor.has_comment(editor.spans.inner(call)):
            return None
        return [editor.replace(call, f"{spelled}() == {editor.string(backend, call)}")]

    return FixPlan(
        Applicability.UNSAFE,
        "Compare the default backend, which is always answered",
        build,
        imports=spelled.imports,
    )
