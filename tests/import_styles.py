"""The same program with its imports written another way."""

from collections.abc import Callable, Iterator

import libcst as cst

from placement_lint.files.source import Source
from placement_lint.syntax.edits import Editor, apply_edits
from placement_lint.syntax.names import Binding, BindingKind, Names, Scope
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree
from tests.variants import INDENT, Place, Variant

_ROOTS = frozenset({"jax", "safetensors"})


class _Program:
    """A parsed text, with the imports that can be written another way."""

    def __init__(self, text: str) -> None:
        self.source = Source("case.py", text)
        module = cst.parse_module(text)
        self.tree = Tree(module)
        self.names = Names(self.tree)
        self.editor = Editor(self.source, self.tree, Spans(module, self.source))
        self.fixed_names = {
            item.name.value
            for node in self.tree.nodes
            if isinstance(node, cst.Global | cst.Nonlocal)
            for item in node.names
        }

    def imports(self) -> Iterator[tuple[cst.Import | cst.ImportFrom, cst.ImportAlias, Scope, str]]:
        """Give each imported name: its statement, its alias, its scope, and what it binds."""
        for node in self.tree.nodes:
            if isinstance(node, cst.Import | cst.ImportFrom) and not isinstance(
                node.names, cst.ImportStar
            ):
                for alias in node.names:
                    bound = _bound_name(alias)
                    if bound is not None and bound not in self.fixed_names:
                        yield node, alias, self.names.scope(node), bound

    def uses(self, scope: Scope, name: str) -> list[cst.Name]:
        """Give every occurrence of a variable, targets included."""
        return [
            node
            for node in self.tree.nodes
            if isinstance(node, cst.Name)
            and node.value == name
            and self.names.owner(name, self.names.scope(node)) is scope
        ]

    def kinds(self, scope: Scope, name: str) -> set[BindingKind]:
        return {binding.kind for binding in self.bindings(scope, name)}

    def bindings(self, scope: Scope, name: str) -> list[Binding]:
        return scope.bindings.get(name, [])


def _bound_name(alias: cst.ImportAlias) -> str | None:
    if alias.asname is not None:
        return alias.asname.name.value if isinstance(alias.asname.name, cst.Name) else None
    return alias.name.value if isinstance(alias.name, cst.Name) else None


def _same_place(line: int, _column: int | None) -> Place:
    return line, None


def renamed(text: str) -> Variant | None:
    """`import jax` → `import jax as jax_x`, and so for every imported name."""
    program = _Program(text)
    edits, done = [], set()
    for _, alias, scope, bound in program.imports():
        plain = {BindingKind.IMPORT, BindingKind.ASSIGNMENT, BindingKind.ABSENT}
        if not program.kinds(scope, bound) <= plain or _is_submodule_import(program, scope, bound):
            continue
        new = f"{bound}_x"
        start, end = program.editor.spans.inner(alias.name)
        if alias.asname is not None:
            _, end = program.editor.spans.inner(alias.asname.name)
        name = program.source.text[slice(*program.editor.spans.inner(alias.name))]
        edits.append(program.editor.replace_offsets(start, end, f"{name} as {new}"))
        if (id(scope), bound) not in done:
            done.add((id(scope), bound))
            edits += [program.editor.replace(use, new) for use in program.uses(scope, bound)]
    return Variant(apply_edits(program.source, edits), _same_place) if edits else None


def _is_submodule_import(program: _Program, scope: Scope, bound: str) -> bool:
    """Tell whether one of the bindings is `import jax.numpy`, which binds `jax`."""
    return any(
        isinstance(binding.node, cst.ImportAlias)
        and isinstance(binding.node.name, cst.Attribute)
        and binding.node.asname is None
        for binding in program.bindings(scope, bound)
    )


def submodule_from_package(text: str) -> Variant | None:
    """`import jax.numpy as jnp` → `from jax import numpy as jnp`."""
    program = _Program(text)
    edits = []
    for statement, alias, _, bound in program.imports():
        name = alias.name
        if (
            isinstance(statement, cst.Import)
            and len(statement.names) == 1
            and isinstance(name, cst.Attribute)
        ):
            package = program.editor.text(name.value)
            edits.append(
                program.editor.replace(
                    statement, f"from {package} import {name.attr.value} as {bound}"
                )
            )
    return Variant(apply_edits(program.source, edits), _same_place) if edits else None


