"""The summary of a module from Python's own parser, where that is enough: it mostly is.

LibCST takes ten times as long, and most modules do nothing at import but import others and define
things. Where a module could do more (somewhere in what an import executes it names one of the
functions that start the backend, or the environment, or a thing of another file that may stand for
one), nothing is given, and its tree decides.
"""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.files.python_nodes import children, dotted_name, walk
from placement_lint.files.python_tree import blocks
from placement_lint.jaxmodel.backend_start import ENTERING_STARTS_BACKEND, STARTS_BACKEND
from placement_lint.jaxmodel.startup import RESETTING_CALLS
from placement_lint.semantic.module_summary import (
    MOST_BRANCHES,
    Does,
    Imports,
    Kind,
    either,
    import_of_jax,
    imported_in,
    perhaps,
)
from placement_lint.syntax.guards import TYPE_CHECKING_NAMES
from placement_lint.syntax.import_statements import member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.semantic.module_summary import Step, Summary

_VARIABLES = frozenset({"environ", "putenv"})
_READING = ["environ", "get"]
_WORDS = _VARIABLES.union(
    name.rpartition(".")[2] for name in STARTS_BACKEND | RESETTING_CALLS | ENTERING_STARTS_BACKEND
)
_MOST_MEANINGS = 64
_OWN_MODULES = frozenset({"jax", "safetensors", "os"})
"""What is in them is known by its name."""
_TRY = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


class _UnsureError(Exception):
    """The tree has to decide."""


def outline(module: ast.Module, stands_for: Callable[[str], str | None]) -> Summary | None:
    """Return what executing a module does; None if LibCST's tree of it has to decide.

    `stands_for` returns, for a qualified name in the file, the name of JAX that it stands for by
    what another file binds.
    """
    try:
        return _Outline(module, stands_for).summary()
    except (_UnsureError, RecursionError):
        return None


def without_functions(module: ast.Module, text: str) -> str:
    """Return a text without the bodies of functions, but for those that are called by their names.

    What executing the module does is the same, and all lines keep their numbers. A function that
    binds names of the module keeps its body as well.
    """
    functions = [*_functions(module.body)]
    by_name: dict[str, list[_Function]] = {}
    for function in functions:
        by_name.setdefault(function.name, []).append(function)
    kept = [function for function in functions if _binds_outside(function)]
    called = _called_outside_of_functions(module)
    seen: set[str] = set()
    while called or kept:
        for name in called - seen:
            kept += by_name.get(name, ())
        seen |= called
        called = set()
        if kept:
            function = kept.pop()
            if function in functions:
                functions.remove(function)
                called = _called_in(function)
    lines = with_line_feeds(text).split("\n")
    for function in functions:
        first, last = function.body[0], function.body[-1]
        # A decorated statement begins with its decorators.
        top = min([first, *getattr(first, "decorator_list", ())], key=lambda node: node.lineno)
        line = lines[top.lineno - 1]
        before = line.encode()[: top.col_offset].strip()
        if before in {b"", b"@"} and last.end_lineno is not None:
            indent = line[: len(line) - len(line.lstrip())]
            emptied = [""] * (last.end_lineno - top.lineno)
            lines[top.lineno - 1 : last.end_lineno] = [f"{indent}pass", *emptied]
    return "\n".join(lines)


