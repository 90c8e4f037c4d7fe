"""JDP502."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.jaxmodel.startup import LATE_OPTIONS, PLATFORM_SETTERS
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context

_CAUGHT = frozenset({
    "builtins.RuntimeError", "builtins.Exception", "builtins.BaseException",
})  # fmt: skip


class PlatformConfiguredTooLate(Rule):
    """`jax.config.update("jax_platforms", …)` after the backend has started.

    ## What it does
    Finds `jax.config.update` of `jax_platforms`, `jax_platform_name` and `jax_num_cpu_devices`
    after a call that certainly runs earlier and starts the backend: `jax.devices()`, an array, a
    key. Calls that the project's own modules make while they are imported count.
    `numpyro.set_platform` sets the first of them.

    ## Why is this bad?
    JAX selects its platforms once, when the first array is made or the devices are first listed.
    After that, the first two options are accepted but have no effect: the program continues on the
    same platform. The third one raises RuntimeError.

    ## Example
    ```python
    import jax

    print(jax.devices())
    jax.config.update("jax_platforms", "cpu")
    ```

    ## Use instead
    ```python
    import jax

    jax.config.update("jax_platforms", "cpu")
    print(jax.devices())
    ```

    To change the device in the middle of a program: `jax.config.update("jax_default_device", …)`.

    ## Fix safety
    No fix: the code between the two lines may need the backend, or decide on the platform.

    ## What it does not flag
    A call before which the backend may not have started: in another branch, or in a function that
    may be called at any time. A call after `jax.extend.backend.clear_backends()`, which resets the
    backend. A failure that is expected or caught.

    ## Verified by
    The proof asks for two virtual devices by `jax_num_cpu_devices` after listing the devices, which
    raises, and before, which works. That `jax_platforms` is accepted and ignored was measured on
    JAX 0.4.30 to 0.12.

    ## References
    - [jax-ml/jax#10320](https://github.com/jax-ml/jax/issues/10320): the platform is not meant to
      be set at run time
    - tue-bmd/zea#368: a probe with `jax.devices("gpu")`, and an update that then does nothing
    """

    code, name = "JDP502", "platform-configured-too-late"
    advice = "Move it above the first call that starts the backend"
    severity = Severity.ERROR
    follows_arrays = False
    needs = AllOf(
        Jax(),
        AnyOf(
            AllOf(AnyOf(*(option.encode() for option in LATE_OPTIONS)), Uses("jax.config.update")),
            AllOf(b"set_platform", Uses(*PLATFORM_SETTERS)),
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.is_call(node, *PLATFORM_SETTERS):
            option: str | None = "jax_platforms"
        elif ctx.is_call(node, "jax.config.update"):
            option = string_value(Arguments(node).get(0, "name"))
        else:
            return
        if option not in LATE_OPTIONS or failure_is_expected(node, ctx):
            return
        start = timeline(ctx.module).before(node, Kind.STARTS)
        if start is None:
            return
        if LATE_OPTIONS[option]:
            if is_caught(node, ctx, _CAUGHT):
                return
            message = f"{option} is set after {start.where} has started the backend: RuntimeError"
        else:
            message = f"{option} is set after {start.where} has started the backend: it is ignored"
        ctx.report(node, message)
