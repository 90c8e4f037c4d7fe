"""Evaluation of calls of NumPy, of builtins and of the standard library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.values import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Array,
    Class,
    Computation,
    Function,
    Host,
    Mapping,
    Method,
    Partial,
    Sequence,
    Value,
    element_of,
    join,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.environment import (
        State,
    )
    from placement_lint.placement.expressions import Expressions
    from placement_lint.syntax.calls import Arguments

_COMBINING = frozenset({"filter", "map", "max", "min", "sorted", "sum"})
_PLAIN_BUILTINS = frozenset({
    "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "delattr", "float", "format",
    "hasattr", "hash", "hex", "id", "input", "int", "isinstance", "issubclass", "len", "oct",
    "open", "ord", "print", "range", "repr", "round", "setattr", "slice", "str", "type",
})  # fmt: skip


class BuiltinCalls:
    """Evaluates calls of functions that are not JAX's."""

    def __init__(self, expressions: Expressions) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    def numpy(self, node: cst.Call, state: State, qualified: str) -> Value:
        """Apply a NumPy function: most convert, some call the array's own method."""
        operands = self.on.arguments(node, state)
        if qualified in transfer.NUMPY_DISPATCHING and operands:
            first = operands[0][1]
            if any(isinstance(atom, Array) for atom in first):
                return self.on.computed(node, operands[:1], state)
        return value(Host(from_file=qualified in transfer.NUMPY_LOADERS))

    def builtin(self, node: cst.Call, state: State, qualified: str) -> Value:
        """Apply a builtin."""
        name = qualified.removeprefix("builtins.")
        if qualified in transfer.COMPUTING_BUILTINS:
            operands = self.on.arguments(node, state)
            if any(isinstance(atom, Array) for _, held in operands for atom in held):
                return self.on.computed(node, operands, state)
            return UNKNOWN
        if qualified not in transfer.ITERATING_BUILTINS:
            operands = self.on.arguments(node, state)
            if name in _PLAIN_BUILTINS:
                return PLAIN
            for _, held in operands:
                self.on.escapes(held, state)
            return UNKNOWN
        elements: list[Value] = []
        for position, argument in enumerate(node.args):
            held = self.on.argument(argument.value, state)
            if name in _COMBINING:
                self.on.escapes(held - frozenset(a for a in held if isinstance(a, Array)), state)
            takes_function = position == 0 and name in {"map", "filter"}
            if takes_function or argument.keyword is not None or argument.star:
                continue
            several = name in {"max", "min"} and len(node.args) > 1
            if several or isinstance(argument.value, cst.GeneratorExp):
                elements.append(element_of(held) or UNKNOWN)
            else:
                elements.append(self.on.iterated(argument.value, held, state))
        if name in {"all", "any"}:
            return PLAIN
        element = join(*elements) if elements else UNKNOWN
        if name in {"sum", "max", "min"}:
            return element
        return value(Sequence(None, UNKNOWN if name == "map" else element))

    def enumerate_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`enumerate(x)`."""
        first = arguments.get(0, "iterable")
        if first is None:
            return UNKNOWN
        held = self.on.argument(first, state)
        element = self.on.iterated(first, held, state)
        return value(Sequence(None, value(Sequence((PLAIN, element), join(PLAIN, element)))))

    def zip_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`zip(x, y)`."""
        parts = []
        for argument in node.args:
            held = self.on.argument(argument.value, state)
            if argument.keyword is None:
                parts.append(
                    UNKNOWN if argument.star else self.on.iterated(argument.value, held, state)
                )
        if arguments.is_open or not parts:
            return UNKNOWN
        return value(Sequence(None, value(Sequence(tuple(parts), join(*parts)))))

    def next_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`next(iterator)`."""
        held = [
            self.on.program.consumed(self.on.argument(argument.value, state), state)
            for argument in node.args
        ]
        return join(element_of(held[0]) or UNKNOWN, *held[1:]) if held else UNKNOWN

    def dict_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`dict(a=x, b=y)`."""
        known = {
            keyword: self.on.evaluate(argument, state)
            for keyword, argument in arguments.keywords.items()
        }
        rest = [self.on.argument(argument, state) for argument in arguments.positional]
        element = UNKNOWN if arguments.is_open or rest else NOTHING
        return value(Mapping(tuple(sorted(known.items())), element))

    def getattr_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`getattr(x, name)`."""
        self.on.arguments(node, state)
        return UNKNOWN

    def partial(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`functools.partial(f, …)`: of a transformation, a decorator; of a computation, one."""
        if not node.args:
            return UNKNOWN
        passed = self.on.calls.objects.passed(node, state)
        first, passed.positional = passed.positional[:1], passed.positional[1:]
        if not first or passed.rest is not None or passed.is_open:
            return UNKNOWN
        made: set[Any] = set()
        for atom in first[0]:
            if isinstance(atom, Computation):
                made.add(atom)
            elif isinstance(atom, Function | Class | Method):
                keywords = tuple(sorted(passed.keywords.items()))
                made.add(Partial(atom, tuple(passed.positional), keywords))
            else:
                made.add(ANYTHING)
        return frozenset(made)
