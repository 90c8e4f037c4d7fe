"""JDP508."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.jaxmodel.environment import MISSPELLED_VARIABLES, UNREAD_OPTIONS
from placement_lint.jaxmodel.startup import DEAD_VARIABLES
from placement_lint.prefilter.conditions import SETS_VARIABLES, AllOf, AnyOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.startup.inert_settings import problem_of, problem_of_platforms
from placement_lint.rules.startup.late_settings import is_without_effect
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.environ import settings

if TYPE_CHECKING:
    from placement_lint.rules.context import Context


class InertEnvironmentVariable(Rule):
    """An environment variable that has no effect, or that has a value with an unintended effect.

    ## What it does
    Finds settings of `JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE`, `…_HOST_TO_DEVICE` and
    `…_DEVICE_TO_HOST`; of `JAX_CUDA_VISIBLE_DEVICES`, `JAX_ROCM_VISIBLE_DEVICES`,
    `JAX_CPU_ENABLE_ASYNC_DISPATCH` and other option names that JAX does not read; of
    `XLA_PYTHON_CLIENT_MEM_FRACTION` together with `XLA_CLIENT_MEM_FRACTION`; of `JAX_PLATFORMS`
    (and the option `jax_platforms`) with `gpu` or an upper-case name; of `TF_XLA_FLAGS` with flags
    of XLA, in a file that imports JAX; and invalid values of `XLA_PYTHON_CLIENT_PREALLOCATE`,
    `XLA_PYTHON_CLIENT_ALLOCATOR` and the memory fractions. It also finds common misspellings, such
    as `JAX_PLATFORM` and `XLA_PYTHON_CLIENT_MEM_FRAC`, in a file that imports JAX.

    ## Why is this bad?
    The variables for transfer guards by direction are documented and read, but overwritten at once:
    the guard is not in effect. Most options of JAX can be set by a variable of the same name, but
    not those that it defines as flags. `JAX_PLATFORMS=gpu` means CUDA, ROCm *and* others, all of
    which must be available, so it fails on every machine; `cuda` is meant. XLA's own flags
    (`--xla_…`) are read from `XLA_FLAGS`; `TF_XLA_FLAGS` belongs to TensorFlow. The name of an
    allocator in `…_PREALLOCATE` enables preallocation, as every value except `false` does. Setting
    both memory fractions raises ValueError.

    ## Example
    ```python
    import os

    os.environ["JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE"] = "disallow"
    os.environ["JAX_PLATFORMS"] = "gpu"
    ```

    ## Use instead
    ```python
    import os

    os.environ["JAX_PLATFORMS"] = "cuda"
    import jax

    jax.config.update("jax_transfer_guard_device_to_device", "disallow")
    ```

    ## Fix safety
    No fix: only the author knows which kind of GPU, which allocator, or which of two fractions is
    meant.

    ## What it does not flag
    `TF_XLA_FLAGS` with TensorFlow's own flags, `--tf_xla_…`. `JAX_TRANSFER_GUARD`, which works, and
    the options by direction. `cuda`, `cuda,cpu`, names of plug-ins. `platform` as the *allocator*.
    Values that are not literals, and those that are set too late to be read (JDP501). A failure
    that is expected. A misspelling that the file also reads, or has in another string: then it is a
    variable of the program itself; tests.

    ## Verified by
    The proof sets the variable and then the option for device-to-device transfers, and reads which
    guard is in effect. The other claims were measured on JAX 0.4.30 to 0.12 or read in jaxlib's
    `xla_client.py`.

    ## References
    - [jax-ml/jax#25315](https://github.com/jax-ml/jax/issues/25315) and
      [#12335](https://github.com/jax-ml/jax/issues/12335): `JAX_PLATFORMS=gpu`
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html)
    - [GPU memory](https://docs.jax.dev/en/latest/gpu_memory_allocation.html)
    """

    code, name = "JDP508", "inert-environment-variable"
    advice = "Remove it, or set the variable that has the intended effect: see the page of the rule"
    severity = Severity.ERROR
    follows_arrays = False
    needs = AnyOf(
        AllOf(
            SETS_VARIABLES,
            AnyOf(
                *(name.encode() for name in sorted(DEAD_VARIABLES.keys() | UNREAD_OPTIONS)),
                AllOf(Jax(), b"TF_XLA_FLAGS"),
                AllOf(Jax(), AnyOf(*(name.encode() for name in MISSPELLED_VARIABLES))),
                b"JAX_PLATFORMS", b"MEM_FRACTION", b"XLA_PYTHON_CLIENT_ALLOCATOR",
                b"XLA_PYTHON_CLIENT_PREALLOCATE",
            ),
        ),
        b"jax_platforms",
    )  # fmt: skip

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check_variables(node, ctx)

    def visit_AugAssign(self, node: cst.AugAssign, ctx: Context) -> None:
        _check_variables(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `os.environ.setdefault` and its like, and `jax.config.update`."""
        _check_variables(node, ctx)
        if ctx.is_call(node, "jax.config.update"):
            arguments = Arguments(node)
            if string_value(arguments.get(0, "name")) == "jax_platforms":
                problem = problem_of_platforms(
                    "jax_platforms", string_value(arguments.get(1, "val"))
                )
                if problem is not None and not failure_is_expected(node, ctx):
                    ctx.report(node, problem)


def _check_variables(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> None:
    for setting in settings(node, ctx.names):
        added = node.value if isinstance(node, cst.AugAssign) else None
        problem = problem_of(setting, added, ctx)
        if problem is None or failure_is_expected(node, ctx):
            continue
        # What is set too late to be read does no harm: that it is too late is JDP501.
        if setting.name in DEAD_VARIABLES or not is_without_effect(node, setting.name, ctx):
            ctx.report(node, problem)