class _Outline:
    def __init__(self, module: ast.Module, stands_for: Callable[[str], str | None]) -> None:
        self._module = module
        self._stands_for = stands_for
        self._imported: dict[str, list[str]] = {}
        self._functions: dict[str, list[_Function]] = {}
        self._renamed: dict[str, list[str]] = {}
        self._seen: set[int] = set()

    def summary(self) -> Summary:
        self._bind(self._module.body)
        return self._block(self._module.body)

    # -- names --------------------------------------------------------------------------------

    def _bind(self, body: Iterable[ast.stmt]) -> None:
        """Note what is imported, defined and given another name outside of functions."""
        for node in body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    target = top if alias.asname is None else alias.name
                    self._imported.setdefault(alias.asname or top, []).append(target)
            elif isinstance(node, ast.ImportFrom):
                for alias, name in zip(node.names, _imported_names(node), strict=True):
                    self._imported.setdefault(alias.asname or alias.name, []).append(name)
            elif isinstance(node, _FUNCTION):
                self._functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign):
                self._rename(node.targets, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._rename([node.target], node.value)
            else:
                for inner in blocks(node):
                    self._bind(inner)

    def _rename(self, targets: Iterable[ast.expr], value: ast.expr) -> None:
        chains = [*_chains(value)]
        for target in targets if chains else ():
            for node in walk(target):
                if isinstance(node, ast.Name):
                    self._renamed.setdefault(node.id, []).extend(chains)

    def _meanings(self, chain: str) -> Iterator[str]:
        """Yield the qualified names that a dotted name may stand for by imports and other names."""
        pending, seen = [chain], {chain}
        while pending:
            name = pending.pop()
            head, dot, rest = name.partition(".")
            for target in self._imported.get(head, ()):
                yield f"{target}{dot}{rest}"
            for other in self._renamed.get(head, ()):
                longer = f"{other}{dot}{rest}"
                if longer not in seen and len(seen) < _MOST_MEANINGS:
                    seen.add(longer)
                    pending.append(longer)

    # -- what is executed -----------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], depth: int = 0) -> Summary:
        steps: list[Step] = []
        for statement in body:
            self._statement(statement, steps, depth)
        return tuple(steps)

    def _statement(self, node: ast.stmt, steps: list[Step], depth: int) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported_names(node):
                jax = import_of_jax(name)
                if jax is None:
                    steps.append(Imports(name))
                else:
                    steps.append(Does(Kind.IMPORTS, jax, node.lineno))
        elif isinstance(node, ast.If):
            self._demand_imports_only(node.test)
            if node.orelse:
                body = self._block(node.body, depth + 1)
                orelse = self._block(node.orelse, depth + 1)
                if depth < MOST_BRANCHES:
                    either(steps, body, orelse)
                else:
                    perhaps(steps, [*imported_in(body), *imported_in(orelse)])
            elif not self._is_false_at_import(node.test):
                perhaps(steps, self._imported_below(node.body))
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._demand_imports_only(node.iter)
            perhaps(steps, self._imported_below([*node.body, *node.orelse]))
        elif isinstance(node, ast.While):
            self._demand_imports_only(node.test)
            perhaps(steps, self._imported_below([*node.body, *node.orelse]))
        elif isinstance(node, _TRY):
            steps += self._block(node.body, depth)
            steps += self._block(node.finalbody, depth)
            other = [each for handler in node.handlers for each in handler.body]
            perhaps(steps, self._imported_below([*other, *node.orelse]))
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self._demand_imports_only(item)
            steps += self._block(node.body, depth)
        elif isinstance(node, ast.ClassDef):
            self._demand_imports_only(*node.decorator_list, *node.bases, *node.keywords)
            steps += self._block(node.body, depth)
        elif isinstance(node, ast.Match):
            self._demand_imports_only(node.subject)
            perhaps(steps, self._imported_below(each for case in node.cases for each in case.body))
        elif isinstance(node, _FUNCTION):
            defaults = (each for each in node.args.kw_defaults if each is not None)
            self._demand_imports_only(*node.decorator_list, *node.args.defaults, *defaults)
            for decorator in node.decorator_list:
                # It may call the function at once.
                applied = decorator.func if isinstance(decorator, ast.Call) else decorator
                if own := self._functions.get(dotted_name(applied)):
                    self._demand_harmless(*own, node)
        elif isinstance(node, ast.AnnAssign):
            self._demand_imports_only(node.target, *([] if node.value is None else [node.value]))
        elif not isinstance(node, ast.Assert):
            self._demand_imports_only(node)

    def _imported_below(self, body: Iterable[ast.stmt]) -> Iterator[str]:
        """Yield what may be imported in some statements, outside of functions."""
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from (each for each in _imported_names(node) if import_of_jax(each) is None)
            elif isinstance(node, ast.If) and not node.orelse:
                if not self._is_false_at_import(node.test):
                    yield from self._imported_below(node.body)
            elif not isinstance(node, _FUNCTION):
                for inner in blocks(node):
                    yield from self._imported_below(inner)

    def _is_false_at_import(self, test: ast.expr) -> bool:
        if isinstance(test, ast.Compare):
            sides = (test.left, *test.comparators)
            return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
        return not TYPE_CHECKING_NAMES.isdisjoint(self._meanings(dotted_name(test)))

    # -- what else it may do --------------------------------------------------------------------

    def _demand_imports_only(self, *nodes: ast.AST) -> None:
        """Make sure that nothing but imports happens where this is executed."""
        pending = [*nodes]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Call):
                self._judge(node.func)
                if isinstance(node.func, ast.Subscript):
                    # Any function that a table may hold.
                    self._demand_harmless(*itertools.chain(*self._functions.values()))
                for name in _names_called(node):
                    self._demand_harmless(*self._functions.get(name, ()))
            elif isinstance(node, ast.NamedExpr):
                for each in walk(node.value):
                    self._judge(each)
            elif isinstance(node, ast.Attribute):
                if node.attr in _VARIABLES:
                    self._judge(node)
            elif isinstance(node, ast.Name) and not _VARIABLES.isdisjoint(
                part for name in self._meanings(node.id) for part in name.split(".")
            ):
                raise _UnsureError
            pending += children(node)

    def _demand_harmless(self, *functions: _Function) -> None:
        """Make sure of functions that are called: each may name things in its own way."""
        pending = [*functions]
        while pending:
            function = pending.pop()
            if id(function) in self._seen:
                continue
            self._seen.add(id(function))
            for node in walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    raise _UnsureError
                if isinstance(node, ast.Attribute | ast.Name):
                    self._judge(node)
                if isinstance(node, ast.Call):
                    for name in _names_called(node):
                        pending += self._functions.get(name, ())

    def _judge(self, node: ast.AST) -> None:
        """Make sure that a dotted name does not stand for what does something."""
        chain = dotted_name(node)
        if not chain:
            return
        head, dot, rest = chain.partition(".")
        if dot and head not in self._imported and head not in self._renamed and _does(rest):
            raise _UnsureError
        for name in self._meanings(chain):
            known = name
            if name.partition(".")[0] not in _OWN_MODULES:
                known = self._stands_for(name) or ""
            if _does(known):
                raise _UnsureError


