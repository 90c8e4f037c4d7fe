"""Evaluation of method calls: of arrays, of containers, of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.contexts import entered_by_hand, entered_default
from placement_lint.placement.values import (
    ANYTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    Array,
    Class,
    Context,
    DefaultDeviceContext,
    ExitStack,
    Host,
    Instance,
    Mapping,
    Sequence,
    TensorFile,
    Value,
    committed_to,
    element_of,
    join,
    value,
)
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.environment import State
    from placement_lint.placement.expressions import Expressions, Operand

_REFILLING = frozenset({"clear", "popitem", "setdefault", "update"})
_REORDERING = frozenset({"clear", "remove", "reverse", "sort"})
_ENTERING = frozenset({"enter_context", "enter_async_context"})
_BY_HAND = frozenset({"__enter__", "__exit__"})
_SUPER = "builtins.super"


class MethodCalls:
    """Evaluates `x.method(…)` where `x` is no module."""

    def __init__(self, expressions: Expressions) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    def method(
        self, node: cst.Call, function: cst.Attribute, arguments: Arguments, state: State
    ) -> Value:
        """Call a method of an object that is no module."""
        indexed = _at_operand(function)
        if indexed is not None:
            return self._update(node, indexed, state)
        receiver = function.value
        name = function.attr.value
        if isinstance(receiver, cst.Call) and self.names.qualified(receiver.func) == _SUPER:
            return self.on.calls.objects.super_method(node, name, state)
        held = self.on.evaluate(receiver, state)
        objects = frozenset(atom for atom in held if isinstance(atom, Instance | Class))
        found: set[Any] = set()
        if objects:
            member = self.on.program.attribute(objects, name, state)
            found |= self.on.calls.objects.called(node, member, state)
            held -= objects
            if not held:
                return frozenset(found)
        operands = self.on.arguments(node, state)
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        if own:
            found |= self._array_method(node, receiver, held, name, arguments, operands, state)
        for atom in held:
            if isinstance(atom, Host):
                found |= _host_method(atom, name)
            elif isinstance(atom, Mapping) and name in _REFILLING:
                self.on.loosen(receiver, state)
                found |= PLAIN
            elif isinstance(atom, Mapping):
                found |= _mapping_method(atom, name, node)
            elif isinstance(atom, Sequence):
                found |= self._sequence_method(receiver, atom, name, operands, state)
            elif isinstance(atom, TensorFile) and name in {"get_tensor", "get_slice"}:
                found |= self.on.operations.created(self.on.index(node), state)
            elif isinstance(atom, ExitStack):
                found |= self._exit_stack_method(node, atom, name, operands, state)
            elif name in _ENTERING and isinstance(atom, Anything):
                # A stack that nobody knows: what it enters stays, until the function ends.
                found |= self._exit_stack_method(node, ExitStack(), name, operands, state)
            elif isinstance(atom, DefaultDeviceContext | Context) and name in _BY_HAND:
                found |= self._by_hand(receiver, held, name, state)
            elif not isinstance(atom, Array | Host):
                for _, given in operands:
                    self.on.escapes(given, state)
                found.add(ANYTHING)
        return frozenset(found) or UNKNOWN

    def _array_method(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        name: str,
        arguments: Arguments,
        operands: list[Operand],
        state: State,
    ) -> Value:
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        if name in transfer.IDENTITY_METHODS:
            return own
        if name == "to_device":
            return committed_to(
                own, self.on.calls.devices.devices_of(arguments.get(0, "device"), state)
            )
        if name in transfer.HOST_METHODS:
            return PLAIN
        equal = name in transfer.SAME_WHEN_EQUAL_METHODS
        if equal and is_own(receiver, node):
            return own
        if name in transfer.COMPUTING_METHODS or equal:
            operand = (self.on.index(receiver), held)
            result = self.on.computed(node, [operand, *operands], state, certain=not equal)
            return join(own, result) if equal else result
        return UNKNOWN

    def _update(self, node: cst.Call, operand: cst.BaseExpression, state: State) -> Value:
        """`x.at[i].set(v)`."""
        function = node.func
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Subscript):
            for element in function.value.slice:
                if isinstance(element.slice, cst.Index):
                    self.on.evaluate(element.slice.value, state)
        held = self.on.operand(operand, state)
        operands = self.on.arguments(node, state)
        if not any(isinstance(atom, Array) for atom in held[1]):
            return UNKNOWN
        return self.on.computed(node, [held, *operands], state)

    def _sequence_method(
        self,
        receiver: cst.BaseExpression,
        atom: Sequence,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Value:
        every = [*(atom.items or ()), atom.element]
        if name in _REORDERING:
            self.on.loosen(receiver, state)
            return PLAIN
        if name in {"append", "insert", "extend"} and isinstance(receiver, cst.Name) and operands:
            new = operands[-1][1]
            new = element_of(new) or UNKNOWN if name == "extend" else new
            self.on.assign(receiver, value(Sequence(None, join(*every, new))), state)
            return PLAIN
        if name == "pop":
            return join(*every) or UNKNOWN
        if name == "copy":
            return value(atom)
        return UNKNOWN

    def _exit_stack_method(
        self, node: cst.Call, stack: ExitStack, name: str, operands: list[Operand], state: State
    ) -> Value:
        site = self.on.module.place(node) if stack.site is None else stack.site
        owners = frozenset({site})
        if name in _ENTERING and operands:
            given = self.on.calls.objects.contexts(operands[0][1])
            entered = entered_default(given)
            outside = len(state.blocks)
            gives = self.on.calls.objects.entered_value(given, state)
            if entered is not None:
                state.blocks = (*state.blocks, entered)
            state.blocks = (
                *state.blocks[:outside],
                *(replace(block, owners=owners) for block in state.blocks[outside:]),
            )
            return gives
        if name in {"close", "aclose"}:
            state.release(owners)
            return PLAIN
        if name == "pop_all":
            # What it holds stays entered, until the new stack is left.
            taken = self.on.module.place(node)
            state.blocks = tuple(
                replace(block, owners=frozenset({taken})) if block.owners == owners else block
                for block in state.blocks
            )
            return value(ExitStack(taken))
        return UNKNOWN

    def _by_hand(self, receiver: cst.BaseExpression, held: Value, name: str, state: State) -> Value:
        """`context.__enter__()` and `context.__exit__(…)`."""
        if all(isinstance(atom, Context) for atom in held):
            return PLAIN
        owners = entered_by_hand(held)
        if not owners or isinstance(receiver, cst.Call):
            # Entered and dropped: from JAX 0.5.3 on it stays in force, before it did not.
            state.forget_default()
        elif name == "__enter__":
            entered = entered_default(held)
            if entered is not None:
                state.blocks = (*state.blocks, replace(entered, owners=owners))
        elif not state.release(owners):
            state.forget_default()
        return PLAIN


def _at_operand(function: cst.Attribute) -> cst.BaseExpression | None:
    """Give `x` of `x.at[i].set`."""
    indexed = function.value
    if not isinstance(indexed, cst.Subscript) or not isinstance(indexed.value, cst.Attribute):
        return None
    return indexed.value.value if indexed.value.attr.value == "at" else None


def _host_method(atom: Host, name: str) -> Value:
    if name in {"item", "tolist", "tobytes"}:
        return PLAIN
    return value(Host(from_file=atom.from_file and name in transfer.SIZE_KEEPING_METHODS))


def _mapping_method(atom: Mapping, name: str, node: cst.Call) -> Value:
    every = join(*(held for _, held in atom.items), atom.element)
    if name == "values":
        return value(Sequence(None, every))
    if name == "items":
        return value(Sequence(None, value(Sequence((PLAIN, every), join(PLAIN, every)))))
    if name == "keys":
        return value(Sequence(None, PLAIN))
    if name in {"get", "pop", "setdefault"} and node.args:
        key = string_value(node.args[0].value)
        return element_of(value(atom), key)
    if name == "copy":
        return value(atom)
    return UNKNOWN


def is_own(array: cst.BaseExpression, call: cst.Call) -> bool:
    """Tell whether a call asks for the shape or the type that the array has: `x.astype(x.dtype)`.

    Then it gives back the array itself.
    """
    text = dotted(array)
    return bool(text) and any(
        dotted(argument.value) in {f"{text}.shape", f"{text}.dtype"} for argument in call.args
    )
