"""Operators: arithmetic, comparisons, Boolean and conditional expressions, and tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.movement import REARRANGING_ATTRIBUTES
from placement_lint.placement.domain.containers import merged, of_items
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.state import State, meet
from placement_lint.placement.domain.values import (
    NONE,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Atom,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.narrowing import compared, narrowed, tested_names, truth
from placement_lint.placement.engine.split_alike import split_alike

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator


_LONGEST_TEXT = 100
"""Characters of a text that is put together of others."""
_MOST_REPEATED = 16
"""Items of a list that is repeated, from which on they are not told apart."""
_LARGEST = 1_000_000
"""The largest number that is calculated with."""


def text_of(parts: list[Value]) -> Value | None:
    """Return the text that some texts give one after the other; None where one is not known."""
    texts = [only.text if isinstance(only := sole(part), Plain) else None for part in parts]
    if None in texts:
        return None
    text = "".join(filter(None, texts))
    return value(Plain(text)) if len(text) <= _LONGEST_TEXT else PLAIN


def _calculated(operator: cst.BaseBinaryOp, one: int | None, other: int | None) -> int | None:
    """Return the number that an operator makes of two, of which a mesh may be made."""
    if one is None or other is None or not max(one, other) <= _LARGEST:
        return None
    if isinstance(operator, cst.Multiply):
        return one * other
    if isinstance(operator, cst.FloorDivide):
        return one // other if other else None
    if isinstance(operator, cst.Add):
        return one + other
    return one - other if isinstance(operator, cst.Subtract) and one >= other else None


def _repeats_one(left: cst.BaseExpression, times: Atom) -> bool:
    """Return whether `[x] * n` repeats `x`: a number of which nothing is known is no array."""
    is_one = isinstance(left, cst.List) and len(left.elements) == 1
    return is_one and isinstance(times, Anything)


def _is_by_item(node: cst.CSTNode) -> bool:
    """Return whether an operator computes each item of an array by itself."""
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Minus | cst.Plus)
    return isinstance(node, cst.BinaryOperation) and not isinstance(
        node.operator, cst.MatrixMultiply
    )


class Operators:
    """Evaluates the operators of one body."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.names = expressions.names

    def binary(self, node: cst.BinaryOperation, state: State) -> Value:
        """Evaluate an arithmetic operation; a long chain of them without recursion."""
        chain = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        left = self.on.operand(chain[-1].left, state)
        result = UNKNOWN
        for link in reversed(chain):
            right = self.on.operand(link.right, state)
            result = self.compute(link, [left, right], state)
            self.on.record.saw_value(self.on.index(link), result)
            left = (self.on.index(link), result)
        return result

    def compute(self, node: cst.CSTNode, operands: list[Operand], state: State) -> Value:
        """Return what an operator makes of its operands, recording what it copies."""
        if isinstance(node, cst.BinaryOperation):
            combined = self._combined(node, operands, state)
            if combined is not None:
                return combined
        if not any(isinstance(atom, Array | AnyTree) for _, held in operands for atom in held):
            held_atoms = {atom for _, held in operands for atom in held}
            if all(isinstance(atom, Plain) for atom in held_atoms):
                return PLAIN
            if all(isinstance(atom, Plain | Host) for atom in held_atoms):
                if any(atom in TENSOR for atom in held_atoms):
                    return TENSOR
                hosts = [atom for atom in held_atoms if isinstance(atom, Host)]
                # By item, with whatever else, it is as large as what is in the file.
                by_item = isinstance(node, cst.BinaryOperation) and _is_by_item(node)
                is_file = by_item and any(atom.from_file for atom in hosts)
                reads = {atom.read for atom in hosts}
                read = reads.pop() if _is_by_item(node) and len(reads) == 1 else None
                return value(Host(from_file=is_file, read=read))
            return UNKNOWN
        if isinstance(node, cst.BinaryOperation):
            # Nothing is computed with None: of an attribute that is None before it is set.
            operands = [(place, held - NONE or held) for place, held in operands]
        made = self.on.operations.computed(
            self.on.index(node), operands, state, UseKind.COMPUTED, in_loop=self.on.in_loop
        )
        name = node.attr.value if isinstance(node, cst.Attribute) else None
        if name == "imag" and any(a.sharding is not None for a in arrays(operands[0][1])):
            # That of real numbers is zero, made on the default device.
            return UNKNOWN
        is_alike = name not in REARRANGING_ATTRIBUTES
        is_eager = self.on.program.running is Running.EAGERLY
        return split_alike(made, operands) if is_alike and is_eager else made

    def _combined(
        self, node: cst.BinaryOperation, operands: list[Operand], state: State
    ) -> Value | None:
        """Return the list that `xs + ys` or `xs * n` makes, the dict of `d | e`; None: no such."""
        (_, left), (_, right) = operands
        if len(left) != 1 or len(right) != 1:
            return None
        (one,), (other,) = left, right
        if isinstance(one, Plain) and isinstance(other, Plain):
            number = _calculated(node.operator, one.number, other.number)
            if number is not None:
                return value(Plain(number=number))
        if isinstance(node.operator, cst.Add) and isinstance(one, Plain):
            return text_of([left, right])
        if isinstance(node.operator, cst.Add) and isinstance(one, Sequence):
            if not isinstance(other, Sequence):
                return None
            if one.items is None or other.items is None:
                return value(
                    Sequence(None, join(one.element, other.element), self.on.targets.made(node))
                )
            return value(of_items(one.items + other.items, self.on.targets.made(node)))
        if isinstance(node.operator, cst.Multiply) and isinstance(one, Sequence):
            number = other.number if isinstance(other, Plain) else None
            if not isinstance(other, Plain) and not _repeats_one(node.left, other):
                return None
            made = self.on.targets.made(node)
            if one.items is not None and len(one.items) * (number or _MOST_REPEATED) < (
                _MOST_REPEATED
            ):
                return value(of_items(one.items * (number or 0), made))
            return value(Sequence(None, one.element, made))
        if isinstance(node.operator, cst.BitOr) and isinstance(one, Mapping):
            if not isinstance(other, Mapping):
                return None
            return value(merged(replace(one, site=self.on.targets.made(node)), right))
        return None

    def unary(self, node: cst.UnaryOperation, state: State) -> Value:
        operand = self.on.operand(node.expression, state)
        if isinstance(node.operator, cst.Not):
            ways = {truth(atom, self.on.program.classes) for atom in operand[1]}
            way = ways.pop() if len(ways) == 1 else None
            return PLAIN if way is None else value(Plain(truth=not way))
        return self.compute(node, [operand], state)

    def boolean(self, node: cst.BooleanOperation, state: State) -> Value:
        """Evaluate `and` and `or`: one of the operands."""
        chain = [node]
        while isinstance(chain[-1].left, cst.BooleanOperation):
            chain.append(chain[-1].left)
        classes = self.on.program.classes
        held = self.on.evaluate(chain[-1].left, state)
        for link in reversed(chain):
            # What is certainly true does not pass through `and`, nor what is false by `or`.
            passes = isinstance(link.operator, cst.And)
            kept = frozenset(atom for atom in held if truth(atom, classes) is not passes)
            if held and all(truth(atom, classes) is (not passes) for atom in held):
                # The other operand is not evaluated.
                continue
            held = join(kept, self.on.evaluate(link.right, state))
        return held

    def comparison(self, node: cst.Comparison, state: State) -> Value:
        """Evaluate a comparison: identity looks at nothing, all else computes."""
        left = self.on.operand(node.left, state)
        results = []
        for target in node.comparisons:
            right = self.on.operand(target.comparator, state)
            way = compared(target.operator, left[1], right[1])
            if way is not None:
                results.append(value(Plain(truth=way)))
            elif isinstance(target.operator, cst.Is | cst.IsNot):
                results.append(PLAIN)
            elif isinstance(target.operator, cst.In | cst.NotIn):
                in_array = any(isinstance(atom, Array) for atom in right[1])
                if in_array:
                    self.compute(node, [left, right], state)
                results.append(PLAIN)
            else:
                results.append(self.compute(node, [left, right], state))
            left = right
        return join(*results)

    def conditional(self, node: cst.IfExp, state: State) -> Value:
        """Evaluate a conditional expression: either side."""
        self.on.evaluate(node.test, state)
        first, second = state.copy(), state.copy()
        ways = []
        for branch, part, holds in ((first, node.body, True), (second, node.orelse, False)):
            if self.narrow(node.test, branch, holds=holds):
                ways.append(self.on.evaluate(part, branch))
        held = join(*ways)
        met = meet([first, second])
        if met is not None:
            state.become(met)
        return held

    def narrow(self, test: cst.BaseExpression, state: State, *, holds: bool) -> bool:
        """Note what a test says of the variables in it; False where it cannot come out so."""
        found = narrowed(test, tested_names(self.on, state), holds=holds)
        if found is None:
            return False
        for operand, before, left in found:
            if left != before and isinstance(operand, cst.Name | cst.Attribute):
                # Another part of the test may have left less of it already.
                now = self.on.evaluate(operand, state) & left
                if not now:
                    return False
                self.on.targets.assign(operand, now, state)
        return True
