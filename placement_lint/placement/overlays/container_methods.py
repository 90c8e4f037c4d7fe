"""Methods of lists, tuples and dicts, and what they change in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import (
    Change,
    emptied,
    loosened,
    merged,
    view_of,
    with_assigned,
    with_item,
    with_more,
    without_item,
)
from placement_lint.placement.domain.contents import (
    element_of,
    of_pairs,
)
from placement_lint.placement.domain.keys import Key, sorted_items
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AnyTree,
    Array,
    Lazy,
    Mapping,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import sort_arguments
from placement_lint.placement.overlays.tree_methods import walks_down
from placement_lint.syntax.calls import Arguments, integer_value
from placement_lint.syntax.collection_methods import ADDING, EXTENDING, REORDERING_OR_REMOVING

if TYPE_CHECKING:
    from placement_lint.placement.domain.program_values import Instance
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Container
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator


class ContainerMethods:
    """Evaluates methods of containers whose items are known, or were."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions

    def change(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        name: str,
        operands: list[Operand],
        state: State,
        kept: frozenset[Instance],
    ) -> None:
        """Do to the containers that the receiver is what a method does to them.

        `kept`: the objects of the program that are such containers.
        """
        change = self._change_by(node, receiver, held, name, operands, state)
        if change is not None and kept:
            self.on.targets.change_items(kept, change, state)
        elif change is not None:
            if isinstance(receiver, cst.Name | cst.Attribute):
                # An argument may have changed it already.
                held = self.on.evaluate(receiver, state)
            self.on.targets.change(receiver, held, change, state)

    def _change_by(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Change | None:
        """Return what a method does to each container that the receiver may be; None: nothing."""
        arguments = Arguments(node)
        if name in ADDING and operands:
            return self._addition(name, arguments, operands)
        if name in EXTENDING and (operands or arguments.keywords):
            return self._extension(node, name, operands, state)
        if name == "clear":
            return emptied
        if name == "setdefault" and walks_down(node, receiver, self.on.tree):
            tree = value(AnyTree(NOTHING))
            return lambda container: with_item(container, None, tree)
        if name == "setdefault" and len(arguments.positional) == 2:
            return self._default(arguments, operands)
        if name in REORDERING_OR_REMOVING or (name in {"pop", "popitem"} and self._pops(held)):
            return self._removal(name, arguments, operands)
        if name == "__setitem__" and len(operands) == 2:
            key = self.on.subscripts.key(node.args[0].value, operands[0][1])
            return lambda container: with_assigned(container, key, operands[1][1])
        return None

    def _addition(self, name: str, arguments: Arguments, operands: list[Operand]) -> Change:
        """Return what `xs.append(x)`, `xs.insert(0, x)` and `queue.put(x)` do."""
        first = arguments.get(0)
        new = operands[0 if name.startswith("put") else -1][1]
        at = {"append": -1, "appendleft": 0}.get(name)
        if name == "insert" and first is not None:
            at = integer_value(first)
            at = None if at is not None and at < 0 else at

        def change(container: Container) -> Container:
            more = None if self.on.repeats else (new,)
            return with_more(container, more, new, at)

        return change

    def _default(self, arguments: Arguments, operands: list[Operand]) -> Change:
        """Return what `d.setdefault(key, x)` does."""
        first = arguments.get(0)
        key = None if first is None else self.on.subscripts.key(first, operands[0][1])
        default = operands[-1][1]

        def change(container: Container) -> Container:
            if isinstance(container, Mapping) and key in dict(container.items):
                return container
            known = element_of(value(container), key)
            return with_item(container, key, join(known, default))

        return change

    def _removal(self, name: str, arguments: Arguments, operands: list[Operand]) -> Change:
        """Return what `xs.pop()`, `d.pop(key)` and `xs.reverse()` do."""
        first = arguments.get(0)
        named = None if first is None else self.on.subscripts.key(first, operands[0][1])
        taken: Key | None = None if self.on.repeats else named
        if name in {"pop", "popleft"} and first is None and not self.on.repeats:
            taken = -1 if name == "pop" else 0

        def change(container: Container) -> Container:
            at = named if isinstance(container, Mapping) else taken
            at = None if name not in {"pop", "popitem", "popleft"} else at
            return without_item(container, at, reverse=name == "reverse")

        return change

    def _pops(self, held: Value) -> bool:
        """Return whether a container has items whose place or key is known."""
        return any(isinstance(atom, Mapping | Sequence) and atom.items for atom in held)

    def _extension(
        self, node: cst.Call, name: str, operands: list[Operand], state: State
    ) -> Change:
        """Return what `xs.extend(ys)` and `d.update(other, key=x)` do."""
        arguments = Arguments(node)
        first = arguments.get(0)
        given = PLAIN if first is None else operands[0][1]
        keywords = {
            argument.keyword.value: held
            for argument, (_, held) in zip(node.args, operands, strict=True)
            if argument.keyword is not None
        }
        only = sole(given)
        element = NOTHING
        if first is not None and not (isinstance(only, Mapping) and name == "update"):
            element = self.on.iteration.iterated(first, given, state)
        if name == "update" and any(isinstance(atom, Lazy | Sequence) for atom in given):
            given = of_pairs(self.on.program.functions.consumed(given, state))
        if isinstance(only, AnyTree) and name == "update":
            # It is a dict of such trees.
            given = value(Mapping((), given))
        is_open = arguments.is_open
        repeats = self.on.repeats

        def change(container: Container) -> Container:
            if given == DOUBTFUL and not keywords and not is_open:
                # What a function that calls itself gives is known later, if at all.
                return with_item(container, None, DOUBTFUL)
            if isinstance(container, Sequence):
                more = only.items if isinstance(only, Sequence) and not repeats else None
                return with_more(container, more, element, -1 if name == "extend" else None)
            if is_open:
                return loosened(container)
            if first is not None:
                container = merged(container, given)
            for key, inner in keywords.items():
                container = with_item(container, key, inner)
            return container

        return change

    def of_sequence(
        self, atom: Sequence, name: str, node: cst.Call, operands: list[Operand], state: State
    ) -> Value:
        of_tuple = self._of_named_tuple(atom, name, node, operands)
        if of_tuple is not None:
            return of_tuple
        if atom.cls is not None:
            member = self.on.program.classes.attribute(value(atom), name, state)
            consumed = (
                (
                    each,
                    self.on.program.functions.consumed(held, state) if each.star == "*" else held,
                )
                for each, (_, held) in zip(node.args, operands, strict=True)
            )
            passed = sort_arguments(consumed)
            return self.on.calls.objects.called_with(node, member, passed, state)
        every = [*(atom.items or ()), atom.element]
        if name == "__getitem__" and node.args:
            return element_of(value(atom), integer_value(node.args[0].value))
        if name == "pop" and atom.items:
            key = integer_value(node.args[0].value) if node.args else -1
            if key is not None:
                return element_of(value(atom), key)
        if name == "popleft" and atom.items:
            return atom.items[0]
        if name in {"get", "get_nowait", "pop", "popleft"}:
            # An empty one raises, or waits.
            return join(*every)
        if name == "copy":
            return value(replace(atom, site=self.on.targets.made(node)))
        if name in ADDING or name in EXTENDING or name in REORDERING_OR_REMOVING or name == "clear":
            return PLAIN
        return UNKNOWN

    def _of_named_tuple(
        self, atom: Sequence, name: str, node: cst.Call, operands: list[Operand]
    ) -> Value | None:
        """Call a method that named tuples have; None: of another sequence, or another method."""
        if not atom.names or atom.items is None:
            return None
        named = dict(zip(atom.names, atom.items, strict=True))
        if name == "_asdict":
            return value(Mapping(sorted_items(named.items()), NOTHING, order=atom.names))
        if name != "_replace" or any(
            argument.keyword is None and argument.star != "**" for argument in node.args
        ):
            return None
        for argument, (_, held) in zip(node.args, operands, strict=True):
            if argument.keyword is None:
                named = {key: _unpacked(held, key, of) for key, of in named.items()}
            elif argument.keyword.value in named:
                named[argument.keyword.value] = held
        return value(replace(atom, items=tuple(named.values()), element=join(*named.values())))

    def of_mapping(
        self, atom: Mapping, name: str, node: cst.Call, operands: list[Operand]
    ) -> Value:
        if name in {"items", "keys", "values"}:
            return value(view_of(atom, name))
        if name == "popitem":
            held = element_of(value(atom))
            return value(Sequence((PLAIN, held), join(PLAIN, held)))
        if name in {"__getitem__", "get", "pop", "setdefault"} and node.args:
            key = self.on.subscripts.key(node.args[0].value, operands[0][1])
            found = element_of(value(atom), key)
            if len(node.args) > 1 and key not in dict(atom.items):
                found = join(found, operands[1][1]) if found else operands[1][1]
            if not found and name == "get" and self._is_own(node):
                return NONE
            return found
        if name == "copy":
            return value(replace(atom, site=self.on.targets.made(node)))
        return PLAIN if name in {"clear", "update"} else UNKNOWN

    def _is_own(self, node: cst.Call) -> bool:
        """Return whether the method is one of a dict that nothing but the program fills."""
        func = node.func
        return isinstance(func, cst.Attribute) and self.on.subscripts.is_filled_here(func.value)


def _unpacked(given: Value, name: str, before: Value) -> Value:
    """Return what a field is that `**given` may replace.

    Where its key is not known, it is of before or a new one: known only if those are alike.
    """
    found: list[Value] = []
    for atom in given:
        if not isinstance(atom, Mapping):
            return UNKNOWN
        held = dict(atom.items).get(name)
        if held is None and atom.element:
            held = join(before, atom.element)
            places = {
                (each.device, each.committed) if isinstance(each, Array) else None for each in held
            }
            if None in places or len(places) > 1:
                return UNKNOWN
        found.append(before if held is None else held)
    return join(*found)
