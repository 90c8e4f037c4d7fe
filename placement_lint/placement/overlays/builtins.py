"""Evaluation of calls of NumPy, of builtins and of the standard library."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.contents import element_of, iterated_of
from placement_lint.placement.domain.values import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Array,
    Atom,
    Class,
    Computation,
    DeviceList,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Partial,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.calls import Arguments

_MAX_SUMMED = 16
"""Items of a list that `sum` is followed through one by one."""
_PLAIN_BUILTINS = frozenset({
    "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "delattr", "float", "format",
    "hasattr", "hash", "hex", "id", "input", "int", "isinstance", "issubclass", "len", "oct",
    "open", "ord", "print", "range", "repr", "round", "slice", "str", "type",
})  # fmt: skip


class BuiltinCalls:
    """Evaluates calls of functions that are not JAX's."""

    def __init__(self, expressions: Evaluator) -> None:
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
        if qualified in {"numpy.array", "numpy.asarray"}:
            return self.on.read(node, operands)
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
        if name == "sum" and node.args and not node.args[0].star:
            return self._sum(node, state)
        if name == "iter" and len(node.args) == 1:
            held = self.on.argument(node.args[0].value, state)
            if any(isinstance(atom, DeviceList) for atom in held):
                return held
            return value(
                Sequence(None, self.on.iteration.iterated(node.args[0].value, held, state))
            )
        if name == "iter" and len(node.args) == 2 and not any(a.star for a in node.args):
            held = self.on.argument(node.args[0].value, state)
            self.on.argument(node.args[1].value, state)
            with self.on.loop():
                made = self.on.calls.applied.apply(node, node.args[0].value, held, [], state)
            return value(Sequence(None, made))
        elements: list[Value] = []
        for argument in node.args:
            held = self.on.argument(argument.value, state)
            if argument.keyword is not None or argument.star:
                continue
            if isinstance(argument.value, cst.GeneratorExp):
                elements.append(element_of(held) or UNKNOWN)
            else:
                elements.append(self.on.iteration.iterated(argument.value, held, state))
        if name in {"all", "any"}:
            return PLAIN
        element = join(*elements) if elements else UNKNOWN
        return value(Sequence(None, element))

    def _sum(self, node: cst.Call, state: State) -> Value:
        """`sum(xs, start)`: adds one after the other to the start, which is 0 unless given."""
        given = node.args[0].value
        place = total_place = self.on.index(given)
        parts = self._summed(given, state)
        total = value(Plain())
        for argument in node.args[1:]:
            total_place, total = self.on.operand(argument.value, state)
        for part_place, part in parts:
            if any(isinstance(atom, Sequence) for atom in total):
                more = iterated_of(part) or UNKNOWN
                total = value(Sequence(None, join(element_of(total), more)))
            elif any(isinstance(atom, Array) for atom in total | part):
                operands = [(total_place, total), (part_place, part)]
                total = self.on.computed(node, operands, state)
                total_place = place
            elif not all(isinstance(atom, Plain) for atom in total | part):
                total = UNKNOWN
        return total

    def _summed(self, given: cst.BaseExpression, state: State) -> list[tuple[int, Value]]:
        """Give what `sum` adds, each with its place, the first ones of a list of unknown length.

        What stars put into a literal list are parts of it, too.
        """
        place = self.on.index(given)
        if isinstance(given, cst.List | cst.Tuple):
            found: list[tuple[int, Value]] = []
            for element in given.elements:
                if isinstance(element, cst.StarredElement):
                    found += self._summed(element.value, state)
                else:
                    found.append(self.on.operand(element.value, state))
            self.on.record.saw_value(place, UNKNOWN)
            return found
        held = self.on.argument(given, state)
        only = sole(held)
        if isinstance(only, Sequence) and only.items is not None:
            if len(only.items) > _MAX_SUMMED:
                return [(place, only.element)] * 2
            return [(place, item) for item in only.items]
        if isinstance(given, cst.GeneratorExp):
            return [(place, element_of(held) or UNKNOWN)] * 2
        return [(place, self.on.iteration.iterated(given, held, state))] * 2

    def enumerate_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`enumerate(x)`."""
        first = arguments.get(0, "iterable")
        if first is None:
            return UNKNOWN
        held = self.on.argument(first, state)
        element = self.on.iteration.iterated(first, held, state)
        return value(Sequence(None, value(Sequence((PLAIN, element), join(PLAIN, element)))))

    def zip_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`zip(x, y)`, `zip(*xs)`."""
        if len(node.args) == 1 and node.args[0].star == "*":
            return self._transposed(node.args[0].value, state)
        parts = []
        for argument in node.args:
            held = self.on.argument(argument.value, state)
            if argument.keyword is None:
                parts.append(
                    UNKNOWN
                    if argument.star
                    else self.on.iteration.iterated(argument.value, held, state)
                )
        if arguments.is_open or not parts:
            return UNKNOWN
        return value(Sequence(None, value(Sequence(tuple(parts), join(*parts)))))

    def _transposed(self, given: cst.BaseExpression, state: State) -> Value:
        """`zip(*rows)`: the first parts of all rows, the second ones, and so on."""
        held = self.on.program.functions.consumed(self.on.argument(given, state), state)
        # Of no rows there are no parts.
        held = frozenset(a for a in held if not isinstance(a, Sequence) or a.items != ())
        only = sole(held)
        if isinstance(only, Sequence) and only.items is not None:
            rows = [_items(row) for row in only.items]
            lengths = {None if row is None else len(row) for row in rows}
            if len(lengths) > 1 or None in lengths:
                parts = tuple(self.on.iteration.iterated(given, row, state) for row in only.items)
                return value(Sequence(None, value(Sequence(parts, join(*parts)))))
            columns = [tuple(column) for column in zip(*filter(None, rows), strict=True)]
            made = tuple(value(Sequence(column, join(*column))) for column in columns)
        else:
            row = _items(iterated_of(held))
            if row is None:
                self.on.escapes(held, state)
                return UNKNOWN
            made = tuple(value(Sequence(None, item)) for item in row)
        return value(Sequence(made, join(*made) if made else NOTHING))

    def next_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`next(iterator)`."""
        held = [
            self.on.program.functions.consumed(self.on.argument(argument.value, state), state)
            for argument in node.args
        ]
        return join(element_of(held[0]) or UNKNOWN, *held[1:]) if held else UNKNOWN

    def dict_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`dict(a=x, b=y)`, `dict(other)`, `dict(pairs)`."""
        rest = [
            element_of(self.on.argument(argument.value, state)) or UNKNOWN
            for argument in node.args
            if argument.star
        ]
        first = arguments.get(0)
        held = NOTHING if first is None else self.on.argument(first, state)
        known = {
            keyword: self.on.evaluate(argument, state)
            for keyword, argument in arguments.keywords.items()
        }
        made: set[Atom] = set()
        for atom in held or value(Mapping((), NOTHING)):
            if isinstance(atom, Mapping):
                each = Mapping(atom.items, join(atom.element, *rest) if rest else atom.element)
            else:
                element = element_of(element_of(value(atom)), 1) or UNKNOWN
                each = Mapping((), join(element, *rest) if rest else element)
            for key, item in known.items():
                each = each.with_item(key, item)
            made.add(each)
        return frozenset(made)

    def from_keys(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`dict.fromkeys(keys, value)`."""
        operands = [self.on.argument(argument.value, state) for argument in node.args]
        return value(Mapping((), operands[1] if len(operands) > 1 else PLAIN))

    def default_dict(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`collections.defaultdict(factory)`: every key that is not there yet has a new value."""
        factory = arguments.get(0)
        if len(node.args) != 1 or factory is None or arguments.is_open:
            for argument in node.args:
                self.on.escapes(self.on.argument(argument.value, state), state)
            return UNKNOWN
        held = self.on.argument(factory, state)
        site = (self.on.module.place(factory),)
        # There is one for each key.
        self.on.program.containers.made(site, again=True)
        name = self.names.qualified(factory)
        if name == "builtins.list":
            made = value(Sequence((), NOTHING, site))
        elif name == "builtins.dict":
            made = value(Mapping((), NOTHING, site))
        else:
            passed = CallArguments([])
            made = self.on.calls.objects.called_with(node, held, passed, state)
        return value(Mapping((), made))

    def deque(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`collections.deque(xs, maxlen)`."""
        first = arguments.get(0, "iterable")
        operands = [self.on.argument(argument.value, state) for argument in node.args]
        if first is None:
            return value(Sequence((), NOTHING)) if not node.args else value(Sequence(None, NOTHING))
        only = sole(operands[0])
        if isinstance(only, Sequence) and len(node.args) == 1:
            return value(Sequence(only.items, only.element))
        if isinstance(first, cst.GeneratorExp):
            return value(Sequence(None, element_of(operands[0]) or UNKNOWN))
        return value(Sequence(None, self.on.iteration.iterated(first, operands[0], state)))

    def getattr_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`getattr(x, name, default)`."""
        operands = [self.on.argument(argument.value, state) for argument in node.args]
        name = string_value(arguments.get(1))
        if name is None or arguments.is_open:
            return UNKNOWN
        objects = frozenset(atom for atom in operands[0] if isinstance(atom, Instance | Class))
        found = [self.on.program.classes.attribute(objects, name, state)] if objects else []
        if objects != operands[0]:
            found.append(UNKNOWN)
        return join(*found, *operands[2:])

    def setattr_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`setattr(x, name, value)`."""
        operands = [self.on.argument(argument.value, state) for argument in node.args]
        if len(operands) != 3 or arguments.is_open:
            for held in operands:
                self.on.targets.spoil(held, state)
                self.on.escapes(held, state)
            return PLAIN
        name = string_value(arguments.get(1))
        for atom in operands[0]:
            if isinstance(atom, Instance) and name is not None:
                surely = len(operands[0]) == 1
                self.on.targets.set_attribute(atom, name, operands[2], state, surely=surely)
            elif isinstance(atom, Instance):
                self.on.targets.spoil(operands[0], state)
                self.on.escapes(operands[2], state)
            else:
                self.on.escapes(operands[2], state)
        return PLAIN

    def vars_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`vars(x)`: a dict through which its attributes may be set."""
        for argument in node.args:
            self.on.targets.spoil(self.on.argument(argument.value, state), state)
        return UNKNOWN

    def partial(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`functools.partial(f, …)`: of a transformation, a decorator; of a computation, one."""
        if not node.args:
            return UNKNOWN
        passed = self.on.calls.objects.passed(node, state)
        first, passed.positional = passed.positional[:1], passed.positional[1:]
        if not first or passed.rest is not None or passed.more is not None:
            return UNKNOWN
        made: set[Atom] = set()
        for atom in first[0]:
            if isinstance(atom, Computation):
                made.add(_bound(atom, passed))
            elif isinstance(atom, Function | Class | External | Method):
                keywords = tuple(sorted(passed.keywords.items()))
                made.add(Partial(atom, tuple(passed.positional), keywords))
            else:
                made.add(ANYTHING)
        return frozenset(made)


def _bound(computation: Computation, passed: CallArguments) -> Computation:
    """Give a computation with arguments bound."""
    usage = computation.usage
    for _ in passed.positional if usage is not None else ():
        usage = usage and usage.bound()
    return replace(
        computation,
        usage=usage,
        bound=(*computation.bound, *passed.positional),
        bound_by_name=(*computation.bound_by_name, *passed.keywords.items()),
        gives_array=computation.gives_array and not passed.positional and not passed.keywords,
        function=computation.function if not passed.positional else None,
    )


def _items(held: Value) -> tuple[Value, ...] | None:
    """Give the items of what certainly is one list or tuple of known length."""
    only = sole(held)
    return only.items if isinstance(only, Sequence) else None
