"""Literals: numbers, strings, lists, tuples, sets and dicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import merged, of_items, with_item
from placement_lint.placement.domain.values import (
    NOTHING,
    PLAIN,
    Container,
    Mapping,
    Plain,
    Sequence,
    Value,
    sole,
    value,
)
from placement_lint.placement.engine.operators import text_of
from placement_lint.syntax.calls import integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator

_MOST_POSITIONS = 16
"""Arguments of a function, or devices, of which some are said by a name."""


class Literals:
    """Evaluates the literals of one body."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions

    def number(self, node: cst.CSTNode, state: State) -> Value:
        """Evaluate a number, which matters where it says how large a mesh is.

        Or which arguments are donated, or which device is meant.
        """
        reach = self.on.program.reach
        if not isinstance(node, cst.Integer) or not (
            reach.mentions_meshes or reach.keeps_positions
        ):
            return PLAIN
        number = integer_value(node)
        is_known = number is not None and (reach.mentions_meshes or number < _MOST_POSITIONS)
        return value(Plain(number=number)) if is_known else PLAIN

    def string(self, node: cst.CSTNode, state: State) -> Value:
        if isinstance(node, cst.ConcatenatedString):
            pending: list[cst.CSTNode] = [node]
            while pending:
                part = pending.pop()
                if isinstance(part, cst.ConcatenatedString):
                    pending += (part.right, part.left)
                elif isinstance(part, cst.FormattedString):
                    self.formatted(part, state)
        text = string_value(node)
        return PLAIN if text is None else value(Plain(text))

    def formatted(self, node: cst.FormattedString | cst.TemplatedString, state: State) -> Value:
        """Evaluate an f-string: printing an array moves nothing, indexing one inside does."""
        parts: list[Value] = []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression | cst.TemplatedStringExpression):
                held = self.on.evaluate(part.expression, state)
                is_whole = part.conversion is None and part.format_spec is None
                parts.append(held if is_whole else PLAIN)
            elif isinstance(part, cst.FormattedStringText):
                is_as_written = not {"\\", "{", "}"} & set(part.value)
                parts.append(value(Plain(part.value)) if is_as_written else PLAIN)
        is_text = isinstance(node, cst.FormattedString)
        return (text_of(parts) if is_text else None) or PLAIN

    def sequence(self, node: cst.List | cst.Tuple | cst.Set, state: State) -> Value:
        items: list[Value] = []
        written = sum(not isinstance(e, cst.StarredElement) for e in node.elements)
        starred = isinstance(node, cst.Set)
        for element in node.elements:
            held = self.on.evaluate(element.value, state)
            if isinstance(element, cst.StarredElement):
                only = sole(self.on.iteration.listed(held, state))
                if isinstance(only, Sequence) and only.items is not None:
                    items += only.items
                    continue
                starred = True
                held = self.on.iteration.iterated(element.value, held, state)
            items.append(held)
        site = None if isinstance(node, cst.Tuple) else self.on.targets.made(node)
        made = of_items(tuple(items), site, written=written)
        return value(replace(made, items=None) if starred else made)

    def dict_(self, node: cst.Dict, state: State) -> Value:
        made: Container = Mapping((), NOTHING, self.on.targets.made(node))
        for item in node.elements:
            held = self.on.evaluate(item.value, state)
            if isinstance(item, cst.DictElement):
                key = self.on.subscripts.key(item.key, self.on.evaluate(item.key, state))
                made = with_item(made, key, held)
            else:
                made = merged(made, held)
        return value(made)
