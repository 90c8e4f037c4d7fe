"""JDP503."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from placement_lint.files.script_cells import has_cells
from placement_lint.files.test_paths import is_test_path
from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.backend_start import ENTERING_STARTS_BACKEND, STARTS_BACKEND
from placement_lint.rules.base import Rule
from placement_lint.rules.needs import AllOf, AtImport, Placed
from placement_lint.rules.timeline import timeline

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context
    from placement_lint.rules.module import ModuleFacts

# Code in folders of these names is run, and not imported.
_PROGRAMS = frozenset({
    "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "example", "examples", "experiments",
    "notebooks", "scripts", "tutorial", "tutorials",
})  # fmt: skip
_SHOWN = 10
_PROGRAM_FILES = frozenset({"__main__.py", "conf.py", "conftest.py", "noxfile.py", "setup.py"})


def _is_module(path: str) -> bool:
    """Tell whether a file with this path may be imported: it is no program, test or notebook."""
    *folders, name = path.replace("\\", "/").split("/")
    if name in _PROGRAM_FILES or not name.endswith(".py") or is_test_path(path):
        return False
    return _PROGRAMS.isdisjoint(folders)


class BackendStartedAtImport(Rule):
    """Code at the top of a package's module that starts JAX's backend.

    ## What it does
    Finds arrays, keys and questions for devices that are made while a module of a package is
    imported: at its top, in a class body, in a decorator, as a default value of a parameter. One
    finding for a module, at the first of them, with the next ones as related places.

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
    Shown on this page only, never applied: a NumPy array does not behave as one of JAX everywhere.

    ## What it does not flag
    Programs: a file with a guard on `__main__`, or in a folder of examples, scripts or benchmarks;
    tests; notebooks, and scripts in cells (`# %%`); a file that nothing marks as a module of a
    package: neither an `__init__.py` beside it nor a relative import in it. What starts nothing:
    types such as `jnp.float32`, `jax.jit`, `jax.eval_shape`, `jax.nn.initializers`, NumPy. Bodies
    of functions and lambdas. What a function of the file does that is called at the top.

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
    needs = AllOf(Placed(_is_module), AtImport(STARTS_BACKEND | ENTERING_STARTS_BACKEND))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        """Look at what is executed while the module is imported."""
        if not ctx.module.fact(_is_imported):
            return
        events = [*timeline(ctx.module).at_import()]
        # To write the whole file out again takes a tenth of its time: only where it may matter.
        if not events or "__main__" in (code := node.code) or has_cells(code):
            return
        first, *others = events
        more = f" (and {len(others)} more below)" if others else ""
        ctx.report(
            first.node,
            f"{first.what} starts JAX's backend when this module is imported{more}: it chooses the "
            "platform and takes the accelerator for whoever imports it",
            related=[
                (event.node, ctx.module.path, f"{event.what} would start it too")
                for event in others[:_SHOWN]
            ],
        )


def _is_imported(facts: ModuleFacts) -> bool:
    """Tell whether a file is a module of a package, by where it stands and what it imports."""
    if not _is_module(facts.path):
        return False
    return (
        os.path.basename(facts.path) == "__init__.py"
        or facts.has_relative_import
        or os.path.exists(os.path.join(os.path.dirname(facts.path), "__init__.py"))
    )
