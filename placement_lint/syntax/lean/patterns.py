"""Nodes of what stands behind `case`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.syntax.lean.literals import name
from placement_lint.syntax.lean.makers import by_type, maker

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from placement_lint.syntax.lean.text import LocatedText

_value = maker(cst.MatchValue, "value")
_singleton = maker(cst.MatchSingleton, "value")
_list = maker(cst.MatchList, "patterns")
_tuple = maker(cst.MatchTuple, "patterns", "lpar", "rpar")
_element = maker(cst.MatchSequenceElement, "value")
_star = maker(cst.MatchStar, "name")
_mapping = maker(cst.MatchMapping, "elements", "rest")
_mapping_element = maker(cst.MatchMappingElement, "key", "pattern")
_class = maker(cst.MatchClass, "cls", "patterns", "kwds")
_keyword = maker(cst.MatchKeywordElement, "key", "pattern")
_as = maker(cst.MatchAs, "pattern", "name")
_or = maker(cst.MatchOr, "patterns")
_or_element = maker(cst.MatchOrElement, "pattern")

_PARENTHESES = ((cst.LeftParen(),), (cst.RightParen(),))


class PatternMaker:
    """Makes the nodes of patterns, by the type of Python's node."""

    def __init__(self, text: LocatedText, expression: Callable[[ast.expr], Any]) -> None:
        """Take the text of which the tree is, and what makes expressions."""
        self._text = text
        self._expression = expression
        self._makers = by_type(self, "make_")

    def of(self, node: ast.pattern) -> Any:
        """Return the node of a pattern."""
        return self._makers[type(node)](node)

    def make_MatchValue(self, node: ast.MatchValue) -> Any:
        return _value(self._expression(node.value))

    def make_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        return _singleton(name(str(node.value)))

    def make_MatchSequence(self, node: ast.MatchSequence) -> Any:
        patterns = tuple([self._element(each) for each in node.patterns])
        if self._text.is_enclosed(node, node.patterns[0] if node.patterns else None):
            return _tuple(patterns, *_PARENTHESES)
        return _list(patterns)

    def _element(self, node: ast.pattern) -> Any:
        pattern = self.of(node)
        return pattern if type(pattern) is cst.MatchStar else _element(pattern)

    def make_MatchStar(self, node: ast.MatchStar) -> Any:
        return _star(None if node.name is None else name(node.name))

    def make_MatchMapping(self, node: ast.MatchMapping) -> Any:
        elements = [
            _mapping_element(self._expression(key), self.of(pattern))
            for key, pattern in zip(node.keys, node.patterns, strict=True)
        ]
        return _mapping(tuple(elements), None if node.rest is None else name(node.rest))

    def make_MatchClass(self, node: ast.MatchClass) -> Any:
        named = [
            _keyword(name(key), self.of(pattern))
            for key, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        ]
        plain = [_element(self.of(pattern)) for pattern in node.patterns]
        return _class(self._expression(node.cls), tuple(plain), tuple(named))

    def make_MatchAs(self, node: ast.MatchAs) -> Any:
        pattern = None if node.pattern is None else self.of(node.pattern)
        return _as(pattern, None if node.name is None else name(node.name))

    def make_MatchOr(self, node: ast.MatchOr) -> Any:
        return _or(tuple([_or_element(self.of(each)) for each in node.patterns]))