def _does(name: str) -> bool:
    """Return whether something may be done by what has such a name."""
    parts = name.split(".")
    return not _WORDS.isdisjoint(parts) and parts[-2:] != _READING


def _imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the qualified names that a statement imports; a leading dot for each level."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    module = "." * node.level + (node.module or "")
    names = (alias.name for alias in node.names)
    return [module if name == "*" else member(module, name) for name in names]


def _chains(value: ast.expr) -> Iterator[str]:
    """Yield the dotted names in an expression that it may be, or hold."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        chain = dotted_name(node)
        if chain:
            yield chain
        elif not isinstance(node, ast.Call | ast.Lambda):
            pending += children(node)


def _functions(body: Iterable[ast.stmt]) -> Iterator[_Function]:
    """Yield the functions that are in no other function."""
    for node in body:
        if isinstance(node, _FUNCTION):
            yield node
        else:
            for inner in blocks(node):
                yield from _functions(inner)


def _binds_outside(function: _Function) -> bool:
    return any(isinstance(node, ast.Global | ast.Nonlocal) for node in walk(function))


def _called_in(node: ast.AST) -> set[str]:
    return {
        each.func.id
        for each in walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }


def _names_called(call: ast.Call) -> Iterator[str]:
    """Yield the names that what is called may have: `f()`, `Class.f()`, `{"a": f}["a"]()`."""
    for node in walk(call.func):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _called_outside_of_functions(module: ast.Module) -> set[str]:
    called: set[str] = set()
    pending: list[ast.AST] = [module]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            called.update(_names_called(node))
        if isinstance(node, _FUNCTION):
            if node.decorator_list:
                # A decorator may call it at once.
                called.add(node.name)
                called.update(each.id for each in node.decorator_list if isinstance(each, ast.Name))
            pending += [*node.decorator_list, node.args]
        else:
            pending += children(node)
    return called
