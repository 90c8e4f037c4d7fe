"""Nodes of expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.syntax.lean import literals
from placement_lint.syntax.lean.literals import attribute, name
from placement_lint.syntax.lean.makers import by_type, maker
from placement_lint.syntax.lean.text import UnsuitedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.syntax.lean.text import LocatedText

_call = maker(cst.Call, "func", "args")
_argument = maker(cst.Arg, "value", "keyword", "star")
_subscript = maker(cst.Subscript, "value", "slice")
_subscript_element = maker(cst.SubscriptElement, "slice")
_index = maker(cst.Index, "value", "star")
_slice = maker(cst.Slice, "lower", "upper", "step")
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_comparison = maker(cst.Comparison, "left", "comparisons")
_comparison_target = maker(cst.ComparisonTarget, "operator", "comparator")
_tuple = maker(cst.Tuple, "elements")
_list = maker(cst.List, "elements")
_set = maker(cst.Set, "elements")
_dict = maker(cst.Dict, "elements")
_element = maker(cst.Element, "value")
_starred_element = maker(cst.StarredElement, "value")
_dict_element = maker(cst.DictElement, "key", "value")
_starred_dict_element = maker(cst.StarredDictElement, "value")
_generator = maker(cst.GeneratorExp, "elt", "for_in")
_list_comp = maker(cst.ListComp, "elt", "for_in")
_set_comp = maker(cst.SetComp, "elt", "for_in")
_dict_comp = maker(cst.DictComp, "key", "value", "for_in")
_comp_for = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_comp_if = maker(cst.CompIf, "test")
_if_exp = maker(cst.IfExp, "test", "body", "orelse")
_lambda = maker(cst.Lambda, "params", "body")
_parameters = maker(
    cst.Parameters, "posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"
)
_param = maker(cst.Param, "name", "annotation", "default", "star")
_param_star = maker(cst.ParamStar)
_annotation = maker(cst.Annotation, "annotation")
_await = maker(cst.Await, "expression")
_yield = maker(cst.Yield, "value")
_from = maker(cst.From, "item")
_named = maker(cst.NamedExpr, "target", "value")

ASYNCHRONOUS = cst.Asynchronous()
OPERATORS: dict[type[ast.AST], tuple[Any, ...]] = {
    kind: (plain(), augmented())
    for kind, plain, augmented in (
        (ast.Add, cst.Add, cst.AddAssign),
        (ast.Sub, cst.Subtract, cst.SubtractAssign),
        (ast.Mult, cst.Multiply, cst.MultiplyAssign),
        (ast.MatMult, cst.MatrixMultiply, cst.MatrixMultiplyAssign),
        (ast.Div, cst.Divide, cst.DivideAssign),
        (ast.Mod, cst.Modulo, cst.ModuloAssign),
        (ast.Pow, cst.Power, cst.PowerAssign),
        (ast.LShift, cst.LeftShift, cst.LeftShiftAssign),
        (ast.RShift, cst.RightShift, cst.RightShiftAssign),
        (ast.BitOr, cst.BitOr, cst.BitOrAssign),
        (ast.BitXor, cst.BitXor, cst.BitXorAssign),
        (ast.BitAnd, cst.BitAnd, cst.BitAndAssign),
        (ast.FloorDiv, cst.FloorDivide, cst.FloorDivideAssign),
    )
}
"""Each with the one of an assignment."""
_UNARY: dict[type[ast.AST], Any] = {
    ast.Not: cst.Not(),
    ast.USub: cst.Minus(),
    ast.UAdd: cst.Plus(),
    ast.Invert: cst.BitInvert(),
}
_BOOLEAN: dict[type[ast.AST], Any] = {ast.And: cst.And(), ast.Or: cst.Or()}
_COMPARING: dict[type[ast.AST], Any] = {
    ast.Eq: cst.Equal(),
    ast.NotEq: cst.NotEqual(),
    ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(),
    ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(),
    ast.IsNot: cst.IsNot(),
    ast.In: cst.In(),
    ast.NotIn: cst.NotIn(),
}


class ExpressionMaker:
    """Makes the nodes of expressions, by the type of Python's node."""

    def __init__(self, text: LocatedText) -> None:
        """Take the text of which the tree is."""
        self.text = text
        self.makers = by_type(self, "make_")

    def of(self, node: ast.expr) -> Any:
        """Return the node of an expression."""
        return self.makers[type(node)](node)

    def of_any(self, node: ast.expr | None) -> Any:
        """Return the node of an expression, where there is one."""
        return None if node is None else self.makers[type(node)](node)

    # -- names and literals -----------------------------------------------------------------

    def make_Name(self, node: ast.Name) -> Any:
        return name(node.id)

    def make_Constant(self, node: ast.Constant) -> Any:
        return literals.constant(node, self.text)

    def make_JoinedStr(self, node: ast.expr) -> Any:
        return literals.formatted(node, self.text)

    make_TemplateStr = make_JoinedStr

    def make_Attribute(self, node: ast.Attribute) -> Any:
        value = node.value
        return attribute(self.makers[type(value)](value), name(node.attr))

    # -- calls and subscripts ---------------------------------------------------------------

    def make_Call(self, node: ast.Call) -> Any:
        func = node.func
        return _call(self.makers[type(func)](func), self.arguments(node.args, node.keywords))

    def arguments(self, values: list[ast.expr], keywords: list[ast.keyword]) -> Sequence[Any]:
        """Return the arguments of a call, or of a class, in the order of the text."""
        makers = self.makers
        if not keywords:
            return tuple(
                [
                    _argument(makers[type(value)](value), None, "")
                    if type(value) is not ast.Starred
                    else _argument(self.of(value.value), None, "*")
                    for value in values
                ]
            )
        if any(type(value) is ast.Starred for value in values):
            every: list[Any] = [*values, *keywords]
            both = sorted(every, key=lambda each: (each.lineno, each.col_offset))
            return tuple([self._argument(each) for each in both])
        make = makers[ast.keyword]
        return (
            *[_argument(makers[type(value)](value), None, "") for value in values],
            *[make(keyword) for keyword in keywords],
        )

    def make_keyword(self, node: ast.keyword) -> Any:
        if node.arg is None:
            return _argument(self.of(node.value), None, "**")
        return _argument(self.of(node.value), name(node.arg), "")

    def _argument(self, node: ast.expr | ast.keyword) -> Any:
        if isinstance(node, ast.keyword):
            return self.makers[ast.keyword](node)
        if isinstance(node, ast.Starred):
            return _argument(self.of(node.value), None, "*")
        return _argument(self.of(node), None, "")

    def make_Subscript(self, node: ast.Subscript) -> Any:
        inside = node.slice
        if type(inside) is ast.Tuple and not self._is_enclosed(inside):
            slices = tuple([_subscript_element(self._index(each)) for each in inside.elts])
        else:
            slices = (_subscript_element(self._index(inside)),)
        return _subscript(self.of(node.value), slices)

    def _is_enclosed(self, node: ast.Tuple) -> bool:
        return self.text.is_enclosed(node, node.elts[0] if node.elts else None)

    def _index(self, node: ast.expr) -> Any:
        if type(node) is ast.Slice:
            return _slice(self.of_any(node.lower), self.of_any(node.upper), self.of_any(node.step))
        if type(node) is ast.Starred:
            return _index(self.of(node.value), "*")
        return _index(self.makers[type(node)](node), None)

    # -- operations -------------------------------------------------------------------------

    def make_BinOp(self, node: ast.BinOp) -> Any:
        left = self.of(node.left)
        return _binary(left, OPERATORS[type(node.op)][0], self.of(node.right))

    def make_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _unary(_UNARY[type(node.op)], self.of(node.operand))

    def make_BoolOp(self, node: ast.BoolOp) -> Any:
        operator = _BOOLEAN[type(node.op)]
        whole = self.of(node.values[0])
        for value in node.values[1:]:
            whole = _boolean(whole, operator, self.of(value))
        return whole

    def make_Compare(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        targets = [
            _comparison_target(_COMPARING[type(operator)], self.of(compared))
            for operator, compared in zip(node.ops, node.comparators, strict=True)
        ]
        return _comparison(left, tuple(targets))

    def make_IfExp(self, node: ast.IfExp) -> Any:
        return _if_exp(self.of(node.test), self.of(node.body), self.of(node.orelse))

    def make_NamedExpr(self, node: ast.NamedExpr) -> Any:
        return _named(self.of(node.target), self.of(node.value))

    def make_Await(self, node: ast.Await) -> Any:
        return _await(self.of(node.value))

    def make_Yield(self, node: ast.Yield) -> Any:
        return _yield(self.of_any(node.value))

    def make_YieldFrom(self, node: ast.YieldFrom) -> Any:
        return _yield(_from(self.of(node.value)))

    # -- collections ------------------------------------------------------------------------

    def _elements(self, nodes: list[ast.expr]) -> Sequence[Any]:
        makers = self.makers
        return tuple(
            [
                _element(makers[type(node)](node))
                if type(node) is not ast.Starred
                else _starred_element(self.of(node.value))
                for node in nodes
            ]
        )

    def make_Tuple(self, node: ast.Tuple) -> Any:
        return _tuple(self._elements(node.elts))

    def tuple_of(self, nodes: list[ast.expr]) -> Any:
        """Return the node of a tuple of which Python's tree has the elements only."""
        return _tuple(self._elements(nodes))

    def make_List(self, node: ast.List) -> Any:
        return _list(self._elements(node.elts))

    def make_Set(self, node: ast.Set) -> Any:
        return _set(self._elements(node.elts))

    def make_Dict(self, node: ast.Dict) -> Any:
        elements = [
            _starred_dict_element(self.of(value))
            if key is None
            else _dict_element(self.of(key), self.of(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return _dict(tuple(elements))

    # -- comprehensions ---------------------------------------------------------------------

    def make_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return _generator(self.of(node.elt), self._for_in(node.generators))

    def make_ListComp(self, node: ast.ListComp) -> Any:
        return _list_comp(self.of(node.elt), self._for_in(node.generators))

    def make_SetComp(self, node: ast.SetComp) -> Any:
        return _set_comp(self.of(node.elt), self._for_in(node.generators))

    def make_DictComp(self, node: ast.DictComp) -> Any:
        if node.value is None:  # `{**each for each in …}`
            raise UnsuitedError
        return _dict_comp(self.of(node.key), self.of(node.value), self._for_in(node.generators))

    def _for_in(self, generators: list[ast.comprehension]) -> Any:
        inner: Any = None
        for each in reversed(generators):
            inner = _comp_for(
                self.of(each.target),
                self.of(each.iter),
                tuple([_comp_if(self.of(test)) for test in each.ifs]),
                inner,
                ASYNCHRONOUS if each.is_async else None,
            )
        return inner

    # -- functions --------------------------------------------------------------------------

    def make_Lambda(self, node: ast.Lambda) -> Any:
        return _lambda(self.parameters(node.args), self.of(node.body))

    def annotation(self, node: ast.expr | None) -> Any:
        """Return the node of an annotation, where there is one."""
        return None if node is None else _annotation(self.of(node))

    def parameters(self, given: ast.arguments) -> Any:
        """Return the parameters of a function."""
        defaults = [self.of(default) for default in given.defaults]
        before = len(given.posonlyargs)
        without: list[Any] = [None] * (before + len(given.args) - len(defaults))
        defaults = without + defaults
        star: Any = cst.MaybeSentinel.DEFAULT
        if given.vararg is not None:
            star = self._parameter(given.vararg, None, "*")
        elif given.kwonlyargs:
            star = _param_star()
        return _parameters(
            self._several(given.posonlyargs, defaults[:before]),
            self._several(given.args, defaults[before:]),
            star,
            self._several(given.kwonlyargs, [self.of_any(each) for each in given.kw_defaults]),
            None if given.kwarg is None else self._parameter(given.kwarg, None, "**"),
        )

    def _several(self, given: list[ast.arg], defaults: list[Any]) -> Sequence[Any]:
        pairs = zip(given, defaults, strict=True)
        return tuple([self._parameter(each, default, "") for each, default in pairs])

    def _parameter(self, given: ast.arg, default: Any, star: str) -> Any:
        written = given.annotation
        annotation = None if written is None else _annotation(self.of(written))
        return _param(name(given.arg), annotation, default, star)
