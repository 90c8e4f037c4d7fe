"""Names that a loop leaves behind at the top of a module, and that nothing reads any more."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Modules = dict[str, str]


def leftovers(modules: Modules) -> set[str]:
    """Give the paths of the names that belong to loops at the top of a module.

    Everything that binds or reads such a name stands in one loop, or in loops of which it is the
    target; and no other module mentions it. Its last value is left over, and nothing asks for it.
    """
    found: set[str] = set()
    trees = {module: ast.parse(text) for module, text in modules.items()}
    for module, tree in trees.items():
        loops: dict[str, set[ast.AST | None]] = defaultdict(set)
        for name, loop in _names_in(tree, None):
            loops[name].add(loop)
        elsewhere = _mentioned(other for name, other in trees.items() if name != module)
        found |= {
            f"{module}.{name}"
            for name, around in loops.items()
            if None not in around
            and (len(around) == 1 or all(_is_target(name, loop) for loop in around))
            and not {name, "*"} & elsewhere
        }
    return found


def _is_target(name: str, loop: ast.AST | None) -> bool:
    return isinstance(loop, ast.For | ast.AsyncFor) and any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(loop.target)
    )


def _mentioned(trees: Iterable[ast.Module]) -> set[str]:
    """Give the names that modules import, and the attributes that they read."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    return imported | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _names_in(node: ast.AST, loop: ast.AST | None) -> Iterator[tuple[str, ast.AST | None]]:
    """Give each name that is mentioned, with the outermost loop at the module's own level."""
    if isinstance(node, ast.Name):
        yield node.id, loop
    elif isinstance(node, ast.Global):
        yield from ((name, None) for name in node.names)
    if isinstance(node, ast.For | ast.AsyncFor | ast.While) and loop is None:
        loop = node
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        # Who knows when it is called.
        own = set() if isinstance(node, ast.ClassDef) else _own_names(node)
        yield from (
            (each.id, None)
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and each.id not in own
        )
        return
    elif isinstance(node, _COMPREHENSIONS):
        # Its targets are names of its own; what it iterates over first is not read in it.
        targets = _bound(*(generator.target for generator in node.generators))
        yield from _names_in(node.generators[0].iter, loop)
        for child in ast.iter_child_nodes(node):
            yield from (pair for pair in _names_in(child, loop) if pair[0] not in targets)
        return
    for child in ast.iter_child_nodes(node):
        yield from _names_in(child, loop)


def _bound(*nodes: ast.AST) -> set[str]:
    return {
        each.id
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _own_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Give the names that are a function's own: parameters, and what its body binds.

    Its decorators and default values are evaluated outside: what they mention counts as read.
    """
    inside = [each for statement in function.body for each in ast.walk(statement)]
    shared = {
        name
        for each in inside
        if isinstance(each, ast.Global | ast.Nonlocal)
        for name in each.names
    }
    # What a function in it binds is that one's own.
    nested = any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in inside)
    outside = [*function.decorator_list, function.args]
    evaluated = {each.id for n in outside for each in ast.walk(n) if isinstance(each, ast.Name)}
    parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    bound = set() if nested else _bound(*function.body)
    return (parameters | bound) - shared - evaluated
