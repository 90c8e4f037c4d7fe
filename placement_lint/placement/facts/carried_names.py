"""What an iteration of a loop may read of those before it: what it reads before it binds it.

Of all other names of a function no iteration reads what they held at the end of the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.import_statements import names_bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_Bound = frozenset[str]
"""Names that are surely bound in this iteration, at one point of it."""

_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp)
_LATER = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.GeneratorExp)
"""What reads variables when it is called or consumed."""
_BY_TEXT = frozenset({"eval", "exec", "globals", "locals", "vars"})
_LEAVING = (cst.Return, cst.Raise, cst.Break, cst.Continue)


@dataclass(frozen=True)
class Carried:
    """What the iterations of one loop hand on to one another."""

    scope: int
    """The scope, by id, of the function that the loop is in."""
    names: frozenset[str]
    comprehensions: frozenset[int]
    """The scopes, by id, of comprehensions in it: these bind their names before they read them."""
    later: frozenset[str]
    """Of the names, those that other bodies read, which may have those of comprehensions too."""

    def is_carried(self, variable: tuple[object, str]) -> bool:
        """Return whether an iteration may read what a variable held at the end of another one."""
        owner, name = variable
        if owner == self.scope:
            return name in self.names
        return owner not in self.comprehensions or name in self.later


def carried(tree: Tree, names: Names, loop: cst.For | cst.While) -> Carried | None:
    """Return what the iterations of a loop hand on; None where that is not known."""
    scope = names.scope(loop.body)
    function = scope.node
    if not isinstance(function, cst.FunctionDef) or id(function) in names.cells:
        return None
    if any(True for _ in tree.every(cst.Yield, below=loop)):
        # What follows it may be executed for itself.
        return None
    later = frozenset(_read_later(tree, function))
    if not later.isdisjoint(_BY_TEXT):
        return None
    reads = _Reads(tree)
    bound: _Bound = frozenset()
    if isinstance(loop, cst.For):
        reads.of(loop.iter, bound)
        bound |= reads.bound_by(loop.target, bound)
    else:
        reads.of(loop.test, bound)
    reads.suite(loop.body, bound)
    inside = tree.every(*_COMPREHENSIONS, below=loop)
    return Carried(
        id(scope),
        later | reads.early,
        frozenset(id(names.scope(each.for_in)) for each in inside),
        later,
    )


def _read_later(tree: Tree, function: cst.FunctionDef) -> Iterator[str]:
    """Yield the names that a function's own functions read, and its `finally` blocks.

    And those that show that it may read others by their texts.
    """
    for inner in tree.every(*_LATER, below=function):
        yield from _names(tree, inner)
    for each in tree.every(cst.Try, cst.TryStar, below=function):
        if each.finalbody is not None:
            yield from _names(tree, each.finalbody)
    yield from (name for name in _names(tree, function) if name in _BY_TEXT)


def _names(tree: Tree, below: cst.CSTNode) -> Iterator[str]:
    """Yield the names of variables in a node, or that it is."""
    if isinstance(below, cst.Name):
        yield below.value
    for node in tree.every(cst.Name, below=below):
        yield node.value


class _Reads:
    """Collects the names that an iteration reads before it surely has bound them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.early: set[str] = set()

    def of(self, node: cst.CSTNode, bound: _Bound) -> None:
        """Take the names in a node for read."""
        self.early.update(name for name in _names(self._tree, node) if name not in bound)

    def suite(self, suite: cst.BaseSuite, bound: _Bound) -> _Bound | None:
        """Go through statements; return what is bound behind them, None where nothing follows."""
        return self._block(suite.body, bound)

    def _block(self, statements: Sequence[cst.CSTNode], bound: _Bound) -> _Bound | None:
        at: _Bound | None = bound
        for statement in statements:
            if at is None:
                return None
            if isinstance(statement, cst.SimpleStatementLine):
                at = self._block(statement.body, at)
            else:
                at = self._statement(statement, at)
        return at

    def _statement(self, node: cst.CSTNode, bound: _Bound) -> _Bound | None:
        if isinstance(node, cst.Assign):
            self.of(node.value, bound)
            for each in node.targets:
                bound |= self.bound_by(each.target, bound)
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            self.of(node.value, bound)
            bound |= self.bound_by(node.target, bound)
        elif isinstance(node, cst.Import | cst.ImportFrom):
            bound |= {name for name, _ in names_bound(node)}
        elif isinstance(node, cst.If):
            return self._if(node, bound)
        elif isinstance(node, cst.For):
            self.of(node.iter, bound)
            self.suite(node.body, bound | self.bound_by(node.target, bound))
            self._orelse(node.orelse, bound)
        elif isinstance(node, cst.While):
            self.of(node.test, bound)
            self.suite(node.body, bound)
            self._orelse(node.orelse, bound)
        elif isinstance(node, cst.With):
            for item in node.items:
                self.of(item.item, bound)
                if item.asname is not None:
                    bound |= self.bound_by(item.asname.name, bound)
            # It may hide that its body has failed.
            self.suite(node.body, bound)
        elif isinstance(node, cst.Try | cst.TryStar):
            return self._try(node, bound)
        else:
            self.of(node, bound)
            if isinstance(node, _LEAVING):
                return None
        return bound

    def bound_by(self, target: cst.CSTNode, bound: _Bound) -> _Bound:
        """Return the names that a target binds; what else is in it is read."""
        if isinstance(target, cst.Name):
            return frozenset({target.value})
        if isinstance(target, cst.Tuple | cst.List):
            parts = (self.bound_by(each.value, bound) for each in target.elements)
            return frozenset[str]().union(*parts)
        self.of(target, bound)
        return frozenset()

    def _if(self, node: cst.If, bound: _Bound) -> _Bound | None:
        """Go through `if` … `elif` … `else`, without recursion for a long chain."""
        ends: list[_Bound | None] = []
        at: cst.If | cst.Else | None = node
        while isinstance(at, cst.If):
            self.of(at.test, bound)
            ends.append(self.suite(at.body, bound))
            at = at.orelse
        ends.append(bound if at is None else self.suite(at.body, bound))
        return _on_all(ends)

    def _try(self, node: cst.Try | cst.TryStar, bound: _Bound) -> _Bound | None:
        end = self.suite(node.body, bound)
        if end is not None and node.orelse is not None:
            end = self.suite(node.orelse.body, end)
        ends = [end]
        for handler in node.handlers:
            there = bound
            if handler.type is not None:
                self.of(handler.type, there)
            if handler.name is not None:
                there |= self.bound_by(handler.name.name, there)
            ends.append(self.suite(handler.body, there))
        met = _on_all(ends)
        if node.finalbody is not None:
            last = self.suite(node.finalbody.body, bound)
            return None if met is None or last is None else met | last
        return met

    def _orelse(self, node: cst.Else | None, bound: _Bound) -> None:
        if node is not None:
            self.suite(node.body, bound)


def _on_all(ends: list[_Bound | None]) -> _Bound | None:
    """Return what is bound on each of the ways that lead on."""
    going = [end for end in ends if end is not None]
    return frozenset.intersection(*going) if going else None
