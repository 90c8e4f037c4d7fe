"""Functions become methods, and variables attributes, of a class."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from tests.metamorphic.scopes import Occurrence
    from tests.metamorphic.text import Text

_STEP = "    "


def methods(program: Program) -> list[Variant]:
    """`def f(x)` → `class Holder: def f(self, x)`, and `f(…)` → `holder.f(…)`."""
    found = []
    for path, text in program.texts.items():
        for statement in text.tree.body:
            for static in (False, True):
                new = _as_method(program, path, text, statement, static=static)
                if new is not None:
                    site = f"{path}:{statement.lineno}{' static' if static else ''}"
                    found.append(Variant(program.changed({path: new}), site=site))
    require(found, "no function of a module that only its own module calls")
    return found


def _as_method(
    program: Program, path: str, text: Text, statement: ast.stmt, *, static: bool
) -> str | None:
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    places = text.scopes.variables[text.scopes.module, statement.name]
    others = [each for each in places if each.kind != "load"]
    if len(others) != 1 or program.elsewhere(path, statement.name) or statement.decorator_list:
        return None
    if len(places) == 1:
        return None  # it is there for others to call
    # The name of a test, or one that Python asks for, says more than a method's would.
    if statement.name.startswith(("test", "__")) or statement.name in text.scopes.misplaced:
        return None
    if any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno
        for node in ast.walk(statement)
    ):
        return None
    start = text.line_start(statement.lineno)
    end = text.line_start((statement.end_lineno or 0) + 1)
    body = text.text[start:end]
    new_class = program.unused("Holder")
    holder = new_class if static else program.unused("holder")
    inner = [
        Edit(each.start, each.end, f"{holder}.{statement.name}")
        for each in places
        if each.kind == "load"
    ]
    edits = [edit for edit in inner if not start <= edit.start < end]
    opening = text.text.index("(", others[0].end)
    arguments = statement.args
    empty = not (
        arguments.posonlyargs or arguments.args or arguments.kwonlyargs
        or arguments.vararg or arguments.kwarg
    )  # fmt: skip
    within = [edit for edit in inner if start <= edit.start < end]
    if not static:
        within.append(Edit(opening + 1, opening + 1, "self" if empty else "self, "))
    body = _edited_part(text, start, end, within)
    lines = [_STEP + line if line.strip() else line for line in body.splitlines(keepends=True)]
    header = f"class {new_class}:\n" + (f"{_STEP}@staticmethod\n" if static else "")
    footer = "\n\n" if static else f"\n\n{holder} = {new_class}()\n"
    edits.append(Edit(start, end, header + "".join(lines) + footer))
    return text.edited(edits)


def _edited_part(text: Text, start: int, end: int, edits: list[Edit]) -> str:
    whole = text.edited(edits)
    return whole[start : len(whole) - (len(text.text) - end)]


def attributes(program: Program) -> list[Variant]:
    """Write `state.data = …` for `data = …` in a module, and `state.data` where it is read."""
    files, count = dict(program.files), 0
    for path, text in program.texts.items():
        edits = []
        new_class, state = program.unused("State"), program.unused("state")
        for (scope, name), places in text.scopes.variables.items():
            if scope.kind != "module" or program.elsewhere(path, name):
                continue
            if name in text.scopes.misplaced or not _is_plain_variable(text, places):
                continue
            edits += [Edit(each.start, each.end, f"{state}.{name}") for each in places]
        if edits:
            line = text.line_start(text.imports_end())
            made = f"\n\nclass {new_class}:\n    pass\n\n\n{state} = {new_class}()\n"
            edits.append(Edit(line, line, made))
            files[path] = text.edited(edits)
            count += len(edits)
    require(count, "no variable of a module that is its own and assigned once")
    return [Variant(program.changed(files))]


def _is_plain_variable(text: Text, places: list[Occurrence]) -> bool:
    stores = [each for each in places if each.kind != "load"]
    if len(stores) != 1 or stores[0].kind != "store" or stores[0].name.startswith("__"):
        return False
    statement = text.parents[stores[0].node]
    return isinstance(statement, ast.Assign) and statement.targets == [stores[0].node]


def modules(program: Program) -> list[Variant]:
    """Make a class of the module: its first statements in `__init__`, the others in `run`."""
    found = []
    for path, text in program.texts.items():
        line = text.imports_end()
        body = [each for each in text.tree.body if each.lineno >= line]
        for position in range(1, len(body)):
            new = _in_two_methods(program, path, text, body, position)
            if new is not None:
                site = f"{path}:{body[position].lineno}"
                found.append(Variant(program.changed({path: new}), site=site))
    require(found, "no module of plain statements of which the later ones need the first")
    return found


def _in_two_methods(
    program: Program, path: str, text: Text, body: list[ast.stmt], position: int
) -> str | None:
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any(
        isinstance(
            node,
            ast.Global
            | ast.FunctionDef
            | ast.AsyncFunctionDef
            | ast.ClassDef
            | ast.Import
            | ast.ImportFrom
            | ast.Delete
            | ast.NamedExpr,
        )
        or (isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno)
        for node in nodes
    ):
        return None
    if not all(text.owns_lines(statement) for statement in body):
        return None
    split = text.line_start(text.first_line(body[position]))
    start = text.line_start(text.first_line(body[0]))
    end = text.line_start((body[-1].end_lineno or 0) + 1)
    edits, shared = [], False
    for (scope, name), places in text.scopes.variables.items():
        if scope.kind != "module" or any(each.kind == "import" for each in places):
            continue
        if program.elsewhere(path, name) or name in text.scopes.misplaced:
            return None
        before = [each for each in places if each.start < split]
        after = [each for each in places if each.start >= split]
        if not before or not after or not any(each.binds for each in before):
            continue
        if any(each.kind not in {"load", "store"} for each in places):
            return None
        shared = True
        edits += [Edit(each.start, each.end, f"self.{name}") for each in places]
    if not shared:
        return None
    new_class = program.unused("Run")
    edits.append(Edit(start, start, f"\n\nclass {new_class}:\n    def __init__(self):\n"))
    edits.append(Edit(split, split, "\n    def run(self):\n"))
    first, last = text.line_at(start), text.line_at(end - 1)
    edits += [
        Edit(text.line_start(number), text.line_start(number), _STEP * 2)
        for number in range(first, last + 1)
        if text.text[text.line_start(number) : text.line_start(number + 1)].strip()
    ]
    edits.append(Edit(end, end, f"\n\n{new_class}().run()\n"))
    return text.edited(edits)
