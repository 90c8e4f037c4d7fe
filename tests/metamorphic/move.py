"""A function or a constant moves to another module, and is imported from there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from tests.metamorphic.text import Text

_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(program: Program) -> list[Variant]:
    """Move a function or a class that needs only imports: `from moved import f`."""
    found = [
        _moved(program, path, text, [statement], [statement.name])
        for path, text in _files(program)
        for statement in text.tree.body
        if isinstance(statement, _Definition) and _can_move(program, path, text, [statement])
    ]
    require(found, "no function or class that needs nothing but imports")
    return found


def beginnings(program: Program) -> list[Variant]:
    """Move the first statements, up to any one of them, to a module that is imported there."""
    found = []
    for path, text in _files(program):
        first = next(
            (n for n, each in enumerate(text.tree.body) if text.line_start(each.lineno)
             >= text.line_start(text.imports_end())), len(text.tree.body),
        )  # fmt: skip
        for last in range(first + 1, len(text.tree.body)):
            run = text.tree.body[first:last]
            if not _can_move(program, path, text, run):
                continue
            names = _needed_outside(program, path, text, run)
            if names:
                found.append(_moved(program, path, text, run, names))
                # Others still ask this module for them.
                if not any(program.elsewhere(path, name) for name in names):
                    found.append(_moved(program, path, text, run, names, whole=True))
    require(found, "no beginning that the rest needs, and that needs nothing of the rest")
    return found


def _files(program: Program) -> list[tuple[str, Text]]:
    """Give the files beside which a module can be put that is imported by its bare name."""
    return [
        (path, text)
        for path, text in program.texts.items()
        if "/" not in path and not text.scopes.misplaced
    ]


def _can_move(program: Program, path: str, text: Text, run: list[ast.stmt]) -> bool:
    if not all(text.owns_lines(each) for each in run):
        return False
    nodes = [node for statement in run for node in ast.walk(statement)]
    if any(isinstance(node, ast.Global | ast.ImportFrom | ast.Import) and node in run
           for node in nodes):  # fmt: skip
        return False
    if any(isinstance(n, ast.Name) and n.id in {"globals", "locals", "__name__", "__file__"}
           for n in nodes):  # fmt: skip
        return False
    if "__main__" in "".join(text.of(statement) for statement in run):
        return False
    inside = set(nodes)
    for (owner, name), places in text.scopes.variables.items():
        if owner.kind != "module":
            continue
        here = [each for each in places if each.node in inside]
        outside = [each for each in places if each.node not in inside]
        if not here:
            continue
        if any(each.kind == "declared" for each in places):
            return False
        if any(each.binds for each in here):
            # Bound again outside, it would be two variables.
            if any(each.kind != "load" for each in outside) or name.startswith("__"):
                return False
        elif not all(
            each.kind == "import" and _at_the_top(text, each.node)
            for each in outside
            if each.kind != "load"
        ):
            return False
    return True


def _at_the_top(text: Text, alias: ast.AST) -> bool:
    """Tell whether an import is one of those that stand first in the module."""
    statement = text.statement(alias)
    first = text.end(statement) < text.line_start(text.imports_end())
    relative = isinstance(statement, ast.ImportFrom) and (
        statement.level > 0 or statement.module == "__future__"
    )
    return first and not relative


def _needed_outside(program: Program, path: str, text: Text, run: list[ast.stmt]) -> list[str]:
    """Give the names that a run binds for the rest of the module, or for other modules."""
    inside = {node for statement in run for node in ast.walk(statement)}
    return [
        name
        for (owner, name), places in text.scopes.variables.items()
        if owner.kind == "module"
        and any(each.node in inside and each.binds for each in places)
        and (any(each.node not in inside for each in places) or program.elsewhere(path, name))
    ]


def _moved(
    program: Program, path: str, text: Text, run: list[ast.stmt], names: list[str],
    *, whole: bool = False,
) -> Variant:  # fmt: skip
    module = program.unused("moved")
    start = text.line_start(text.first_line(run[0]))
    end = text.line_start((run[-1].end_lineno or 0) + 1)
    top = text.text[: text.line_start(text.imports_end())]
    edits = [Edit(start, end, f"import {module}\n" if whole else "")]
    if whole:
        edits += [
            Edit(each.start, each.end, f"{module}.{name}")
            for (owner, name), places in text.scopes.variables.items()
            if owner.kind == "module" and name in names
            for each in places
            if not start <= each.start < end
        ]
    else:
        # It may only be read when the imports above it have run, and before it is needed.
        edits = [Edit(start, end, f"from {module} import {', '.join(names)}\n")]
    files = {path: text.edited(edits), f"{module}.py": f"{top}\n{text.text[start:end]}"}
    site = f"{path}:{run[0].lineno}-{run[-1].end_lineno}{' whole' if whole else ''}"
    return Variant(program.changed(files), site=site)
