"""Make a program small that shows a disagreement: by taking away what it can do without."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Modules = dict[str, str]


def reduced(modules: Modules, holds: Callable[[Modules], bool], *, at_most: int = 250) -> Modules:
    """Give the smallest program found, of which `holds` still says yes."""
    attempts = 0
    changed = True
    while changed:
        changed = False
        for candidate in _candidates(modules):
            attempts += 1
            if attempts > at_most:
                return modules
            if holds(candidate):
                modules, changed = candidate, True
                break
    return modules


def _candidates(modules: Modules) -> Iterator[Modules]:
    for name in sorted(modules, key=lambda name: name == "main"):
        if name != "main":
            yield {other: text for other, text in modules.items() if other != name}
        for smaller in _smaller(modules[name]):
            yield {**modules, name: smaller}


def _smaller(text: str) -> Iterator[str]:
    """Give texts with one thing less: the largest things first."""
    tree = ast.parse(text)
    bodies = [
        (number, name, len(getattr(node, name)))
        for number, node in enumerate(ast.walk(tree))
        for name in ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(getattr(node, name, None), list)
    ]
    for number, name, length in bodies:
        for size in (8, 4, 2, 1):
            for start in range(length - size, -1, -size):
                yield from _without(tree, number, name, start, size)
    for number, name, length in bodies:
        for start in range(length):
            yield from _inlined(tree, number, name, start)
    yield from _smaller_expressions(tree)


def _node(tree: ast.Module, number: int) -> tuple[ast.Module, ast.AST]:
    twin = copy.deepcopy(tree)
    for position, node in enumerate(ast.walk(twin)):
        if position == number:
            return twin, node
    raise IndexError(number)


def _text(tree: ast.Module) -> Iterator[str]:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "<reduced>", "exec")
    except (SyntaxError, ValueError):
        return
    yield text


def _without(tree: ast.Module, number: int, name: str, start: int, size: int) -> Iterator[str]:
    twin, node = _node(tree, number)
    body = getattr(node, name)
    del body[start : start + size]
    if not body and name == "body" and not isinstance(node, ast.Module):
        if isinstance(node, ast.With | ast.If | ast.For | ast.While):
            return
        body.append(ast.Pass())
    yield from _text(twin)


def _inlined(tree: ast.Module, number: int, name: str, start: int) -> Iterator[str]:
    """Put a compound statement's body in its place."""
    twin, node = _node(tree, number)
    body = getattr(node, name)
    statement = body[start]
    if isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try):
        body[start : start + 1] = statement.body
        yield from _text(twin)
    if isinstance(statement, ast.Match):
        twin, node = _node(tree, number)
        body = getattr(node, name)
        body[start : start + 1] = statement.cases[0].body
        yield from _text(twin)


_SIMPLE = ("m0", "jnp.ones((4, 4))")


def _smaller_expressions(tree: ast.Module) -> Iterator[str]:
    for number, node in enumerate(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for position, item in enumerate(items):
                if not isinstance(item, ast.expr):
                    continue
                for part in _parts(item):
                    twin, other = _node(tree, number)
                    if isinstance(value, list):
                        getattr(other, name)[position] = part
                    else:
                        setattr(other, name, part)
                    yield from _text(twin)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Give the expressions that may stand for a larger one: those inside it, then a creator."""
    if isinstance(node, ast.Name | ast.Constant | ast.Attribute) or not isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        return
    size = sum(1 for _ in ast.walk(node))
    for child in ast.walk(node):
        if child is not node and isinstance(child, ast.expr) and not isinstance(child, ast.Starred):
            if isinstance(child, ast.Constant | ast.Tuple) or not isinstance(
                getattr(child, "ctx", ast.Load()), ast.Load
            ):
                continue
            yield child
    if size > 12:
        yield ast.parse(_SIMPLE[1], mode="eval").body
