"""A local variable that is used once: what it stands for is written where it is used."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.metamorphic.program import Place, Program, Variant, origins, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from tests.metamorphic.scopes import Occurrence
    from tests.metamorphic.text import Text

_ASKS_A_DEVICE = re.compile(r"jax\.(local_)?devices\([^()]*\)(\[\d+\])?|\d+|'[^']*'|\"[^\"]*\"")
"""What gives the same wherever it is written: a device, a number, a string."""


def variables(program: Program) -> list[Variant]:
    """`x = …; f(x)` → `f(…)`: one variable at a time."""
    found = []
    for path, text in program.texts.items():
        for (scope, name), places in text.scopes.variables.items():
            if scope.kind not in {"module", "function"} or name in text.scopes.misplaced:
                continue
            if scope.kind == "module" and program.elsewhere(path, name):
                continue
            variant = _inlined(program, path, text, places)
            if variant is not None:
                found.append(variant)
    require(found, "no variable that is used once, right after it was made")
    return found


def _inlined(program: Program, path: str, text: Text, places: list[Occurrence]) -> Variant | None:
    if sorted(each.kind for each in places) != ["load", "store"]:
        return None
    store, load = sorted(places, key=lambda each: each.kind, reverse=True)
    definition = text.parents[store.node]
    if not isinstance(definition, ast.Assign) or definition.targets != [store.node]:
        return None
    if not text.owns_lines(definition) or load.start < store.start:
        return None
    user = text.parents[load.node]
    if isinstance(user, ast.Attribute) and user.attr.startswith("__"):
        return None  # a context entered by hand lives as long as the variable
    # Before Python 3.12, the quotes of an f-string may not be used inside it.
    if any(isinstance(node, ast.JoinedStr) for node in text.ancestors(load.node)):
        return None
    value = definition.value
    one_line = definition.lineno == definition.end_lineno
    written_anywhere = _ASKS_A_DEVICE.fullmatch(text.of(value)) and one_line
    if not written_anywhere and not (
        load.seen_from is store.seen_from and _is_next(text, definition, load)
    ):
        return None
    if any(isinstance(node, ast.NamedExpr | ast.Yield | ast.Await) for node in ast.walk(value)):
        return None
    if not one_line and any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno
        for node in ast.walk(value)
    ):
        return None
    start = text.line_start(definition.lineno)
    end = text.line_start((definition.end_lineno or 0) + 1)
    if written_anywhere and _leaves_nothing(text, definition):
        return None
    own = f"({text.of(value)})" if _needs_parentheses(text, load, value) else text.of(value)
    files = {path: text.edited([Edit(start, end, ""), Edit(load.start, load.end, own)])}
    # What was found on the line of the definition is now found on that of the use.
    original = origins(program)
    use = original.get((path, text.line_at(load.start)))
    merged: dict[Place, Place] = {}
    for line in range(definition.lineno, (definition.end_lineno or 0) + 1):
        was = original.get((path, line))
        if was is not None and use is not None:
            merged[was] = use
    site = f"{path}:{definition.lineno}"
    return Variant(program.changed(files), merged, site)


def _needs_parentheses(text: Text, load: Occurrence, value: ast.expr) -> bool:
    plain = isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    number = isinstance(value, ast.Constant) and not isinstance(
        text.parents[load.node], ast.Attribute
    )
    return not (plain or number)


def _leaves_nothing(text: Text, definition: ast.stmt) -> bool:
    """Tell whether the body would be empty without the statement."""
    return any(body == [definition] for body in text.bodies())


def _is_next(text: Text, definition: ast.stmt, load: Occurrence) -> bool:
    """Tell whether a use is what happens next after the definition, and happens once."""
    for body in text.bodies():
        if definition in body:
            position = body.index(definition)
            if position + 1 == len(body):
                return False
            following = body[position + 1]
            break
    else:
        return False
    evaluated = _evaluated_first(following)
    if evaluated is None:
        return False
    if following not in text.ancestors(load.node):
        return False
    part = load.node
    while part is not following:
        parent = text.parents[part]
        if part in evaluated:
            break
        # Inside these it is evaluated later, or more or less often than once.
        if isinstance(parent, ast.Lambda | ast.IfExp | ast.BoolOp | ast.Compare):
            return False
        if isinstance(parent, ast.comprehension | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return False
        part = parent
    else:
        return False
    return not any(
        text.end(node) < load.start
        for node in ast.walk(following)
        if isinstance(node, ast.Call | ast.NamedExpr | ast.Await)
    )


def _evaluated_first(statement: ast.stmt) -> list[ast.expr] | None:
    """Give the expressions that a statement evaluates first, and once."""
    if isinstance(statement, ast.Assign | ast.Return | ast.Expr):
        return [statement.value] if statement.value is not None else None
    if isinstance(statement, ast.For):
        return [statement.iter]
    if isinstance(statement, ast.If):
        return [statement.test]
    if isinstance(statement, ast.With):
        return [statement.items[0].context_expr]
    return None
