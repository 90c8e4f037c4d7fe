"""An expression, or a run of statements, becomes a function that is called once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit, NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.metamorphic.scopes import Scope
    from tests.metamorphic.text import Text

_STEP = "    "
_LEAVING = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Return, ast.Break,
    ast.Continue, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Delete,
)  # fmt: skip
"""What means something else in a function of its own, or could."""
_DEFINING = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


def expressions(program: Program) -> list[Variant]:
    """`y = f(x)` → `def extracted(x): return f(x)` and `y = extracted(x)`: one at a time."""
    found = []
    for path, text in program.texts.items():
        for body in text.bodies():
            for statement in body:
                value = _value(statement)
                if value is None:
                    continue
                new = _extracted_expression(program, text, statement, value)
                if new is not None:
                    site = f"{path}:{statement.lineno}"
                    found.append(Variant(program.changed({path: new}), site=site))
    require(found, "no expression that could be a function")
    return found


def _value(statement: ast.stmt) -> ast.expr | None:
    """Give the expression of a statement that is worth a function."""
    if not isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.AnnAssign):
        return None
    value = statement.value
    if isinstance(value, ast.Subscript | ast.Call | ast.BinOp):
        return value
    return None


def _extracted_expression(
    program: Program, text: Text, statement: ast.stmt, value: ast.expr
) -> str | None:
    new = program.unused("extracted")
    if not text.owns_lines(statement) or any(isinstance(n, _LEAVING) for n in ast.walk(value)):
        return None
    if isinstance(statement, ast.Expr) and _is_effect_only(value):
        return None
    names = _read(text, value)
    if names is None:
        return None
    indent, own = text.indent(statement), text.of(value)
    last = text.text[text.end(value) : text.line_start((statement.end_lineno or 0) + 1)]
    mark = last[last.rfind("  #\ue000") :].rstrip("\n") if "  #\ue000" in last else ""
    if "\n" in last.rstrip("\n"):
        return None
    definition = f"{indent}def {new}({', '.join(names)}):\n{indent}{_STEP}return ({own}){mark}\n"
    line = text.line_start(text.first_line(statement))
    return text.edited(
        [
            Edit(line, line, definition),
            Edit(text.start(value), text.end(value), f"{new}({', '.join(names)})"),
        ]
    )


def _is_effect_only(value: ast.expr) -> bool:
    """Tell whether a call is written for what it does, so that what it gives is not looked at.

    `jax.device_put(x, d)` as a statement is a mistake; `return jax.device_put(x, d)` is none.
    """
    return isinstance(value, ast.Call | ast.Subscript | ast.BinOp)


def _read(text: Text, node: ast.AST) -> list[str] | None:
    """Give the variables around a node that it reads; None if it cannot stand in a function."""
    found: list[str] = []
    for each in _names(text, node):
        if text.scopes.misplaced & {each.id}:
            return None
        scope = text.scopes.scope_of(each)
        owner = text.scopes.owner_of(each)
        if any(isinstance(around.node, ast.ClassDef) for around in scope.around()) and (
            owner is not None and owner.kind == "class"
        ):
            return None
        if owner is None or _is_inside(text, owner.node, node):
            continue
        if owner.kind == "comprehension":
            return None
        places = text.scopes.variables[owner, each.id]
        is_variable = all(p.kind in {"load", "store", "parameter", "delete"} for p in places)
        if is_variable and each.id not in found:
            found.append(each.id)
    if any(isinstance(n, ast.Name) and n.id in {"super", "locals", "globals", "__class__"}
           for n in ast.walk(node)):  # fmt: skip
        return None
    return found


def _names(text: Text, node: ast.AST) -> Iterator[ast.Name]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each


def _is_inside(text: Text, inner: ast.AST, outer: ast.AST) -> bool:
    return inner is outer or any(each is outer for each in text.ancestors(inner))


def statements(program: Program) -> list[Variant]:
    """Make a function of a run of statements: it takes what they read, and gives what they bind."""
    found = []
    for path, text in program.texts.items():
        for body in text.bodies():
            for first in range(len(body)):
                # From each statement on: alone, two of them, and all that follow.
                for last in sorted({first + 1, first + 2, len(body)}):
                    if last > len(body):
                        continue
                    new = _extracted_run(program, path, text, body, body[first:last])
                    if new is not None:
                        site = f"{path}:{body[first].lineno}-{body[last - 1].end_lineno}"
                        found.append(Variant(program.changed({path: new}), site=site))
    require(found, "no run of statements that could be a function")
    return found


def _extracted_run(
    program: Program, path: str, text: Text, body: list[ast.stmt], run: list[ast.stmt]
) -> str | None:
    nodes = [node for statement in run for node in ast.walk(statement)]
    if any(isinstance(node, _LEAVING + _DEFINING) for node in nodes):
        return None
    if not all(text.owns_lines(statement) for statement in run) or _is_docstring(text, run[0]):
        return None
    if all(isinstance(each, ast.Pass) for each in run):
        return None
    inside = set(nodes)
    bound, read = [], []
    for (owner, name), places in text.scopes.variables.items():
        here = [each for each in places if each.node in inside]
        if here and any(each.kind == "declared" for each in places):
            return None
        if not here or any(_is_inside(text, owner.node, statement) for statement in run):
            continue
        if owner.kind not in {"module", "function"} or name in text.scopes.misplaced:
            return None
        if any(each.kind == "import" or each.kind in {"function", "class"} for each in places):
            if any(each.binds for each in here):
                return None
            continue
        outside = [each for each in places if each.node not in inside]
        if any(each.binds for each in here):
            # A function that reads it while the run goes on would see it too late.
            read_by_others = any(each.seen_from is not owner for each in outside)
            local = owner is _scope_of(text, run[0])
            if read_by_others or not local or not _surely_binds(run, name):
                return None
            elsewhere = owner.kind == "module" and program.elsewhere(path, name)
            if elsewhere or any(each.kind != "store" for each in outside):
                bound.append(name)
            if _may_read_first(text, run, name) or any(
                isinstance(node, ast.ExceptHandler) and node.name == name for node in nodes
            ):
                return None
        else:
            read.append(name)
    if any(isinstance(n, ast.Name) and n.id in {"super", "locals", "globals"} for n in nodes):
        return None
    new = program.unused("extracted")
    indent = text.indent(run[0])
    start = text.line_start(text.first_line(run[0]))
    end = text.line_start((run[-1].end_lineno or 0) + 1)
    inner = "".join(
        _STEP + line if line.strip() else line
        for line in text.text[start:end].splitlines(keepends=True)
    )
    if _has_long_string(nodes):
        return None
    targets = f"{', '.join(bound)} = " if bound else ""
    is_line = len(run) == 1 and run[0].lineno == run[0].end_lineno
    # What one line does may be reported where it is called.
    mark = program.mark(path, run[0].lineno) if is_line else ""
    call = f"{indent}{targets}{new}({', '.join(read)}){mark}\n"
    if bound:
        inner += f"{indent}{_STEP}return {', '.join(bound)}\n"
    return text.edited([Edit(start, end, f"{indent}def {new}({', '.join(read)}):\n{inner}{call}")])


def _has_long_string(nodes: list[ast.AST]) -> bool:
    """Tell whether a string goes over several lines, so that indenting would change it."""
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno
        for node in nodes
    )


def _is_docstring(text: Text, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _scope_of(text: Text, statement: ast.stmt) -> Scope:
    for node in text.ancestors(statement):
        for scope in text.scopes.all:
            if scope.node is node:
                return scope
    raise NotApplicableError("a statement in no scope")


def _surely_binds(run: list[ast.stmt], name: str) -> bool:
    """Tell whether a name is bound whenever the run ends."""
    for statement in run:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            if name in _stored(statement) and statement.value is not None:
                return True
        elif (
            isinstance(statement, ast.With)
            and _surely_binds(statement.body, name)
            # Other contexts may swallow an error, and leave it unbound.
            and all(_is_default_device(item.context_expr) for item in statement.items)
        ):
            return True
    return False


def _is_default_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "jax.default_device"


def _may_read_first(text: Text, run: list[ast.stmt], name: str) -> bool:
    """Tell whether the run could read a variable before it binds it."""
    nodes = [node for statement in run for node in ast.walk(statement)]
    bound = min(
        text.end(node)
        for node in nodes
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _stored(node)
    )
    return any(
        text.start(node) < bound
        for node in nodes
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.AugAssign) and name in _stored(node))
    )


def _stored(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
