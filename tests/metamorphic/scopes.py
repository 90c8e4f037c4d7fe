"""What each name in a module is: the scope that binds it, and every place where it stands.

Written for the transformations on `ast`, apart from the analyser's own name table, so that a
mistake in the one does not hide in the other.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.metamorphic.text import Text

Kind = Literal[
    "load", "store", "update", "delete", "parameter", "function", "class", "import", "except",
    "declared", "match",
]  # fmt: skip


@dataclass(eq=False)
class Scope:
    """One scope."""

    kind: Literal["module", "class", "function", "comprehension"]
    node: ast.AST
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    def around(self) -> Iterator[Scope]:
        """Give the scope, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(frozen=True, eq=False)
class Occurrence:
    """One place where a name stands."""

    name: str
    kind: Kind
    node: ast.AST
    start: int
    seen_from: Scope

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.name)

    @property
    def binds(self) -> bool:
        """Whether the name is bound here."""
        return self.kind not in {"load", "delete", "declared"}


class Scopes:
    """The names of one module."""

    def __init__(self, text: Text) -> None:
        """Walk the tree once."""
        self.module = Scope("module", text.tree, None)
        self.all = [self.module]
        self.occurrences: list[Occurrence] = []
        self.misplaced: set[str] = set()
        """Names that do not stand where `ast` says, as in f-strings before Python 3.12."""
        _Builder(self, text).visit(text.tree)
        self.variables: dict[tuple[Scope, str], list[Occurrence]] = defaultdict(list)
        """Every place of each variable, by the scope that binds it."""
        self.free: dict[str, list[Occurrence]] = defaultdict(list)
        """Names that the module does not bind: those of Python."""
        for occurrence in self.occurrences:
            owner = self.owner(occurrence.name, occurrence.seen_from)
            if owner is None:
                self.free[occurrence.name].append(occurrence)
            else:
                self.variables[owner, occurrence.name].append(occurrence)
        self._by_node = {id(each.node): each for each in self.occurrences}

    def owner(self, name: str, seen_from: Scope) -> Scope | None:
        """Give the scope that binds what code in a scope sees under a name."""
        for scope in seen_from.around():
            if name in scope.global_names:
                return self.module
            if name in scope.nonlocal_names:
                continue
            if name in scope.bound and (scope is seen_from or scope.kind != "class"):
                return scope
        return None

    def owner_of(self, node: ast.Name) -> Scope | None:
        """Give the scope that binds a name."""
        occurrence = self._by_node[id(node)]
        return self.owner(occurrence.name, occurrence.seen_from)

    def scope_of(self, node: ast.Name) -> Scope:
        """Give the scope that a name is seen from."""
        return self._by_node[id(node)].seen_from


class _Builder(ast.NodeVisitor):
    def __init__(self, scopes: Scopes, text: Text) -> None:
        self.scopes = scopes
        self.text = text
        self.scope = scopes.module

    # -- noting ----------------------------------------------------------------------------------

    def _note(self, name: str, kind: Kind, node: ast.AST, start: int, scope: Scope) -> None:
        if self.text.text[start : start + len(name)] != name:
            self.scopes.misplaced.add(name)
        occurrence = Occurrence(name, kind, node, start, scope)
        self.scopes.occurrences.append(occurrence)
        if occurrence.binds:
            scope.bound.add(name)

    def _note_inside(self, name: str, kind: Kind, node: ast.AST, before: str = "") -> None:
        """Note a name that has no place of its own: the first one in the text of its node."""
        start = self.text.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        found = re.compile(rf"{before}\b({re.escape(name)})\b").search(self.text.text, start)
        self._note(name, kind, node, found.start(1) if found else -1, self.scope)

    def _new(self, kind: Literal["class", "function", "comprehension"], node: ast.AST) -> Scope:
        scope = Scope(kind, node, self.scope)
        self.scopes.all.append(scope)
        return scope

    # -- nodes -----------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        kinds: dict[type[ast.expr_context], Kind] = {
            ast.Load: "load", ast.Store: "store", ast.Del: "delete",
        }  # fmt: skip
        self._note(node.id, kinds[type(node.ctx)], node, self.text.start(node), self.scope)
        if isinstance(node.ctx, ast.Del):
            self.scope.bound.add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = next(each for each in self.scope.around() if each.kind != "comprehension")
        self._note(node.target.id, "store", node.target, self.text.start(node.target), scope)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            start = self.text.start(node.target)
            self._note(node.target.id, "update", node.target, start, self.scope)
        else:
            self.visit(node.target)
        self.visit(node.value)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)
        for each in every:
            if each.annotation is not None:
                self.visit(each.annotation)
        outside = self.scope
        self.scope = self._new("function", node)
        for each in every:
            self._note(each.arg, "parameter", each, self.text.start(each), self.scope)
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)
        self.scope = outside

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        if node.returns is not None:
            self.visit(node.returns)
        self._note_inside(node.name, "function", node, r"def\s+")
        self._visit_function(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._note_inside(node.name, "class", node, r"class\s+")
        outside = self.scope
        self.scope = self._new("class", node)
        for statement in node.body:
            self.visit(statement)
        self.scope = outside

    def _visit_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        outside = self.scope
        self.visit(node.generators[0].iter)
        self.scope = self._new("comprehension", node)
        for position, clause in enumerate(node.generators):
            self.visit(clause.target)
            if position:
                self.visit(clause.iter)
            for condition in clause.ifs:
                self.visit(condition)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.visit(part)
        self.scope = outside

    visit_ListComp = visit_SetComp = _visit_comprehension  # noqa: N815
    visit_DictComp = visit_GeneratorExp = _visit_comprehension  # noqa: N815

    def visit_alias(self, node: ast.alias) -> None:
        if node.name == "*":
            return
        start = self.text.start(node)
        if node.asname is not None:
            whole = self.text.text[start : self.text.end(node)]
            self._note(node.asname, "import", node, start + whole.rindex(node.asname), self.scope)
        else:
            self._note(node.name.partition(".")[0], "import", node, start, self.scope)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self._note_inside(node.name, "except", node, r"as\s+")
        for statement in node.body:
            self.visit(statement)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            known = isinstance(node, ast.Global)
            (self.scope.global_names if known else self.scope.nonlocal_names).add(name)
            self._note_inside(name, "declared", node)

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.pattern is not None:
            self.visit(node.pattern)
        if node.name is not None:
            before = r"as\s+" if node.pattern is not None else ""
            self._note_inside(node.name, "match", node, before)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            self._note_inside(node.name, "match", node, r"\*\s*")

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self._note_inside(node.rest, "match", node, r"\*\*\s*")
