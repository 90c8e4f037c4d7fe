"""JDP504."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context

_CAUGHT = frozenset({
    "builtins.RuntimeError", "builtins.Exception", "builtins.BaseException",
})  # fmt: skip


class DistributedInitializedTooLate(Rule):
    """`jax.distributed.initialize()` after the backend has started.

    ## What it does
    Finds `jax.distributed.initialize` after a call that certainly runs earlier and starts the
    backend: `jax.devices()`, `jax.process_count()`, an array, a key. Calls count that the project's
    own modules make while they are imported, that a function makes which is called earlier, and
    that come before each call of the function that initialises, in any file.

    ## Why is this bad?
    A backend that has started knows only its own process, so `initialize` raises RuntimeError.
    (Before JAX 0.4.20 it did not raise, and each process trained alone.) It is easy to miss that a
    *query* such as `if jax.process_count() > 1:` starts the backend.

    ## Example
    ```python
    import jax

    print(jax.process_count())
    jax.distributed.initialize()
    ```

    ## Use instead
    ```python
    import jax

    jax.distributed.initialize()
    print(jax.process_count())
    ```

    ## Fix safety
    No fix: the code between the two lines may decide whether, and how, to initialise.

    ## What it does not flag
    A call before which the backend may not have started: in another branch, or in a function that
    may be called at any time. `jax.distributed.is_initialized()` and settings, which do not start
    the backend. A failure that is caught or expected.

    ## Verified by
    The proof makes an array and then initialises a service of one process, which raises
    RuntimeError. In the other order it works.

    ## References
    - [jax-ml/jax#18237](https://github.com/jax-ml/jax/issues/18237) and
      [#12258](https://github.com/jax-ml/jax/issues/12258): why it is an error
    - instadeepai/flashbax#65: an array at the top of a module breaks it for the module's users
    """

    code, name = "JDP504", "distributed-initialized-too-late"
    advice = "Call it before anything else of JAX is called"
    severity = Severity.ERROR
    follows_arrays = False
    needs = AllOf(Jax(), Uses("jax.distributed.initialize"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, "jax.distributed.initialize"):
            return
        start = timeline(ctx.module).before(node, Kind.STARTS)
        if start is None or failure_is_expected(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        ctx.report(
            node,
            f"jax.distributed.initialize comes after {start.where} has started the backend: "
            "RuntimeError",
        )
