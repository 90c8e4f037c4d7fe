"""Neighbouring statements that have nothing to do with each other change places."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from tests.metamorphic.text import Text

_PURE_CALL = re.compile(
    r"(jnp|np|jax\.numpy|numpy|jax\.random|jax\.nn|jax\.lax)\.\w+|jax\.(local_)?devices"
    r"|jax\.device_put|jax\.default_device|load_file|range|len|float|int|list|tuple|dict"
)
"""Calls that do nothing but give a value."""
_EFFECTS = re.compile(r"(jnp|np|numpy)\.(save\w*|random\w*|set\w+)|\w+\.(append|pop|update)")
_LIBRARIES = frozenset({
    "collections", "contextlib", "dataclasses", "functools", "itertools", "math", "numpy",
    "pathlib", "time", "typing", "jax", "safetensors",
})  # fmt: skip


def neighbours(program: Program) -> list[Variant]:
    """Swap neighbours that may change places: every second pair, from the first or second on."""
    found = []
    for offset in (0, 1):
        files, count = dict(program.files), 0
        for path, text in program.texts.items():
            edits = _swaps(text, offset)
            files[path] = text.edited(edits)
            count += len(edits)
        if count:
            found.append(Variant(program.changed(files), site=f"from {offset}"))
    require(found, "no neighbouring statements that have nothing to do with each other")
    return found


def _swaps(text: Text, offset: int) -> list[Edit]:
    edits: list[Edit] = []
    taken: set[ast.AST] = set()
    for body in text.bodies():
        if any(parent in taken for parent in (body[0], *text.ancestors(body[0]))):
            continue
        position = offset
        while position + 1 < len(body):
            first, second = body[position], body[position + 1]
            if _may_swap(text, first, second):
                taken |= {first, second}
                edits.append(_swap(text, first, second))
                position += 2
            else:
                position += 1
    return edits


def _swap(text: Text, first: ast.stmt, second: ast.stmt) -> Edit:
    start = text.line_start(text.first_line(first))
    between = text.line_start((first.end_lineno or 0) + 1)
    middle = text.line_start(text.first_line(second))
    end = text.line_start((second.end_lineno or 0) + 1)
    one, other = text.text[start:between], text.text[middle:end]
    # The last line of a text may have no end.
    if not other.endswith("\n"):
        one, other = one.rstrip("\n"), other + "\n"
    return Edit(start, end, other + text.text[between:middle] + one)


def _may_swap(text: Text, first: ast.stmt, second: ast.stmt) -> bool:
    if not (text.owns_lines(first) and text.owns_lines(second)):
        return False
    if isinstance(first, ast.Expr) or _is_future(first) or _is_future(second):
        return False
    if not (_is_quiet(text, first) and _is_quiet(text, second)):
        return False
    (reads, writes), (other_reads, other_writes) = _touched(first), _touched(second)
    return not (writes & (other_reads | other_writes)) and not (other_writes & reads)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _touched(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Give the names that a statement reads and those that it binds when it runs."""
    reads: set[str] = set()
    writes: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            (reads if isinstance(node.ctx, ast.Load) else writes).add(node.id)
        elif isinstance(node, ast.alias):
            writes.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            writes.add(node.name)
    return reads, writes


def _is_quiet(text: Text, statement: ast.stmt) -> bool:
    """Tell whether a statement does nothing but bind names, whenever it runs."""
    if isinstance(statement, ast.Import):
        return all(alias.name.partition(".")[0] in _LIBRARIES for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").partition(".")[0] in _LIBRARIES and not statement.level
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        defaults = [*statement.args.defaults, *statement.args.kw_defaults]
        return not statement.decorator_list and all(
            each is None or isinstance(each, ast.Constant) for each in defaults
        )
    if isinstance(statement, ast.With):
        return all(
            isinstance(item.context_expr, ast.Call)
            and ast.unparse(item.context_expr.func) == "jax.default_device"
            and item.optional_vars is None
            for item in statement.items
        ) and all(_is_quiet(text, each) for each in statement.body)
    if not isinstance(statement, ast.Assign):
        return False
    names = all(isinstance(target, ast.Name) for target in statement.targets)
    return names and all(_is_quiet_expression(node) for node in ast.walk(statement.value))


def _is_quiet_expression(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return bool(_PURE_CALL.fullmatch(called)) and not _EFFECTS.fullmatch(called)
    return not isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
