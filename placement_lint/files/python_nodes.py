"""The nodes in a tree of Python's own parser, for what asks of names and calls alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITHOUT_NODES = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module",
    "op", "ops", "simple", "type_comment",
})  # fmt: skip
"""Fields of which no content is wanted: texts, numbers, contexts of names, and operators."""
ANNOTATED = (ast.AnnAssign, ast.AsyncFunctionDef, ast.FunctionDef, ast.arg)
"""Nodes with an annotation, or with that of what they return."""
_fields_by_type: dict[type[ast.AST], tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below a node, in the order of `ast.iter_child_nodes`.

    Without the contexts of names and without operators, which are a third of all nodes.
    """
    kind = type(node)
    fields = _fields_by_type.get(kind)
    if fields is None:
        fields = tuple(name for name in kind._fields if name not in _WITHOUT_NODES)
        _fields_by_type[kind] = fields
    found: list[ast.AST] = []
    for name in fields:
        part = getattr(node, name, None)
        if type(part) is list:
            found += [each for each in part if isinstance(each, ast.AST)]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, in the order of `ast.walk`; see `children`."""
    pending = [node]
    for each in pending:
        yield each
        pending += children(each)


def without_attributes(node: ast.AST) -> tuple[ast.AST, list[str]]:
    """Return the expression that an attribute is of, in any number of steps, and the attributes.

    `x()` and `["a", "b"]` for `x().a.b`; an expression itself where it is no attribute.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return node, parts[::-1]


def dotted_name(node: ast.AST) -> str:
    """Return the dotted name that an expression is; "" for anything else."""
    first, parts = without_attributes(node)
    return ".".join((first.id, *parts)) if isinstance(first, ast.Name) else ""
