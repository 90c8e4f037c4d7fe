"""JDP501."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.environment import VARIABLES, Read
from placement_lint.jaxmodel.startup import DEAD_VARIABLES, FLAG_SETTERS
from placement_lint.prefilter.conditions import (
    SETS_VARIABLES,
    AllOf,
    AnyOf,
    Identifier,
    Jax,
    Uses,
)
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.startup.inert_settings import problem_of
from placement_lint.rules.startup.late_settings import is_excused, too_late
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.environ import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor


class EnvironmentSetTooLate(Rule):
    """An environment variable of JAX or XLA that is set after JAX or XLA has read it.

    ## What it does
    Finds `os.environ["JAX_PLATFORMS"] = …` and other `JAX_…` variables set after `import jax`, and
    `XLA_FLAGS`, `XLA_PYTHON_CLIENT_…` and `CUDA_VISIBLE_DEVICES` set after a call that starts the
    backend. It also finds `setdefault`, `update`, `os.putenv` and `numpyro.set_host_device_count`,
    which sets `XLA_FLAGS`, and cases in which a module of the project that is imported earlier
    imports jax or starts the backend. What a function or a method sets is too late if each call of
    it, by its name and in any file, comes after that.

    ## Why is this bad?
    JAX reads its `JAX_…` variables while it is imported, and XLA and CUDA read theirs when the
    backend starts. Later changes are silently ignored: the program runs on the wrong platform, with
    one device instead of eight, or takes the memory that it was meant to leave.

    ## Example
    ```python
    import os

    import jax

    os.environ["JAX_PLATFORMS"] = "cpu"
    ```

    ## Use instead
    ```python
    import os

    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    ```

    Or, for a `JAX_…` variable, after the import and before the first array:

    ```python
    import jax

    jax.config.update("jax_platforms", "cpu")
    ```

    ## Fix safety
    Unsafe: the line is moved above the first import of jax in its block, where it has an effect for
    the first time. No fix if the value is not a literal or is one that JDP508 reports there, if a
    comment would move with it, or if the import is elsewhere.

    ## What it does not flag
    `XLA_FLAGS` and similar variables between `import jax` and the first use of JAX, which works.
    Variables in a file that starts other processes, which inherit them; those that choose devices
    or their memory in a file that makes a loader of PyTorch with workers. Tests that set a
    variable. A variable whose option the same file also sets by `jax.config.update`, in time. A
    line that is guarded by `sys.modules`, or followed by code that reloads modules. Variables that
    JAX is not known to read, or has no use for (JDP508), or that no version reads which
    `target-jax` or the project's dependency on jax supports.

    ## Verified by
    The proof sets `JAX_ENABLE_X64` after the import and gets 32-bit numbers. Set before the import,
    they have 64 bits. Every other variable, except `CUDA_VISIBLE_DEVICES`, was tested before the
    import, after it, and after the start of the backend, on six versions from 0.4.30 to 0.12.

    ## References
    - [jax-ml/jax#23208](https://github.com/jax-ml/jax/issues/23208): the variable must be set
      before jax is imported
    - [jax-ml/jax#6887](https://github.com/jax-ml/jax/issues/6887): XLA's flags count when the
      backend is initialised
    """

    code, name = "JDP501", "environment-set-too-late"
    advice = "Set it above the first import of JAX, or outside of the program"
    severity, fix = Severity.ERROR, Applicability.UNSAFE
    follows_arrays = False
    # Whatever imports jax may be another module of the project.
    needs = AnyOf(
        AllOf(
            SETS_VARIABLES,
            AnyOf(
                b"JAX_",
                *(
                    Identifier(name.encode())
                    for name, variable in sorted(VARIABLES.items())
                    if variable.read is Read.START
                ),
            ),
        ),
        AllOf(Jax(), b"set_host_device_count", Uses(*FLAG_SETTERS)),
    )

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_AugAssign(self, node: cst.AugAssign, ctx: Context) -> None:
        _check(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        _check(node, ctx)


def _check(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> None:
    for setting in settings(node, ctx.names):
        # Those that are read in vain have no effect anywhere: JDP508.
        late = None if setting.name in DEAD_VARIABLES else too_late(node, setting.name, ctx)
        if late is None:
            continue
        added = node.value if isinstance(node, cst.AugAssign) else None
        is_usable = problem_of(setting, added, ctx) is None
        ctx.report(
            node,
            f"{setting.name} is set after {late.event.where}, which is too late: {late.reason}, "
            "and never again",
            fix=_plan(node, ctx) if is_usable else None,
        )
        return
    if isinstance(node, cst.Call) and ctx.called(node) in FLAG_SETTERS:
        event = timeline(ctx.module).before(node, Kind.STARTS)
        if event is not None and not is_excused(node, "XLA_FLAGS", ctx):
            ctx.report(
                node,
                f"XLA_FLAGS is set after {event.where}, which is too late: it is read when the "
                "backend starts, and never again",
            )


def _plan(node: cst.CSTNode, ctx: Context) -> FixPlan | None:
    line = ctx.statement_line(node)
    first = timeline(ctx.module).first_before(node, Kind.IMPORTS)
    if line is None or first is None or len(line.body) != 1 or not _is_constant(node):
        return None
    above = ctx.statement_line(first.node)
    block = ctx.parent(line)
    if above is None or ctx.parent(above) is not block or len(above.body) != 1:
        return None
    moved = [line]
    home = _import_of_os(node, ctx)
    if home is None:
        return None
    if ctx.tree.index(home) > ctx.tree.index(above):
        if ctx.parent(home) is not block or len(home.body) != 1 or not _is_import_os(home.body[0]):
            return None
        moved = [home, line]
    if _reads_what_follows(node, above, moved, ctx):
        return None

    def build(editor: Editor) -> list[Edit] | None:
        source = editor.source
        gone: list[tuple[int, int]] = []
        pieces: list[str] = []
        for each in moved:
            begin, end = editor.spans.inner(each.body[0])
            first, last = (source.position(at)[0] for at in (begin, end))
            starts = source.line_starts
            stop = starts[last] if last < len(starts) else len(source.text)
            if editor.has_comment((starts[first - 1], stop)):
                return None
            piece = source.text[starts[first - 1] : stop]
            pieces.append(piece if piece.endswith(("\n", "\r")) else piece + source.newline)
            if gone and gone[-1][1] == first - 1:
                first, _ = gone.pop()
            gone.append((first, last))
        offset = source.line_starts[editor.line_of(above) - 1]
        return [
            editor.insert(offset, "".join(pieces)),
            *(editor.delete_lines(first, last) for first, last in gone),
        ]

    return FixPlan(Applicability.UNSAFE, "Move the setting above the import of jax", build)


def _reads_what_follows(
    node: cst.CSTNode,
    above: cst.SimpleStatementLine,
    moved: Sequence[cst.SimpleStatementLine],
    ctx: Context,
) -> bool:
    """Return whether a statement reads a variable that is bound where it would not be bound yet."""
    from placement_lint.syntax.names import BindingKind

    begin = ctx.tree.index(above)
    bound = [
        ctx.module.import_statement(each.node) if each.kind is BindingKind.IMPORT else each.node
        for name in ctx.tree.every(cst.Name, below=node)
        for each in ctx.names.bindings(name)
    ]
    return any(
        ctx.tree.index(each) >= begin and not any(ctx.tree.is_inside(each, line) for line in moved)
        for each in bound
    )


def _is_constant(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Assign):
        return string_value(node.value) is not None and len(node.targets) == 1
    return isinstance(node, cst.Call) and all(
        string_value(argument.value) is not None for argument in node.args
    )


def _import_of_os(node: cst.CSTNode, ctx: Context) -> cst.SimpleStatementLine | None:
    """Return the line that imports what a setting calls `os`."""
    for inner in (node, *ctx.tree.descendants(node)):
        if isinstance(inner, cst.Name) and (ctx.name(inner) or "").partition(".")[0] == "os":
            only = ctx.names.sole_binding(inner)
            if only is not None and only.target is not None:
                statement = ctx.module.import_statement(only.node)
                return ctx.statement_line(statement)
    return None


def _is_import_os(statement: cst.BaseSmallStatement) -> bool:
    return isinstance(statement, cst.Import | cst.ImportFrom) and (
        not isinstance(statement.names, cst.ImportStar) and len(statement.names) == 1
    )
