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
from placement_lint.semantic.execution_order import called, timeline

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.execution_order import Event

_SHOWN = 10


class BackendStartedAtImport(Rule):
    """Top-level code of a package that starts JAX's backend.

    ## What it does
    Finds arrays, keys and questions for devices that are made while a module of a package is
    imported: at its top, in a class body, in a decorator, as a default value of a parameter, in a
    function of the module that is called at its top. One finding for a module, at the first of
    them, with the next ones as related places.

    ## Why is this bad?
    Whoever imports the module, directly or from three packages away, has then started the backend:
    the platform is chosen, three quarters of the GPU's memory are taken, also by a process that
    only wanted a type. Afterwards `jax_platforms` means nothing, `jax.distributed.initialize` and
    `jax_num_cpu_devices` raise RuntimeError, and a forked worker may hang. The value itself lives
    on whatever device was the default then.

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

    For what has to be an array of JAX, a function that makes it when it is first needed
    (`functools.cache`); for a default value, `None`.

    ## Fix safety
    Display-only, on this page: a NumPy array does not behave as one of JAX everywhere.

    ## What it does not flag
    Programs, unless another file of the run imports them: a file with a guard on `__main__`, with
    `#!` as its first line, or that works at its top: prints, reads arguments, calls `main()`, has a
    loop that does more than to fill tables. Files in a directory of examples, scripts or
    benchmarks; tests; notebooks, and scripts in cells (`# %%`); a file that nothing marks as a
    module of a package: neither an `__init__.py` beside it nor a relative import in it. What starts
    nothing: types such as `jnp.float32`, `jax.jit`, `jax.eval_shape`, `jax.nn.initializers`, NumPy.
    Bodies of lambdas, and of functions that are not called at the top.

    ## Verified by
    The proof imports a package whose module has an array at its top, and then asks for two virtual
    devices: refused, because the backend has started. With NumPy there are two.

    ## References
    - instadeepai/flashbax#65 and pyro-ppl/numpyro#517: packages that took the GPU on import
    - [jax.distributed](https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html)
    """

    code, name = "JDP503", "backend-started-at-import"
    advice = "Make it in NumPy, or in a function that makes it when it is first needed"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
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
        return event.what
    return f"{event.what}, which {called(event.node)} calls,"
