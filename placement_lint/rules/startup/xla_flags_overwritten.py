"""JDP510."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_module_path
from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.reading import LOGGING_METHODS
from placement_lint.prefilter.conditions import SETS_VARIABLES, AllOf
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.startup.child_processes import starts_processes
from placement_lint.rules.startup.flag_texts import FlagText, first_literal, flag_text
from placement_lint.rules.startup.programs import (
    is_in_package,
    is_program,
    is_run_as_program,
)
from placement_lint.semantic.enclosing import ancestors_in_function, is_in_test, passed_exits
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind
from placement_lint.semantic.program_queries import CallsAsked
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.environ import Setting, settings
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_VARIABLE = "XLA_FLAGS"
_SHOWING = LOGGING_METHODS | {"log", "print"}
# Methods of unknown objects that run nothing with the flags.
_HARMLESS_METHODS = frozenset({
    "add_argument", "append", "format", "get", "join", "parse_args", "parse_known_args", "replace",
    "setdefault", "split", "strip", "update",
})  # fmt: skip
_HARMLESS = frozenset({"jax.config.update", *sys.stdlib_module_names, "builtins"})
_MOST_SETTINGS = 50
"""Settings of one file that are compared with each other."""


class XlaFlagsOverwritten(Rule):
    """`XLA_FLAGS` set to a new value, which discards the flags that it contained.

    ## What it does
    Finds `os.environ["XLA_FLAGS"] = "--xla_…"` in a module of a package, or in one that another
    file of the run imports; and, in any file, an assignment that discards flags which the same file
    has set earlier. Also `os.environ.update` and `os.putenv`.

    ## Why is this bad?
    All flags of XLA share one variable. A program that imports such a module loses the flags that
    were set in the shell, by a launcher or by another module: the number of virtual devices, a
    workaround for a compiler bug, the directory for dumps. There is no warning, and which module
    wins depends on the order of the imports.

    ## Example
    ```python
    import os

    from . import layers

    os.environ["XLA_FLAGS"] = "--xla_gpu_triton_gemm_any=true"
    ```

    ## Use instead
    ```python
    import os

    from . import layers

    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_triton_gemm_any=true"
    ```

    If a flag is given several times, XLA uses the last value, so the module's own flags still
    apply. Put them first to give the user's flags precedence.

    ## Fix safety
    Safe: the flags are appended, which changes nothing if the variable was empty. Unsafe if the
    file has set the other flags itself: these then apply for the first time, and may change the
    number of devices.

    ## What it does not flag
    Programs, which run in a process of their own: scripts that nothing imports, code below `if
    __name__ == "__main__":`, functions named `main`. Tests, examples and notebooks, unless they
    discard their own flags. A file that reads the variable, tests whether it is set, restores it or
    starts other processes; `setdefault`; an empty value, which clears it on purpose. Values with an
    unknown part, which may be the old value. A second value with the same flags.

    ## Verified by
    The proof sets a flag for two virtual devices, and then another flag: JAX has one device. After
    the fix it has two.

    ## References
    - [Flags of XLA](https://docs.jax.dev/en/latest/xla_flags.html)
    - [jax-ml/jax#6887](https://github.com/jax-ml/jax/issues/6887): the variable is read once, when
      the backend is initialised
    """

    code, name = "JDP510", "xla-flags-overwritten"
    advice = 'Append to `os.environ.get("XLA_FLAGS", "")`'
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_arrays = False
    needs = AllOf(SETS_VARIABLES, _VARIABLE.encode())

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_AugAssign(self, node: cst.AugAssign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        _check(node, ctx)


def _check(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> None:
    setting = _replacing(node, ctx)
    if setting is None or setting.value is None:
        return
    text = flag_text(setting.value, ctx)
    if not text.is_complete or not text.names or ctx.module.fact(starts_processes):
        return
    if any(map(_asks, passed_exits(node, ctx))) or any(
        isinstance(ancestor, cst.If) and child is not ancestor.test and _asks(ancestor)
        for child, ancestor in ancestors_in_function(node, ctx)
    ):
        return
    lost = _lost_of_own(node, text, ctx)
    if lost is not None:
        ctx.report(
            node,
            f"this replaces {_VARIABLE}: the flag {lost[0]} that was set just before is lost",
            fix=_plan(node, setting.value, Applicability.UNSAFE),
            related=[(lost[1], ctx.module.path, "set here")],
        )
    elif not ctx.module.fact(_knows_what_is_set) and _is_of_library(node, ctx):
        ctx.report(
            node,
            f"this replaces {_VARIABLE}: the flags that the user or another module has set are "
            "lost; append to them",
            fix=_plan(node, setting.value, Applicability.SAFE),
        )


def _replacing(node: cst.CSTNode, ctx: Context) -> Setting | None:
    """Return the setting of the variable that a statement or call makes, by a new value."""
    if isinstance(node, cst.Call) and ctx.called(node) == "os.environ.setdefault":
        return None
    found = [each for each in settings(node, ctx.names) if each.name == _VARIABLE]
    return found[0] if len(found) == 1 else None


def _asks(condition: cst.If) -> bool:
    """Return whether a condition is about the variable."""
    pending: list[cst.CSTNode] = [condition.test]
    while pending:
        node = pending.pop()
        if string_value(node) == _VARIABLE:
            return True
        pending += children(node)
    return False


# -- modules --------------------------------------------------------------------------------------


def _is_of_library(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a statement is run in processes that other code has started."""
    facts = ctx.module
    if not is_module_path(facts.path) or is_in_test(node, ctx) or is_run_as_program(node, ctx):
        return False
    is_imported = facts.run.importer(facts.path) is not None
    if not facts.fact(is_program):
        return is_imported or facts.fact(is_in_package)
    if not is_imported:
        return False
    outer = [each for each in ctx.ancestors(node) if isinstance(each, cst.FunctionDef)]
    if not outer:
        return True
    name = outer[-1].name.value
    return facts.run.calls_from_elsewhere(facts.path, name, CallsAsked.USES).is_used


def _knows_what_is_set(facts: ModuleFacts) -> bool:
    """Return whether a file reads the variable, other than to show it, or keeps the environment."""
    written = {
        id(setting.key)
        for node in facts.tree.every(cst.Assign, cst.AugAssign, cst.Call)
        for setting in settings(node, facts.names)
        if not isinstance(node, cst.Call)
        or facts.names.qualified(node.func) != "os.environ.setdefault"
    }
    for node in facts.tree.every(cst.SimpleString):
        if (
            string_value(node) == _VARIABLE
            and id(node) not in written
            and not _is_shown(node, facts)
        ):
            return True
    return any(
        facts.names.qualified(node) == "os.environ" and _is_kept(node, facts)
        for node in facts.tree.every(cst.Attribute, cst.Name)
    )


def _is_shown(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    for ancestor in facts.tree.ancestors(node):
        if isinstance(ancestor, cst.BaseSmallStatement):
            return False
        if isinstance(ancestor, cst.Call):
            name = facts.names.qualified(ancestor.func) or dotted(ancestor.func)
            if name.rpartition(".")[2] in _SHOWING:
                return True
    return False


def _is_kept(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether the environment as a whole is given to something, or copied."""
    parent = facts.tree.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in {"clear", "copy", "items"}
    return isinstance(parent, cst.Arg | cst.StarredDictElement | cst.Assign)


# -- flags that the file itself has set -------------------------------------------------------


def _lost_of_own(node: cst.CSTNode, text: FlagText, ctx: Context) -> tuple[str, cst.CSTNode] | None:
    """Return a flag that was set before in the same function and is lost here, and where."""
    before = [
        each
        for each in ctx.module.fact(_all_settings)
        if ctx.tree.index(each[0]) < ctx.tree.index(node)
        and ctx.function(each[0]) is ctx.function(node)
    ][-1:]
    for earlier, setting in before:
        if setting.value is None or not _is_run_before(earlier, node, ctx):
            continue
        names = [name for name in flag_text(setting.value, ctx).names if name not in text.names]
        if names and not _may_matter_between(earlier, node, ctx):
            return names[0], earlier
    return None


def _all_settings(facts: ModuleFacts) -> list[tuple[cst.CSTNode, Setting]]:
    found: list[tuple[cst.CSTNode, Setting]] = []
    for node in facts.tree.every(cst.Assign, cst.AugAssign, cst.Call):
        for setting in settings(node, facts.names):
            if setting.name == _VARIABLE and len(found) < _MOST_SETTINGS:
                found.append((node, setting))
    return sorted(found, key=lambda each: facts.tree.index(each[0]))


def _is_run_before(earlier: cst.CSTNode, later: cst.CSTNode, ctx: Context) -> bool:
    """Return whether the block of a statement is also around a later one."""
    line = ctx.statement_line(earlier)
    block = None if line is None else ctx.parent(line)
    return block is not None and any(block is ancestor for ancestor in ctx.ancestors(later))


def _may_matter_between(earlier: cst.CSTNode, later: cst.CSTNode, ctx: Context) -> bool:
    """Return whether what runs between two statements may use the flags of the first."""
    if timeline(ctx.module).before(later, Kind.STARTS) is not None:
        return True
    first, last = ctx.tree.index(earlier), ctx.tree.index(later)
    inside = {id(each) for each in ctx.tree.descendants(earlier)}
    for node in ctx.module.fact(_calls_and_deletions):
        index = ctx.tree.index(node)
        if index >= last:
            return False
        if index > first and id(node) not in inside and ctx.function(node) is ctx.function(later):
            if isinstance(node, cst.Del):
                return True
            if isinstance(node, cst.Call) and not _is_harmless(node, ctx):
                return True
    return False


def _calls_and_deletions(facts: ModuleFacts) -> list[cst.CSTNode]:
    return sorted(facts.tree.every(cst.Call, cst.Del), key=facts.tree.index)


def _is_harmless(call: cst.Call, ctx: Context) -> bool:
    name = ctx.called(call)
    if name is not None:
        if name == "os.environ.pop":
            return False
        return name in _HARMLESS or name.partition(".")[0] in _HARMLESS
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _HARMLESS_METHODS


# -- the fix ------------------------------------------------------------------------------------


def _plan(
    node: cst.CSTNode, value: cst.BaseExpression, applicability: Applicability
) -> FixPlan | None:
    environ: cst.BaseExpression
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if not isinstance(target, cst.Subscript):
            return None
        environ = target.value
    elif isinstance(node, cst.AugAssign):
        environ = node.target
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        environ = node.func.value
        if node.func.attr.value != "update":
            return None
    else:
        return None

    def build(editor: Editor) -> list[Edit]:
        name, empty = editor.string(_VARIABLE, value), editor.string("", value)
        read = f"{editor.text(environ)}.get({name}, {empty}) + "
        start, end = editor.spans.outer(value)
        literal = first_literal(value)
        if literal is None:
            if isinstance(value, cst.Call | cst.Name | cst.Attribute):
                return [editor.insert(start, f"{read}{editor.string(' ', value)} + ")]
            return [
                editor.insert(start, f"{read}{editor.string(' ', value)} + ("),
                editor.insert(end, ")"),
            ]
        inside = editor.spans.inner(literal[0])[0] + literal[1]
        text = editor.source.text
        edits = [editor.insert(start, read)]
        if text[inside] != " ":
            edits.append(editor.insert(inside, " "))
        return edits

    return FixPlan(applicability, "Append to the flags that are set", build)
