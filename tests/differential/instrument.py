"""Probes: every expression of a program wrapped, so that what it gave can be seen."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

PROBE, HOST = "__probe__", "__host__"

Place = tuple[int, int, int, int]
"""A range in a module: lines from 1, columns from 0, as `ast` counts."""

_UNREAD = (
    ast.Constant, ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue, ast.Lambda,
    ast.GeneratorExp,
)  # fmt: skip
_LITERALS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_NO_OPERANDS = (
    ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.Match,
)  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def place_of(node: ast.AST) -> Place:
    """Give the range of a node."""
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0),
        getattr(node, "end_col_offset", 0),
    )


@dataclass
class Program:
    """One module: its untouched tree, and the tree that is run, with probes."""

    name: str
    nodes: list[ast.AST]
    tree: ast.Module
    parents: dict[int, int] = field(default_factory=dict)
    by_place: dict[Place, int] = field(default_factory=dict)

    _code: CodeType | None = None

    def code(self, scheme: str) -> CodeType:
        """Give the module compiled, with probes; its file name is the scheme and its name."""
        if self._code is None:
            self._code = compile(self.tree, scheme + self.name, "exec")
        return self._code

    def number_at(self, place: Place) -> int:
        """Give the node with a range, else the smallest around it.

        CPython shortens the range of a call of a method that is written on several lines.
        """
        exact = self.by_place.get(place)
        if exact is not None:
            return exact
        start, end = place[:2], place[2:]
        around = [
            (other[2] - other[0], other[3] - other[1], number)
            for other, number in self.by_place.items()
            if other[:2] <= start and end <= other[2:]
        ]
        return min(around)[2] if around else -1

    def parts(self, number: int) -> Iterator[int]:
        """Give the expressions that the operation of a node may take its operands from."""
        node = self.nodes[number]
        found: list[Any]
        if isinstance(node, ast.For | ast.AsyncFor):
            found = [node.iter]
        elif isinstance(node, _COMPREHENSIONS):
            found = [clause.iter for clause in node.generators]
        elif isinstance(node, ast.While | ast.If):
            found = [node.test]
        elif isinstance(node, ast.With | ast.AsyncWith):
            found = [item.context_expr for item in node.items]
        elif isinstance(node, _NO_OPERANDS):
            found = []
        else:
            found = [
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, ast.expr | ast.keyword | ast.Slice)
            ]
        for child in found:
            yield child._number

    def is_literal(self, number: int) -> bool:
        """Tell whether a node writes a container out."""
        return isinstance(self.nodes[number], _LITERALS)


def instrument(name: str, source: str) -> Program:
    """Give a module with probes. Raises SyntaxError."""
    untouched, changed = ast.parse(source), ast.parse(source)
    nodes = list(ast.walk(untouched))
    program = Program(name, nodes, changed)
    for number, (node, twin) in enumerate(zip(nodes, ast.walk(changed), strict=True)):
        node._number = number  # type: ignore[attr-defined]
        twin._number = number  # type: ignore[attr-defined]
    for number, node in enumerate(nodes):
        for child in ast.iter_child_nodes(node):
            program.parents[child._number] = number  # type: ignore[attr-defined]
        if hasattr(node, "lineno") and not isinstance(node, ast.Expr | ast.arg | ast.keyword):
            program.by_place.setdefault(place_of(node), number)
    program.tree = ast.fix_missing_locations(_Prober().visit(changed))
    return program


class _Prober(ast.NodeTransformer):
    """Wraps every expression that is read in `__probe__(number, expression)`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit what is inside, then wrap the node itself."""
        if isinstance(node, ast.pattern):
            return node
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call):
                decorator.args = _played(decorator)
        for name, old in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "bases"}:
                continue
            if isinstance(old, list):
                new = []
                for item in old:
                    if isinstance(item, ast.AugAssign):
                        new += self._read_target(item)
                    new.append(self.visit(item) if isinstance(item, ast.AST) else item)
                setattr(node, name, new)
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return self._wrapped(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave what is called unwrapped, and let a platform's name mean the played device."""
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        elif not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.args = [
            argument
            if isinstance(argument, ast.Name) and argument.id == HOST
            else self.visit(argument)
            for argument in _played(node)
        ]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return self._wrapped(node)

    def _wrapped(self, node: ast.AST) -> ast.AST:
        read = isinstance(getattr(node, "ctx", None), ast.Load | None)
        if isinstance(node, ast.expr) and not isinstance(node, _UNREAD) and read:
            return _probe(node, node)
        return node

    def _read_target(self, node: ast.AugAssign) -> list[ast.AST]:
        """`x += y` reads a target that cannot be wrapped: read it once more before."""
        if not isinstance(node.target, ast.Name | ast.Attribute):
            return []
        again = ast.parse(ast.unparse(node.target), mode="eval").body
        for part in ast.walk(again):
            ast.copy_location(part, node.target)
        return [ast.copy_location(ast.Expr(_probe(node.target, again)), node)]


def _probe(node: ast.expr, inner: ast.expr) -> ast.expr:
    number = ast.Constant(node._number)  # type: ignore[attr-defined]
    call = ast.Call(ast.Name(PROBE, ast.Load()), [number, inner], [])
    for part in (call, call.func, number):
        ast.copy_location(part, node)
    return call


def _played(call: ast.Call) -> list[ast.expr]:
    """Give a call's arguments; the platform of `jax.default_device("cpu")` is the played host."""
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if not called.endswith("default_device"):
        return call.args
    return [
        ast.copy_location(ast.Name(HOST, ast.Load()), argument)
        if isinstance(argument, ast.Constant) and argument.value == "cpu"
        else argument
        for argument in call.args
    ]