def dotted_submodule(text: str) -> Variant | None:
    """`import jax.numpy as jnp` → `import jax.numpy`, and `jnp.zeros` → `jax.numpy.zeros`."""
    program = _Program(text)
    edits = []
    for statement, alias, scope, bound in program.imports():
        if not (
            isinstance(statement, cst.Import)
            and isinstance(alias.name, cst.Attribute)
            and program.kinds(scope, bound) == {BindingKind.IMPORT}
            and len(program.bindings(scope, bound)) == 1
        ):
            continue
        full = program.editor.text(alias.name)
        top = full.partition(".")[0]
        uses = program.uses(scope, bound)
        owners = [program.names.owner(top, program.names.scope(use)) for use in uses]
        is_hidden = any(owner is not None and owner is not scope for owner in owners)
        if is_hidden or not program.kinds(scope, top) <= {BindingKind.IMPORT}:
            continue
        start, _ = program.editor.spans.inner(alias.name)
        _, end = program.editor.spans.inner(alias)
        edits.append(program.editor.replace_offsets(start, end, full))
        edits += [program.editor.replace(use, full) for use in uses]
    return Variant(apply_edits(program.source, edits), _same_place) if edits else None


def functions_by_name(text: str) -> Variant | None:
    """`jax.devices()` → `the_jax_devices()`, with `from jax import devices as the_jax_devices`."""
    program = _Program(text)
    edits = []
    for statement, alias, scope, bound in program.imports():
        if not isinstance(statement, cst.Import) or len(program.bindings(scope, bound)) != 1:
            continue
        package = program.editor.text(alias.name)
        wanted: set[str] = set()
        for use in program.uses(scope, bound):
            attribute = program.tree.parent(use)
            call = None if attribute is None else program.tree.parent(attribute)
            if (
                isinstance(attribute, cst.Attribute)
                and isinstance(call, cst.Call)
                and call.func is attribute
            ):
                wanted.add(attribute.attr.value)
                new = f"the_{bound}_{attribute.attr.value}"
                edits.append(program.editor.replace(attribute, new))
        if wanted:
            _, end = program.editor.spans.inner(statement)
            names = ", ".join(f"{name} as the_{bound}_{name}" for name in sorted(wanted))
            edits.append(program.editor.insert(end, f"; from {package} import {names}"))
    return Variant(apply_edits(program.source, edits), _same_place) if edits else None


def guarded(text: str) -> Variant | None:
    """`import jax` → the same in `try`, with `except ImportError: jax = None`."""
    program = _Program(text)
    lines = text.split("\n")
    added: dict[int, int] = {}
    for line in program.tree.module.body:
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            continue
        statement = line.body[0]
        if not isinstance(statement, cst.Import | cst.ImportFrom) or isinstance(
            statement.names, cst.ImportStar
        ):
            continue
        bound = [_bound_name(alias) for alias in statement.names]
        number = program.editor.line_of(statement)
        is_ours = lines[number - 1].split()[1].partition(".")[0] in _ROOTS
        if None in bound or not is_ours or program.editor.span(statement).end_line != number:
            continue
        fallback = " = ".join(str(name) for name in bound)
        lines[number - 1] = (
            f"try:\n{INDENT}{lines[number - 1]}\nexcept ImportError:\n{INDENT}{fallback} = None"
        )
        added[number] = 3

    def move(line: int, _column: int | None) -> Place:
        before = sum(count for number, count in added.items() if number < line)
        return line + before + (line in added), None

    return Variant("\n".join(lines), move) if added else None


STYLES: dict[str, Callable[[str], Variant | None]] = {
    "renamed": renamed,
    "submodule-from-package": submodule_from_package,
    "dotted-submodule": dotted_submodule,
    "functions-by-name": functions_by_name,
    "guarded": guarded,
}
"""Each gives None where a text has no import that it could change."""
