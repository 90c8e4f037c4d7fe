"""Another name for every variable, function, class and attribute that is a program's own."""

from __future__ import annotations

import ast
import keyword
import re
from typing import TYPE_CHECKING

from tests.metamorphic.program import Program, Variant, require
from tests.metamorphic.text import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.metamorphic.scopes import Occurrence, Scope
    from tests.metamorphic.text import Text

# At the end, so that the words of the name stay: some rules go by what a name says.
_SUFFIX = "_named"

# What objects of others have too: an attribute with such a name may not be the program's own.
_COMMON = frozenset(
    """
    T add append apply astype at batch block_until_ready clear close copy count data device devices
    dtype extend flags flush format get index init insert item items iter join keys len load max
    mean min name ndim nbytes next open path platform pop put read real remove reshape run set shape
    sharding size sort split start stop sum title to_device tolist update values write x y
    """.split()
)


def variables(program: Program) -> list[Variant]:
    """Rename every variable, function, class and parameter, wherever it stands."""
    files, changed = dict(program.files), 0
    for path, text in program.texts.items():
        edits = []
        for (scope, name), places in text.scopes.variables.items():
            if _may_be_renamed(program, path, scope, name, places):
                edits += [Edit(each.start, each.end, name + _SUFFIX) for each in places]
        files[path] = text.edited(edits)
        changed += len(edits)
    require(changed, "no name that is the program's own and used in one file only")
    return [Variant(program.changed(files))]


def _may_be_renamed(
    program: Program, path: str, scope: Scope, name: str, places: list[Occurrence]
) -> bool:
    text = program.texts[path]
    if name.startswith("__") or name == "_" or name in text.scopes.misplaced:
        return False
    if scope.kind == "class" or any(each.kind == "import" for each in places):
        return False
    if not any(each.binds for each in places) or _is_written_in_a_string(text, name):
        return False
    if scope.kind == "module" and program.elsewhere(path, name):
        return False
    # What a caller writes before `=` is in another scope: such names stay.
    by_keyword = any(
        isinstance(node, ast.keyword) and node.arg == name
        for other in program.texts.values()
        for node in ast.walk(other.tree)
    )
    is_parameter = any(each.kind == "parameter" for each in places)
    return not (is_parameter and by_keyword)


def _is_written_in_a_string(text: Text, name: str) -> bool:
    """Tell whether a string says a name: `globals()["x"]`, `getattr`, `__all__`."""
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"\w+", node.value)
        and node.value == name
        for node in ast.walk(text.tree)
    )


def attributes(program: Program) -> list[Variant]:
    """Rename every method, and every attribute that is set on `self` or in a class body."""
    own: set[str] = set()
    for text in program.texts.values():
        for node in ast.walk(text.tree):
            if isinstance(node, ast.ClassDef):
                own |= set(_defined_in(node))
    foreign = {name for text in program.texts.values() for name in _foreign_names(text)}
    own -= foreign | _COMMON
    own = {name for name in own if not name.startswith("_") and not keyword.iskeyword(name)}
    require(own, "no attribute that is certainly the program's own")
    files = {}
    for path, text in program.texts.items():
        edits = []
        for node in ast.walk(text.tree):
            if isinstance(node, ast.Attribute) and node.attr in own:
                end = text.end(node)
                edits.append(Edit(end - len(node.attr), end, node.attr + _SUFFIX))
        for (scope, name), places in text.scopes.variables.items():
            if scope.kind == "class" and name in own:
                edits += [Edit(each.start, each.end, name + _SUFFIX) for each in places]
        files[path] = text.edited(edits)
    require(files != program.files, "its attributes are not used")
    return [Variant(program.changed(files))]


def _defined_in(node: ast.ClassDef) -> Iterator[str]:
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Attribute)
            and isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
            and part.value.id == "self"
        ):
            yield part.attr
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name


def _foreign_names(text: Text) -> Iterator[str]:
    """Give names that may also be those of others: of base classes, of modules, in strings."""
    own_classes = {node.name for node in ast.walk(text.tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(text.tree):
        if isinstance(node, ast.ClassDef):
            is_own = all(
                isinstance(base, ast.Name) and base.id in own_classes for base in node.bases
            )
            if not is_own or node.keywords:
                yield from _defined_in(node)
            yield from (
                target.id
                for statement in node.body
                if isinstance(statement, ast.Assign | ast.AnnAssign)
                for target in ast.walk(statement)
                if isinstance(target, ast.Name)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = text.scopes.owner_of(node.value)
            places = text.scopes.variables[owner, node.value.id] if owner else []
            if any(each.kind == "import" for each in places):
                yield node.attr
        elif isinstance(node, ast.MatchClass):
            yield from node.kwd_attrs
