"""JDP503."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_module_path
from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.backend_start import ENTERING_STARTS_BACKEND, STARTS_BACKEND
from placement_lint.prefilter.conditions import AllOf, AtImport, Placed
from placement_lint.rules.base import Rule
from placement_lint.rules.startup.programs import is_in_cells, is_in_package, is_program
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.execution_steps import called

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.execution_steps import Event

_SHOWN = 10


class BackendStartedAtImport(Rule):
    """Top-level code of a package that starts JAX's backend.

    ## What it does
    Finds arrays, keys and device queries that run while a module of a package is imported: at the
    top level, in a class body, in a decorator, in the default value of a parameter, or in a
    function that is called at the top level, also one of another file if the module imports JAX
    itself. There is one finding for each module, at the first of them, with the next ones as
    related places.

    ## Why is this bad?
    Importing the module, directly or through other packages, starts the backend. JAX then chooses
    the platform and takes three quarters of the GPU's memory, even in a process that only needed a
    type. After that, `jax_platforms` has no effect, `jax.distributed.initialize` and
    `jax_num_cpu_devices` raise RuntimeError, and a forked worker may hang. The value itself is on
    the device that was the default at the time of the import.

    ## Example
    ```python
    import jax.numpy as jnp

    from .shapes import SIZE

    MASK = jnp.ones(SIZE)
    ```

    ## Use instead
    ```python
    import numpy as np

    from .shapes import SIZE

    MASK = np.ones(SIZE)
    ```

    If it must be a JAX array, make it in a function when it is first needed (`functools.cache`).
    For a default value, use `None`.

    ## Fix safety
    Display-only: this page shows a fix, but the finding has none, since a NumPy array does not
    always behave like a JAX array.

    ## What it does not flag
    Programs, unless another file of the run imports them: a file with `if __name__ == "__main__":`,
    with `#!` as its first line, or that does work at the top level, such as printing, reading
    arguments, calling `main()` or running a loop that does more than fill tables. Files in a
    directory of examples, scripts or benchmarks; tests; notebooks, and scripts with cells (`# %%`).
    A file that is not recognisable as a module of a package: it has neither an `__init__.py` next
    to it nor a relative import; or it has one only in the directory above, and no other file of the
    run imports it.

    Expressions that do not start the backend: types such as `jnp.float32`, `jax.jit`,
    `jax.eval_shape`, `jax.nn.initializers`, NumPy. Bodies of lambdas, and of functions that are not
    called at the top level.

    ## Verified by
    The proof imports a package whose module has an array at the top level, and then asks for two
    virtual devices, which raises because the backend has started. With NumPy it gets two.

    ## References
    - instadeepai/flashbax#65 and pyro-ppl/numpyro#517: packages that took the GPU on import
    - [jax.distributed](https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html)
    """

    code, name = "JDP503", "backend-started-at-import"
    advice = "Make it in NumPy, or in a function that makes it when it is first needed"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_arrays = False
    needs = AllOf(Placed(is_module_path), AtImport(STARTS_BACKEND | ENTERING_STARTS_BACKEND))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.fact(is_in_package):
            return
        events = [*timeline(ctx.module).at_import()]
        if not events or ctx.module.fact(is_in_cells):
            return
        if ctx.module.fact(is_program) and ctx.module.run.importer(ctx.module.path) is None:
            return
        first, *others = events
        more = f" (and {len(others)} more below)" if others else ""
        ctx.report(
            first.node,
            f"{_what(first)} starts JAX's backend when this module is imported{more}: it chooses "
            "the platform and takes the accelerator for whoever imports it",
            related=[
                (event.node, ctx.module.path, f"{_what(event)} would start it too")
                for event in others[:_SHOWN]
            ],
        )


def _what(event: Event) -> str:
    """Return what starts the backend, with the function of this file that is called for it."""
    if event.is_direct or not isinstance(event.node, cst.Call):
        return event.where
    return f"{event.where}, which {called(event.node)} calls,"
