"""Functions that are given to others, which call them: `map(f, xs)`, `sorted(xs, key=f)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.contents import element_of, iterated_of
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice
from placement_lint.placement.domain.values import (
    HOST,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    Array,
    Sequence,
    Value,
    arrays,
    join,
    limited,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.syntax.calls import is_none

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.calls import Arguments

_COMPUTING = frozenset({Effect.COMPUTE, Effect.COPY, Effect.SAMPLE})
_OPERATORS = "operator."
_PLAIN_CALLS = frozenset({
    "builtins.bool", "builtins.float", "builtins.id", "builtins.int", "builtins.len",
    "builtins.print", "builtins.repr", "builtins.str", "builtins.type",
})  # fmt: skip
_MAX_LEAVES = 16
"""Different leaves of one tree that a function is applied to one by one."""


class AppliedFunctions:
    """Evaluates calls of functions that call those that they are given."""

    def __init__(self, expressions: Evaluator) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    def apply(
        self,
        node: cst.Call,
        function: cst.BaseExpression,
        held: Value,
        given: list[tuple[int, Value]],
        state: State,
    ) -> Value:
        """Call a function, which an expression gives, with arguments, each with its place."""
        name = self.names.qualified(function)
        row = transfer.TABLE.get(name or "")
        has_array = any(isinstance(atom, Array) for _, part in given for atom in part)
        if row is None and not (name or "").startswith((*_FOREIGN, _OPERATORS)):
            passed = CallArguments([part for _, part in given])
            return self.on.calls.objects.called_with(node, held, passed, state)
        if name in _PLAIN_CALLS or (row is not None and row.effect is Effect.PLAIN):
            return PLAIN
        if (row is not None and row.effect is Effect.HOST) or (
            name is not None and name.startswith("numpy.") and name not in _NUMPY_MOVING
        ):
            return HOST
        computes = name in _NUMPY_MOVING or (name or "").startswith(_OPERATORS)
        if (computes or (row is not None and row.effect in _COMPUTING)) and has_array:
            # What asks for a part of a container computes on no array.
            certain = row is None or name not in transfer.SHAPE_PRESERVING_WHEN_EQUAL
            return self.on.computed(node, given, state, certain=certain)
        if row is not None and row.effect in {Effect.IDENTITY, Effect.CONVERT} and given:
            return self._same(node, given[0][1], state)
        for _, part in given:
            self.on.escapes(part, state)
        return UNKNOWN

    def _same(self, node: cst.Call, held: Value, state: State) -> Value:
        """Hand an array back; make one of all else."""
        kept = frozenset(atom for atom in held if isinstance(atom, Array))
        if len(kept) == len(held):
            return held
        known = not any(isinstance(atom, Anything) for atom in held)
        made = self.on.operations.created(self.on.index(node), state, certain=known)
        return limited(kept | made)

    def map_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`map(f, xs, ys)`: calls f where what it gives is consumed."""
        parts = [self.on.argument(argument.value, state) for argument in node.args]
        if arguments.is_open or len(node.args) < 2:
            for part in parts:
                self.on.escapes(part, state)
            return UNKNOWN
        if not (self._is_consumed(node) or self.on.calls.is_at_once(node)):
            blocks = state.blocks
            state.blocks = (*blocks, DefaultDevice(ANY_DEVICE, inherited=True))
            result = self._mapped(node, parts, state)
            state.blocks = blocks
            return result
        return self._mapped(node, parts, state)

    def _mapped(self, node: cst.Call, parts: list[Value], state: State) -> Value:
        with self.on.loop():
            elements = [
                (self.on.index(argument.value), self._element(argument.value, part, state))
                for argument, part in zip(node.args[1:], parts[1:], strict=True)
            ]
            result = self.apply(node, node.args[0].value, parts[0], elements, state)
        return value(Sequence(None, result))

    def _element(self, node: cst.BaseExpression, held: Value, state: State) -> Value:
        if isinstance(node, cst.GeneratorExp):
            return element_of(held) or UNKNOWN
        return self.on.iteration.iterated(node, held, state)

    def _is_consumed(self, node: cst.Call) -> bool:
        """Tell whether an iterator is consumed where it is made: `list(map(…))`, `for … in`."""
        parent = next(iter(self.on.tree.ancestors(node)), None)
        if isinstance(parent, cst.Arg):
            call = next(iter(self.on.tree.ancestors(parent)), None)
            name = self.names.qualified(call.func) if isinstance(call, cst.Call) else None
            return name in _CONSUMING
        return isinstance(parent, cst.For | cst.CompFor | cst.StarredElement)

    def filter_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`filter(f, xs)`."""
        parts = [self.on.argument(argument.value, state) for argument in node.args]
        if len(parts) != 2:
            return UNKNOWN
        given = node.args[1].value
        with self.on.loop():
            element = self._element(given, parts[1], state)
            if not is_none(node.args[0].value):
                place = self.on.index(given)
                self.apply(node, node.args[0].value, parts[0], [(place, element)], state)
        return value(Sequence(None, element))

    def ordered(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`sorted(xs, key=f)`, `min(xs, key=f)`, `max(xs, key=f)`."""
        name = self.names.qualified(node.func)
        several = name != "builtins.sorted" and sum(a.keyword is None for a in node.args) > 1
        elements: list[Value] = []
        for argument in node.args:
            held = self.on.argument(argument.value, state)
            if argument.keyword is not None:
                continue
            if argument.star == "*":
                elements.append(iterated_of(held) or UNKNOWN)
            else:
                elements.append(held if several else self._element(argument.value, held, state))
        element = join(*elements) if elements else UNKNOWN
        if self.on.supposed is not None:
            # They are compared with one another.
            self.on.supposed.followed(element, state.default.devices)
        key = arguments.get(None, "key")
        if key is not None and not is_none(key):
            function = self.on.record.values.get(self.on.index(key), UNKNOWN)
            place = self.on.index(node.args[0].value)
            with self.on.loop():
                self.apply(node, key, function, [(place, element)], state)
        if name == "builtins.sorted":
            return value(Sequence(None, element))
        default = arguments.get(None, "default")
        return element if default is None else join(element, self.on.evaluate(default, state))

    def reduce(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`functools.reduce(f, xs, first)`: calls f with what it gave, and the next element."""
        parts = [self.on.argument(argument.value, state) for argument in node.args]
        if len(arguments.positional) < 2 or arguments.is_open:
            for part in parts:
                self.on.escapes(part, state)
            return UNKNOWN
        given = node.args[1].value
        place = self.on.index(given)
        with self.on.loop():
            element = self._element(given, parts[1], state)
            result = parts[2] if len(parts) > 2 else element
            for _ in range(2):
                once = self.apply(
                    node, node.args[0].value, parts[0], [(place, result), (place, element)], state
                )
                result = join(result, once)
        return result

    # -- trees ------------------------------------------------------------------------------------

    def tree_map(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.tree.map(f, tree, *rest)`: a tree like the first one, of what f gives."""
        if arguments.is_open or len(arguments.positional) < 2:
            for argument in node.args:
                self.on.escapes(self.on.argument(argument.value, state), state)
            return UNKNOWN
        function = arguments.positional[0]
        held = self.on.argument(function, state)
        trees = [
            (self.on.index(tree), self.on.argument(tree, state))
            for tree in arguments.positional[1:]
        ]
        for keyword in arguments.keywords.values():
            self.on.evaluate(keyword, state)
        of = self.on.program.trees
        rest = [(place, _every_array(of.spread(tree, state))) for place, tree in trees[1:]]
        place, first = trees[0]
        known: dict[Value, Value] = {}

        def mapped(leaf: Value) -> Value:
            if leaf not in known:
                known[leaf] = self.apply(node, function, held, [(place, leaf), *rest], state)
            return known[leaf]

        leaves = set(of.leaves(first, state))
        every = _every_array(of.spread(first, state))
        if arguments.get(None, "is_leaf") is not None:
            return tree_of(mapped(tree_of(every)))
        if len(leaves) > _MAX_LEAVES:
            return tree_of(mapped(every))
        made = of.rebuilt(first, mapped, self.on.module.place(node), state)
        self.on.program.objects.supersede(first, made, state)
        return made

    def tree_leaves(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.tree.leaves(tree)`: a list of the leaves."""
        return self._leaves(self._tree(node, state), state)

    def tree_flatten(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.tree.flatten(tree)`: the leaves, and the structure."""
        tree = self._tree(node, state)
        leaves = self._leaves(tree, state)
        self.on.program.objects.take_apart(tree)
        return value(Sequence((leaves, PLAIN), join(leaves, PLAIN)))

    def _tree(self, node: cst.Call, state: State) -> Value:
        held = [self.on.argument(argument.value, state) for argument in node.args]
        return held[0] if held else UNKNOWN

    def _leaves(self, tree: Value, state: State) -> Value:
        leaves = [*self.on.program.trees.leaves(tree, state)]
        return value(Sequence(None, join(*leaves) if leaves else NOTHING))


def _every_array(tree: Value) -> Value:
    """Give what a leaf of a tree may be: one of its arrays, where it has any."""
    return frozenset(arrays(tree)) or UNKNOWN


_FOREIGN = ("builtins.", "jax.", "numpy.")
_NUMPY_MOVING = transfer.NUMPY_DISPATCHING | transfer.NUMPY_MOVING_TO_HOST
_CONSUMING = frozenset({
    "builtins.all", "builtins.any", "builtins.dict", "builtins.list", "builtins.max",
    "builtins.min", "builtins.set", "builtins.sorted", "builtins.sum", "builtins.tuple",
    "numpy.array", "numpy.stack", "jax.numpy.array", "jax.numpy.stack", "functools.reduce",
    "collections.deque",
})  # fmt: skip
