"""The arguments of a call as operands, and how these are put together to what is passed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.placement.domain.containers import merged, with_item
from placement_lint.placement.domain.contents import iterated_of
from placement_lint.placement.domain.values import (
    NOTHING,
    UNKNOWN,
    Container,
    Mapping,
    Sequence,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments, sort_arguments

if TYPE_CHECKING:
    from collections import abc

    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator


@dataclass
class Literal:
    """A list, a tuple or a dict that is written out."""

    node: cst.List | cst.Tuple | cst.Dict
    parts: list[Layout]
    keys: list[Key | None] = field(default_factory=list)
    """Of a dict: the keys, where they are known."""


Layout: TypeAlias = "int | Literal"
"""What an argument is made of: an operand by its number, or a literal of such."""


def assembled(layout: Layout, operands: abc.Sequence[Value]) -> Value:
    """Return what an argument is, of what its operands are."""
    if isinstance(layout, int):
        return operands[layout]
    parts = [assembled(part, operands) for part in layout.parts]
    if isinstance(layout.node, cst.Dict):
        made: Container = Mapping((), NOTHING)
        for element, key, held in zip(layout.node.elements, layout.keys, parts, strict=True):
            is_item = isinstance(element, cst.DictElement)
            made = with_item(made, key, held) if is_item else merged(made, held)
        return value(made)
    items: list[Value] = []
    is_open = False
    for each, held in zip(layout.node.elements, parts, strict=True):
        if not isinstance(each, cst.StarredElement):
            items.append(held)
            continue
        only = sole(held)
        if isinstance(only, Sequence) and only.items is not None:
            items += only.items
        else:
            is_open = True
            items.append(iterated_of(held) or UNKNOWN)
    return value(Sequence(None if is_open else tuple(items), join(*items) if items else NOTHING))


class LaidOut:
    """The arguments of a call, evaluated once: as operands, and as what is passed."""

    def __init__(self, on: Evaluator, node: cst.Call, state: State) -> None:
        """Evaluate them."""
        self._on = on
        self._node = node
        self.operands: list[Operand] = []
        self._layouts = [self._laid_out(argument.value, state) for argument in node.args]

    def _laid_out(self, node: cst.BaseExpression, state: State) -> Layout:
        on = self._on
        if isinstance(node, cst.List | cst.Tuple):
            parts = [self._laid_out(element.value, state) for element in node.elements]
            on.record.saw_value(on.index(node), UNKNOWN)
            return Literal(node, parts)
        if isinstance(node, cst.Dict):
            keys: list[Key | None] = []
            parts = []
            for item in node.elements:
                if isinstance(item, cst.DictElement):
                    keys.append(on.subscripts.key(item.key, on.evaluate(item.key, state)))
                else:
                    keys.append(None)
                parts.append(self._laid_out(item.value, state))
            return Literal(node, parts, keys)
        if isinstance(node, cst.GeneratorExp):
            held = on.iteration.consumed_generator(node, state)
        else:
            held = on.evaluate(node, state)
        self.operands.append((on.index(node), held))
        return len(self.operands) - 1

    @property
    def is_flat(self) -> bool:
        """Whether each operand is an argument, and no part of a literal."""
        return all(isinstance(layout, int) for layout in self._layouts)

    @property
    def arguments(self) -> list[Value]:
        """What each argument is, with literals put together of their operands."""
        operands = [held for _, held in self.operands]
        return [assembled(layout, operands) for layout in self._layouts]

    def passed(self, operands: abc.Sequence[Value]) -> CallArguments:
        """Return what is passed where the operands are these."""
        held = (assembled(layout, operands) for layout in self._layouts)
        return sort_arguments(zip(self._node.args, held, strict=True))

    def of(self, position: int | None, *keywords: str) -> Layout | None:
        """Return the argument at a position, or under one of the keywords; None: not passed."""
        starred = False
        for at, (argument, layout) in enumerate(zip(self._node.args, self._layouts, strict=True)):
            starred |= bool(argument.star)
            name = None if argument.keyword is None else argument.keyword.value
            if name in keywords or (name is None and at == position and not starred):
                return layout
        return None


class GivenArguments:
    """Arguments that are evaluated already, all at one place, or each of a few at its own."""

    def __init__(self, place: int, arguments: CallArguments) -> None:
        self._arguments = arguments
        every = [*arguments.positional, *arguments.keywords.values()]
        others = [held for held in (arguments.rest, arguments.more) if held is not None]
        self.operands: list[Operand] = [(place, held) for held in (*every, *others)]

    @classmethod
    def at(cls, operands: list[Operand]) -> GivenArguments:
        """Return what is passed by position, each argument with its place."""
        given = cls(0, CallArguments([held for _, held in operands]))
        given.operands = operands
        return given

    def passed(self, operands: abc.Sequence[Value]) -> CallArguments:
        """Return what is passed where the operands are these."""
        left = iter(operands)
        arguments = self._arguments
        return CallArguments(
            [next(left) for _ in arguments.positional],
            {name: next(left) for name in arguments.keywords},
            None if arguments.rest is None else next(left),
            None if arguments.more is None else next(left),
        )
