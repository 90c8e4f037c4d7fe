"""JDP509."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_module_path
from placement_lint.findings import Applicability, Severity
from placement_lint.prefilter.conditions import SETS_VARIABLES, AllOf, AnyOf, Placed
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.queries import names_device
from placement_lint.rules.startup.programs import (
    imports_jax,
    is_in_cells,
    is_in_package,
    is_init,
    is_program,
)
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.environ import settings

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

# By the variable: whether an empty value means something.
_VARIABLES = {"CUDA_VISIBLE_DEVICES": True, "JAX_PLATFORMS": False, "JAX_PLATFORM_NAME": False}
_DEVICE = "jax_default_device"
_PLATFORMS = frozenset({"jax_platforms", "jax_platform_name"})


class PlatformPinnedByLibrary(Rule):
    """A module that chooses the platform for every process that imports it.

    ## What it does
    Finds `jax.config.update("jax_platforms", "cpu")`, `jax_default_device`, and the environment
    variables `JAX_PLATFORMS` and `CUDA_VISIBLE_DEVICES`, set at the top level of a module of a
    package, or of a module that another file of the run imports.

    ## Why is this bad?
    The setting applies to the whole process. A program that imports the module, perhaps through
    other packages and for a single function, silently runs on the CPU from then on, or only on the
    first GPU. The program's own choice is replaced, or raises an error, depending on the order of
    the imports.

    ## Example
    ```python
    import jax

    from . import kernels

    jax.config.update("jax_platforms", "cpu")


    def fit(x, y):
        return kernels.solve(x, y)
    ```

    ## Use instead
    ```python
    import jax

    from . import kernels


    def fit(x, y):
        with jax.default_device(jax.devices("cpu")[0]):
            return kernels.solve(x, y)
    ```

    Or set the platform in the program, below `if __name__ == "__main__":`, or in the shell.

    ## Fix safety
    Display-only: this page shows a fix, but the finding has none. Only the author knows whether the
    program or the functions of the module should choose the device.

    ## What it does not flag
    Programs that nothing imports, code below `if __name__ == "__main__":` or in a function, tests,
    examples, notebooks. A setting under an `if`, by `setdefault`, or in a file that reads the
    variable or removes it again. A module that does nothing else, and is imported for this purpose,
    unless the package's `__init__.py` imports it. An environment variable in a file that does not
    import JAX, unless it is one of JAX and the package's `__init__.py` imports the file. Unknown
    values; `None`.

    ## Verified by
    The proof registers a second backend, as that of an accelerator, and imports a package with a
    module that sets `jax_platforms`. The second backend is not started. Without the setting it is.

    ## References
    - [Configuration options](https://docs.jax.dev/en/latest/config_options.html): they hold for the
      process
    - [jax-ml/jax#8035](https://github.com/jax-ml/jax/pull/8035): what `jax_platforms` starts
    """

    code, name = "JDP509", "platform-pinned-by-library"
    advice = "Choose the platform in the program, or the device in the functions that need one"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_arrays = False
    needs = AllOf(
        Placed(is_module_path),
        AnyOf(
            AllOf(SETS_VARIABLES, AnyOf(*(name.encode() for name in sorted(_VARIABLES)))),
            _DEVICE.encode(),
            *(name.encode() for name in sorted(_PLATFORMS)),
        ),
    )

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_AugAssign(self, node: cst.AugAssign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        _check(node, ctx)


def _check(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> None:
    what = _pinning(node, ctx)
    if what is None or not _is_run_by_importing(node, ctx):
        return
    facts = ctx.module
    if not is_module_path(facts.path) or is_in_test(node, ctx) or facts.fact(is_in_cells):
        return
    importer = facts.run.importer(facts.path)
    if importer is None and (facts.fact(is_program) or not facts.fact(is_in_package)):
        return
    is_of_package = importer is not None and PurePath(importer).name == "__init__.py"
    if (facts.fact(_is_for_setting) and not is_of_package) or (
        what in _VARIABLES
        and (
            what in facts.fact(_asked_for)
            or not ((is_of_package and what.startswith("JAX_")) or facts.fact(imports_jax))
        )
    ):
        return
    ctx.report(node, f"importing this module sets {what} for the whole process")


def _pinning(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> str | None:
    """Return which variable or option a statement or call sets to a value that is known."""
    if ctx.is_call(node, "jax.config.update") and isinstance(node, cst.Call):
        arguments = Arguments(node)
        option, value = string_value(arguments.get(0, "name")), arguments.get(1, "val")
        if option in _PLATFORMS:
            return option if string_value(value) else None
        if option == _DEVICE and value is not None:
            return option if string_value(value) or names_device(value, ctx) else None
        return None
    if ctx.called(node) == "os.environ.setdefault":
        return None
    for setting in settings(node, ctx.names):
        means_when_empty = _VARIABLES.get(setting.name)
        value_set = string_value(setting.value)
        if means_when_empty is not None and value_set is not None:
            return setting.name if value_set or means_when_empty else None
    return None


def _is_run_by_importing(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether code is run whenever its file is imported, under no condition."""
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.FunctionDef | cst.Lambda | cst.ExceptHandler | cst.IfExp):
            return False
        if (
            isinstance(ancestor, cst.If)
            and child is not ancestor.test
            and dotted(ancestor.test) != "True"
        ):
            return False
        child = ancestor
    return True


def _asked_for(facts: ModuleFacts) -> frozenset[str]:
    """Return the variables that a file asks for, removes, or names for some other use."""
    written = {
        id(setting.key)
        for node in facts.tree.every(cst.Assign, cst.AugAssign, cst.Call)
        for setting in settings(node, facts.names)
    }
    texts = {string_value(n) for n in facts.tree.every(cst.SimpleString) if id(n) not in written}
    return frozenset(text for text in texts if text in _VARIABLES)


def _is_for_setting(facts: ModuleFacts) -> bool:
    """Return whether a file defines nothing: who imports it wants what it sets."""
    if is_init(facts):
        return False
    return not any(True for _ in facts.tree.every(cst.FunctionDef, cst.ClassDef))
