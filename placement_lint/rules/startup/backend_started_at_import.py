"""JDP503."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.script_cells import has_cells
from placement_lint.files.test_paths import is_test_path
from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.backend_start import ENTERING_STARTS_BACKEND, STARTS_BACKEND
from placement_lint.prefilter.conditions import AllOf, AtImport, Placed
from placement_lint.rules.base import Rule
from placement_lint.semantic.execution_order import called, timeline
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.guards import is_main_guard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.execution_order import Event
    from placement_lint.semantic.model import ModuleFacts

# Code in folders of these names is run, and not imported.
_PROGRAMS = frozenset({
    "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "example", "examples", "experiments",
    "notebooks", "scripts", "tutorial", "tutorials",
})  # fmt: skip
_SHOWN = 10
# What a program calls at its top, and a module that is to be imported does not.
_RUNNING = frozenset({
    "absl.app.run", "builtins.input", "builtins.print", "fire.Fire", "tyro.cli", "typer.run",
})  # fmt: skip
_RUNNING_METHODS = frozenset({"parse_args", "parse_known_args", "savefig", "show"})
# What a loop at the top of a module calls to fill tables and classes.
_SETTING = frozenset({
    "add", "append", "delattr", "discard", "extend", "insert", "pop", "remove", "setattr",
    "setdefault", "update",
})  # fmt: skip
_PROGRAM_FILES = frozenset({"__main__.py", "conf.py", "conftest.py", "noxfile.py", "setup.py"})


def _is_module(path: str) -> bool:
    """Return whether a file with this path may be imported: it is no program, test or notebook."""
    *folders, name = path.replace("\\", "/").split("/")
    if name in _PROGRAM_FILES or not name.endswith(".py") or is_test_path(path):
        return False
    return _PROGRAMS.isdisjoint(folders)


class BackendStartedAtImport(Rule):
    """Code at the top of a package's module that starts JAX's backend.

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
    needs = AllOf(Placed(_is_module), AtImport(STARTS_BACKEND | ENTERING_STARTS_BACKEND))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.fact(_is_in_package):
            return
        events = [*timeline(ctx.module).at_import()]
        if not events or ctx.module.fact(_is_in_cells):
            return
        if ctx.module.fact(_is_program) and ctx.module.run.importer(ctx.module.path) is None:
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


def _is_in_package(facts: ModuleFacts) -> bool:
    """Return whether a file is a module of a package, by its directory and what it imports."""
    if not _is_module(facts.path):
        return False
    return (
        _is_init(facts)
        or facts.has_relative_import
        or os.path.exists(os.path.join(os.path.dirname(facts.path), "__init__.py"))
    )


def _is_init(facts: ModuleFacts) -> bool:
    return os.path.basename(facts.path) == "__init__.py"


def _is_in_cells(facts: ModuleFacts) -> bool:
    return facts.source is not None and has_cells(facts.source.text)


# -- programs ---------------------------------------------------------------------------------


def _is_program(facts: ModuleFacts) -> bool:
    """Return whether a file is written to be run, by what it does at its top."""
    if _is_init(facts):
        return False
    is_executable = facts.source is not None and facts.source.text.startswith("#!")
    return is_executable or any(_is_done_by_program(each, facts) for each in _at_top(facts))


def _at_top(facts: ModuleFacts) -> Iterator[cst.CSTNode]:
    """Yield the statements that are executed in any case, or in each iteration of a loop,
    in order.
    """
    pending: list[cst.CSTNode] = [facts.tree.module]
    while pending:
        node = pending.pop()
        if isinstance(
            node,
            cst.Module | cst.IndentedBlock | cst.SimpleStatementLine | cst.SimpleStatementSuite,
        ):
            pending += reversed(node.body)
            continue
        yield node
        if isinstance(node, cst.For | cst.While | cst.With | cst.Try | cst.TryStar) or (
            isinstance(node, cst.If) and dotted(node.test) == "True"
        ):
            pending.append(node.body)


def _is_done_by_program(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    if isinstance(node, cst.If):
        return is_main_guard(node.test)
    if isinstance(node, cst.For | cst.While):
        return any(
            _is_work(each.value) and _is_executed_with(node, each, facts)
            for each in facts.tree.every(cst.Expr, below=node.body)
        )
    if not isinstance(node, cst.BaseSmallStatement):
        return False
    return any(
        _is_call_of_program(each, facts) and _is_executed_with(node, each, facts)
        for each in facts.tree.every(cst.Call, below=node)
    )


def _is_executed_with(node: cst.CSTNode, part: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether a part of a statement is in no function that is made there."""
    for ancestor in facts.tree.ancestors(part):
        if isinstance(ancestor, cst.FunctionDef | cst.Lambda):
            return False
        if ancestor is node:
            break
    return True


def _is_work(node: cst.BaseExpression) -> bool:
    """Return whether a statement in a loop does something else than to register or to set."""
    if not isinstance(node, cst.Call):
        return False
    called = dotted(node.func).rpartition(".")[2]
    return bool(called) and called not in _SETTING and "register" not in called


def _is_call_of_program(call: cst.Call, facts: ModuleFacts) -> bool:
    name = facts.names.qualified(call.func)
    if name in _RUNNING:
        return True
    last = (name or dotted(call.func)).rpartition(".")[2]
    return last in _RUNNING_METHODS or (last == "main" and isinstance(call.func, cst.Name))
