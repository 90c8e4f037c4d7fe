"""A value or a function of JAX under a second name, which is used in place of the first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.removed import OLD_APIS, Access
from tests.import_styles import STYLES
from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from tests.metamorphic.scopes import Occurrence, Scope
    from tests.metamorphic.text import Text

_ROOTS = ("jax", "numpy", "safetensors")
_GONE = frozenset(api.name for api in OLD_APIS if api.use is Access.NAME)
"""What some version of JAX lacks: a name for it, outside of what asks for the version, is an error
there."""
_CHOOSING = (ast.If, ast.IfExp, ast.BoolOp, ast.Try)


def values(program: Program) -> list[Variant]:
    """`x = …` → `x = …; x_too = x`, and `x_too` wherever `x` is read."""
    files, count = dict(program.files), 0
    for path, text in program.texts.items():
        edits = []
        for (scope, name), places in text.scopes.variables.items():
            binding = _only_assignment(text, scope, name, places)
            if binding is None:
                continue
            loads = [each for each in places if each.kind == "load"]
            if not loads or text.scopes.misplaced & {name}:
                continue
            line = text.line_start((binding.end_lineno or 0) + 1)
            edits.append(Edit(line, line, f"{text.indent(binding)}{name}_too = {name}\n"))
            edits += [Edit(each.start, each.end, f"{name}_too") for each in loads]
        files[path] = text.edited(edits)
        count += len(edits)
    require(count, "no variable that is assigned once and read")
    return [Variant(program.changed(files))]


def _only_assignment(
    text: Text, scope: Scope, name: str, places: list[Occurrence]
) -> ast.Assign | None:
    """Give the one statement `name = …` that binds a variable."""
    binding = [each for each in places if each.kind != "load"]
    if len(binding) != 1 or scope.kind not in {"module", "function"}:
        return None
    statement = text.parents.get(binding[0].node)
    if not isinstance(statement, ast.Assign) or binding[0].kind != "store":
        return None
    if statement.targets != [binding[0].node] or not text.owns_lines(statement):
        return None
    return None if name.startswith("__") else statement


def functions(program: Program) -> list[Variant]:
    """`jax.device_put(…)` → `jax_device_put(…)`, after `jax_device_put = jax.device_put`."""
    files, count = dict(program.files), 0
    for path, text in program.texts.items():
        edits = [] if _chooses_by_version(text) else _function_edits(text)
        files[path] = text.edited(edits)
        count += len(edits)
    require(count, "no function of an imported module is called by its full name")
    return [Variant(program.changed(files))]


def _chooses_by_version(text: Text) -> bool:
    """Tell whether a file names what some version of JAX lacks, under a condition."""
    return any(
        isinstance(each, ast.Attribute)
        and text.of(each) in _GONE
        and any(isinstance(around, _CHOOSING) for around in text.ancestors(each))
        for each in ast.walk(text.tree)
    )


def _function_edits(text: Text) -> list[Edit]:
    edits: list[Edit] = []
    for (scope, name), places in text.scopes.variables.items():
        bound = [each for each in places if each.kind != "load"]
        if scope.kind not in {"module", "function"} or len(bound) != 1:
            continue
        alias = bound[0].node
        if not isinstance(alias, ast.alias) or (alias.asname is None and "." in alias.name):
            continue
        statement = text.parents[alias]
        is_known = isinstance(statement, ast.Import) and alias.name.startswith(_ROOTS)
        body = text.parents[statement]
        if not is_known or not text.owns_lines(text.statement(alias)):
            continue
        if not isinstance(body, ast.Module | ast.FunctionDef):
            continue
        new: dict[str, str] = {}
        for each in places:
            if each.kind != "load" or name in text.scopes.misplaced:
                continue
            chain = each.node
            while isinstance(text.parents[chain], ast.Attribute):
                chain = text.parents[chain]
            call = text.parents[chain]
            if isinstance(call, ast.Call) and call.func is chain and chain is not each.node:
                dotted = text.of(chain)
                new[dotted] = dotted.replace(".", "_")
                edits.append(Edit(text.start(chain), text.end(chain), new[dotted]))
        line = text.line_start((text.statement(alias).end_lineno or 0) + 1)
        if body is text.tree and isinstance(text.tree.body[0], ast.Import | ast.ImportFrom):
            # Behind the last import of those that stand together, as people write it.
            line = max(line, text.line_start(text.imports_end()))
        indent = text.indent(text.statement(alias))
        edits += [
            Edit(line, line, f"{indent}{short} = {dotted}\n") for dotted, short in new.items()
        ]
    return edits


def imports(program: Program) -> list[Variant]:
    """Write the imports in each of the styles of `tests.import_styles`."""
    found = []
    for name, style in STYLES.items():
        files = {}
        for path, text in program.files.items():
            is_left = (name == "renamed" and _hands_on(program, path)) or (
                name == "functions-by-name" and _chooses_by_version(program.texts[path])
            )
            variant = None if is_left else style(text)
            files[path] = text if variant is None else variant.text
        if files != program.files:
            found.append(Variant(program.changed(files), site=name))
    require(found, "no import that could be written another way")
    return found


def _hands_on(program: Program, path: str) -> bool:
    """Tell whether a module imports from its own program what another module asks it for."""
    roots = {part for other in program.files for part in other.removesuffix(".py").split("/")}
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").partition(".")[0] in roots)
        and any(program.elsewhere(path, alias.asname or alias.name) for alias in node.names)
        for node in ast.walk(program.texts[path].tree)
    )
