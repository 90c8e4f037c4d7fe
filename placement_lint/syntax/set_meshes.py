"""How a file sets meshes, as Python's own tree says: comments and docstrings set none."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.python_parser import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = frozenset({"set_mesh", "use_abstract_mesh", "use_mesh"})


class MeshSetting(enum.IntEnum):
    """How a file, or a program, may set meshes; the last one is the most."""

    NEVER = 0
    FOR_BLOCKS = 1
    """By `with`, or not known how: it only hands on what sets meshes by the same name."""
    FOR_GOOD = 2
    """So that one may stay set."""


def mesh_setting(text: str) -> MeshSetting:
    """Return how the code of a text may set meshes. Takes linear time."""
    if not any(name in text for name in _NAMES):
        return MeshSetting.NEVER
    module = run_deep(tree_of, text)
    if module is None or any(_otherwise(module)):
        return MeshSetting.FOR_GOOD
    is_named = any(not _NAMES.isdisjoint(_names_in(node)) for node in ast.walk(module))
    return MeshSetting.FOR_BLOCKS if is_named else MeshSetting.NEVER


def _names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node has itself, and the text of one that is a text."""
    if isinstance(node, ast.alias):
        yield node.name.rpartition(".")[2]
        yield node.asname or ""
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg | ast.keyword):
        yield node.arg or ""
    elif isinstance(node, ast.Attribute | ast.Name):
        yield _last(node) or ""


def _otherwise(module: ast.Module) -> Iterator[ast.AST]:
    """Yield the uses of such names that may set a mesh for good."""
    expected: set[int] = set()
    entered: set[int] = set()
    # Parents come before what is in them.
    for node in ast.walk(module):
        if isinstance(node, ast.With | ast.AsyncWith):
            entered.update(id(each) for item in node.items for each in _given(item.context_expr))
        elif isinstance(node, ast.Assign):
            if all(_last(target) in _NAMES for target in node.targets):
                expected.update(map(id, _given(node.value)))
        elif isinstance(node, ast.Call):
            if _last(node.func) in _NAMES and id(node) in entered:
                expected.add(id(node.func))
            elif _last(node.func) == "hasattr":
                expected.update(map(id, node.args))
        elif isinstance(node, ast.Attribute | ast.Name):
            is_read = isinstance(node.ctx, ast.Load)
            if is_read and _last(node) in _NAMES and id(node) not in expected:
                yield node
        elif isinstance(node, ast.Constant):
            if node.value in _NAMES and id(node) not in expected:
                yield node
        elif isinstance(node, ast.alias):
            last = node.name.rpartition(".")[2]
            if last in _NAMES and node.asname not in {None, *_NAMES}:
                yield node


def _given(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an expression that chooses may give."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.IfExp):
            pending += [each.body, each.orelse]
        elif isinstance(each, ast.BoolOp):
            pending += each.values
        elif isinstance(each, ast.Call) and _last(each.func) == "getattr":
            pending += each.args
        else:
            yield each


def _last(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
