"""Nodes of statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.syntax.lean.expressions import ASYNCHRONOUS, OPERATORS, ExpressionMaker
from placement_lint.syntax.lean.literals import dotted, name
from placement_lint.syntax.lean.makers import by_type, maker
from placement_lint.syntax.lean.patterns import PatternMaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.syntax.lean.text import LocatedText

_line = maker(cst.SimpleStatementLine, "body")
_suite = maker(cst.SimpleStatementSuite, "body")
_block = maker(cst.IndentedBlock, "body")
_expr = maker(cst.Expr, "value")
_pass = maker(cst.Pass)
_break = maker(cst.Break)
_continue = maker(cst.Continue)
_return = maker(cst.Return, "value")
_raise = maker(cst.Raise, "exc", "cause")
_from = maker(cst.From, "item")
_assert = maker(cst.Assert, "test", "msg")
_del = maker(cst.Del, "target")
_assign = maker(cst.Assign, "targets", "value")
_assign_target = maker(cst.AssignTarget, "target")
_ann_assign = maker(cst.AnnAssign, "target", "annotation", "value")
_aug_assign = maker(cst.AugAssign, "target", "operator", "value")
_global = maker(cst.Global, "names")
_nonlocal = maker(cst.Nonlocal, "names")
_name_item = maker(cst.NameItem, "name")
_import = maker(cst.Import, "names")
_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_import_alias = maker(cst.ImportAlias, "name", "asname")
_import_star = maker(cst.ImportStar)
_as_name = maker(cst.AsName, "name")
_if = maker(cst.If, "test", "body", "orelse")
_else = maker(cst.Else, "body")
_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_while = maker(cst.While, "test", "body", "orelse")
_with = maker(cst.With, "items", "body", "asynchronous")
_with_item = maker(cst.WithItem, "item", "asname")
_try = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_try_star = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_handler = maker(cst.ExceptHandler, "type", "name", "body")
_star_handler = maker(cst.ExceptStarHandler, "type", "name", "body")
_finally = maker(cst.Finally, "body")
_decorator = maker(cst.Decorator, "decorator")
_function = maker(
    cst.FunctionDef,
    "decorators",
    "type_parameters",
    "asynchronous",
    "name",
    "params",
    "returns",
    "body",
)
_class = maker(cst.ClassDef, "decorators", "type_parameters", "name", "bases", "keywords", "body")
_match = maker(cst.Match, "subject", "cases")
_match_case = maker(cst.MatchCase, "pattern", "guard", "body")
_type_alias = maker(cst.TypeAlias, "name", "type_parameters", "value")
_type_parameters = maker(cst.TypeParameters, "params")
_type_param = maker(cst.TypeParam, "param", "star", "default")
_type_var = maker(cst.TypeVar, "name", "bound")
_type_var_tuple = maker(cst.TypeVarTuple, "name")
_param_spec = maker(cst.ParamSpec, "name")

Place = tuple[int, int, "int | None", "int | None"]
"""The first line and column, and the last: lines from 1, columns in bytes."""

_ENCLOSED = frozenset({ast.Tuple, ast.GeneratorExp})
"""To LibCST these stand within their parentheses."""

_DOT = cst.Dot()
_SEMICOLON = cst.Semicolon()


class StatementMaker:
    """Makes the nodes of statements, by the type of Python's node."""

    def __init__(self, text: LocatedText, places: dict[int, Place] | None = None) -> None:
        """Take the text of which the tree is.

        `places` gets, for the address of a node, where it stands, if that is where Python's node
        does.
        """
        self._text = text
        self._places = places
        self._expressions = ExpressionMaker(text)
        self._of = self._expressions.of
        self._of_any = self._expressions.of_any
        self._patterns = PatternMaker(text, self._of)
        self._small = by_type(self, "small_")
        self._compound = by_type(self, "compound_")
        if places is not None:
            for makers in (self._small, self._compound, self._expressions.makers):
                for kind, make in makers.items():
                    if kind not in _ENCLOSED:
                        # To LibCST a semicolon at the end of a block is no part of the block.
                        has_end = makers is not self._compound
                        makers[kind] = _noting(make, places, has_end=has_end)

    # -- blocks -----------------------------------------------------------------------------

    def several(self, statements: list[ast.stmt]) -> tuple[Any, ...]:
        """Return the nodes of statements: those on one line are one."""
        small, compound = self._small, self._compound
        has_semicolons = self._text.has_semicolons
        found: list[Any] = []
        line: list[Any] = []
        for statement in statements:
            kind = type(statement)
            make = small.get(kind)
            if make is None:
                found.append(compound[kind](statement))
            elif not has_semicolons:
                found.append(_line((make(statement),)))
            else:
                line.append(make(statement))
                if self._ends_line(statement, line[-1]):
                    found.append(_line(tuple(line)))
                    line = []
        return tuple(found)

    def _ends_line(self, statement: ast.stmt, made: Any) -> bool:
        """Put the semicolon behind a statement; return whether the statement ends its line."""
        has_semicolon, ends_line = self._text.semicolon_after(statement)
        if has_semicolon:
            object.__setattr__(made, "semicolon", _SEMICOLON)
        return ends_line

    def _body(self, statements: list[ast.stmt]) -> Any:
        first = statements[0]
        if type(first) not in self._small or self._text.begins_line(first):
            return _block(self.several(statements))
        made = []
        for statement in statements:
            made.append(self._small[type(statement)](statement))
            self._ends_line(statement, made[-1])
        return _suite(tuple(made))

    def _else(self, statements: list[ast.stmt]) -> Any:
        return _else(self._body(statements)) if statements else None

    # -- on one line ------------------------------------------------------------------------

    def small_Expr(self, node: ast.Expr) -> Any:
        return _expr(self._of(node.value))

    def small_Pass(self, _: ast.Pass) -> Any:
        return _pass()

    def small_Break(self, _: ast.Break) -> Any:
        return _break()

    def small_Continue(self, _: ast.Continue) -> Any:
        return _continue()

    def small_Return(self, node: ast.Return) -> Any:
        return _return(self._of_any(node.value))

    def small_Raise(self, node: ast.Raise) -> Any:
        cause = None if node.cause is None else _from(self._of(node.cause))
        return _raise(self._of_any(node.exc), cause)

    def small_Assert(self, node: ast.Assert) -> Any:
        return _assert(self._of(node.test), self._of_any(node.msg))

    def small_Delete(self, node: ast.Delete) -> Any:
        targets = node.targets
        if len(targets) == 1 and not self._text.has_comma_behind(targets[0], node):
            return _del(self._of(targets[0]))
        return _del(self._expressions.tuple_of(targets))

    def small_Assign(self, node: ast.Assign) -> Any:
        targets = tuple([_assign_target(self._of(target)) for target in node.targets])
        return _assign(targets, self._of(node.value))

    def small_AnnAssign(self, node: ast.AnnAssign) -> Any:
        target = self._of(node.target)
        annotation = self._expressions.annotation(node.annotation)
        return _ann_assign(target, annotation, self._of_any(node.value))

    def small_AugAssign(self, node: ast.AugAssign) -> Any:
        operator = OPERATORS[type(node.op)][1]
        return _aug_assign(self._of(node.target), operator, self._of(node.value))

    def small_Global(self, node: ast.Global) -> Any:
        return _global(tuple([_name_item(name(each)) for each in node.names]))

    def small_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return _nonlocal(tuple([_name_item(name(each)) for each in node.names]))

    def small_Import(self, node: ast.Import) -> Any:
        return _import(tuple([_alias(each) for each in node.names]))

    def small_ImportFrom(self, node: ast.ImportFrom) -> Any:
        every = node.names[0].name == "*"
        names = _import_star() if every else tuple([_alias(each) for each in node.names])
        module = None if node.module is None else dotted(node.module)
        return _import_from(module, names, (_DOT,) * (node.level or 0))

    def small_TypeAlias(self, node: Any) -> Any:
        return _type_alias(self._of(node.name), self._type_parameters(node), self._of(node.value))

    # -- with blocks ------------------------------------------------------------------------

    def compound_If(self, node: ast.If) -> Any:
        test, body, orelse = self._of(node.test), self._body(node.body), node.orelse
        if len(orelse) == 1 and type(orelse[0]) is ast.If and self._text.is_at(orelse[0], b"elif"):
            return _if(test, body, self.compound_If(orelse[0]))
        return _if(test, body, self._else(orelse))

    def compound_For(self, node: ast.For | ast.AsyncFor) -> Any:
        target, iterated, body = self._of(node.target), self._of(node.iter), self._body(node.body)
        asynchronous = ASYNCHRONOUS if type(node) is ast.AsyncFor else None
        return _for(target, iterated, body, self._else(node.orelse), asynchronous)

    compound_AsyncFor = compound_For

    def compound_While(self, node: ast.While) -> Any:
        return _while(self._of(node.test), self._body(node.body), self._else(node.orelse))

    def compound_With(self, node: ast.With | ast.AsyncWith) -> Any:
        items = [
            _with_item(self._of(item.context_expr), self._as_name(item.optional_vars))
            for item in node.items
        ]
        asynchronous = ASYNCHRONOUS if type(node) is ast.AsyncWith else None
        return _with(tuple(items), self._body(node.body), asynchronous)

    compound_AsyncWith = compound_With

    def _as_name(self, node: ast.expr | None) -> Any:
        return None if node is None else _as_name(self._of(node))

    def compound_Try(self, node: ast.Try) -> Any:
        return self._tried(node, _try, _handler)

    def compound_TryStar(self, node: Any) -> Any:
        return self._tried(node, _try_star, _star_handler)

    def _tried(self, node: Any, make: Any, make_handler: Any) -> Any:
        body = self._body(node.body)
        handlers = [
            make_handler(
                self._of_any(handler.type),
                None if handler.name is None else _as_name(name(handler.name)),
                self._body(handler.body),
            )
            for handler in node.handlers
        ]
        final = _finally(self._body(node.finalbody)) if node.finalbody else None
        return make(body, tuple(handlers), self._else(node.orelse), final)

    def compound_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        return _function(
            self._decorators(node.decorator_list),
            self._type_parameters(node),
            ASYNCHRONOUS if type(node) is ast.AsyncFunctionDef else None,
            name(node.name),
            self._expressions.parameters(node.args),
            self._expressions.annotation(node.returns),
            self._body(node.body),
        )

    compound_AsyncFunctionDef = compound_FunctionDef

    def compound_ClassDef(self, node: ast.ClassDef) -> Any:
        given = self._expressions.arguments(node.bases, node.keywords)
        # From the first keyword on, everything is one to LibCST.
        named = (at for at, each in enumerate(given) if each.keyword or each.star == "**")
        first = next(named, len(given))
        return _class(
            self._decorators(node.decorator_list),
            self._type_parameters(node),
            name(node.name),
            given[:first],
            given[first:],
            self._body(node.body),
        )

    def _decorators(self, nodes: list[ast.expr]) -> tuple[Any, ...]:
        made = tuple([_decorator(self._of(node)) for node in nodes])
        if self._places is not None:
            for node, decorator in zip(nodes, made, strict=True):
                column = self._text.column_of_sign(node)
                if column is not None:
                    place = (node.lineno, column, node.end_lineno, node.end_col_offset)
                    self._places[id(decorator)] = place
        return made

    def compound_Match(self, node: ast.Match) -> Any:
        subject = self._of(node.subject)
        cases = [
            _match_case(
                self._patterns.of(case.pattern), self._of_any(case.guard), self._body(case.body)
            )
            for case in node.cases
        ]
        return _match(subject, tuple(cases))

    # -- type parameters --------------------------------------------------------------------

    def _type_parameters(self, node: Any) -> Any:
        given = getattr(node, "type_params", None)
        return (
            _type_parameters(tuple([self._type_param(each) for each in given])) if given else None
        )

    def _type_param(self, node: Any) -> Any:
        kind = type(node).__name__
        default, star = getattr(node, "default_value", None), ""
        if isinstance(default, ast.Starred):
            default, star = default.value, "*"
        if kind == "TypeVar":
            made = _type_var(name(node.name), self._of_any(node.bound))
        else:
            made = (_type_var_tuple if kind == "TypeVarTuple" else _param_spec)(name(node.name))
        return _type_param(made, star, self._of_any(default))


def _noting(
    make: Callable[[Any], Any], places: dict[int, Place], *, has_end: bool
) -> Callable[[Any], Any]:
    """Return a maker that notes where what it makes stands."""

    def made(node: Any) -> Any:
        new = make(node)
        end = (node.end_lineno, node.end_col_offset) if has_end else (None, None)
        places[id(new)] = (node.lineno, node.col_offset, *end)
        return new

    return made


def _alias(node: ast.alias) -> Any:
    asname = None if node.asname is None else _as_name(name(node.asname))
    return _import_alias(dotted(node.name), asname)
