"""Which files are programs, and which are modules that programs import, by what is in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.script_cells import has_cells
from placement_lint.files.test_paths import is_module_path
from placement_lint.semantic.module_summary import import_of_jax
from placement_lint.syntax.collection_methods import CHANGING
from placement_lint.syntax.definitions import named_function
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.guards import is_main_guard
from placement_lint.syntax.import_statements import imported_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

# What a program calls at its top, and a module that is to be imported does not.
_RUNNING = frozenset({
    "absl.app.run", "builtins.input", "builtins.print", "fire.Fire", "tyro.cli", "typer.run",
})  # fmt: skip
_RUNNING_METHODS = frozenset({"parse_args", "parse_known_args", "savefig", "show"})
# What a loop at the top of a module calls to fill tables and classes.
_SETTING = CHANGING | {"delattr", "setattr"}
# What the functions are called that a program begins with.
_ENTRIES = frozenset({"cli", "main", "main_cli", "run_main"})


def is_in_package(facts: ModuleFacts) -> bool:
    """Return whether a file is a module of a package, by its directory and what it imports."""
    if not is_module_path(facts.path):
        return False
    directory = os.path.dirname(facts.path)
    if is_init(facts) or facts.has_relative_import or _has_init(directory):
        return True
    # A directory of a package may do without one.
    return _has_init(os.path.dirname(directory)) and facts.run.importer(facts.path) is not None


def _has_init(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, "__init__.py"))


def is_init(facts: ModuleFacts) -> bool:
    return os.path.basename(facts.path) == "__init__.py"


def is_in_cells(facts: ModuleFacts) -> bool:
    return facts.source is not None and has_cells(facts.source.text)


def is_run_as_program(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether code is run only where its file is the program: by a guard, or in `main`."""
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.If) and is_main_guard(ancestor.test):
            return True
        if isinstance(ancestor, cst.FunctionDef) and ancestor.name.value in _ENTRIES:
            return True
    return False


def imports_jax(facts: ModuleFacts) -> bool:
    """Return whether a statement of a file imports JAX, or what brings it."""
    return any(
        import_of_jax(name) is not None
        for statement in facts.names.import_statements
        for name in imported_names(statement)
    )


# -- programs ---------------------------------------------------------------------------------


def is_program(facts: ModuleFacts) -> bool:
    """Return whether a file is written to be run, by what it does at its top."""
    if is_init(facts):
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
    function = named_function(call.func, facts.names)
    if function is not None and any(
        is_main_guard(each.test) for each in facts.tree.every(cst.If, below=function.body)
    ):
        return True
    last = (name or dotted(call.func)).rpartition(".")[2]
    return last in _RUNNING_METHODS or (last == "main" and isinstance(call.func, cst.Name))
