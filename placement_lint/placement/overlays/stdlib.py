"""Evaluation of calls of Python's own library: iterators, getters, queues, worker threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.containers import MAX_ITEMS
from placement_lint.placement.domain.contents import element_of, without_parts
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Array,
    Atom,
    Coroutine,
    Executor,
    External,
    Function,
    Future,
    Getter,
    Instance,
    Mapping,
    Method,
    Partial,
    Sequence,
    Thread,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.syntax.calls import integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.calls import Arguments

_OF_THE_FIRST = frozenset({"compress", "cycle", "islice"})
"""Of `itertools`: what gives elements of its first argument."""
_OF_THE_SECOND = frozenset({"dropwhile", "filterfalse", "takewhile"})
"""What gives those elements of its second argument of which the first says so."""
_TUPLES_OF_THE_FIRST = frozenset({
    "batched", "combinations", "combinations_with_replacement", "pairwise", "permutations",
})  # fmt: skip
_TUPLES_OF_ALL = frozenset({"product", "zip_longest"})
_ITERATING = _OF_THE_FIRST | _OF_THE_SECOND | _TUPLES_OF_THE_FIRST | _TUPLES_OF_ALL | {"chain"}
ITERATORS = frozenset(f"itertools.{name}" for name in _ITERATING)
"""What touches nothing of its arguments before it is consumed."""
EXECUTORS = frozenset({
    "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor",
})  # fmt: skip
"""What runs functions in threads of this process; others send pickles of arrays."""
QUEUES = frozenset({
    "queue.LifoQueue", "queue.PriorityQueue", "queue.Queue", "queue.SimpleQueue",
})  # fmt: skip
_CALLABLE = (External, Function, Method, Partial)
_OF_A_THREAD = ("group", "target", "name", "args", "kwargs")
GETTERS = frozenset({"operator.attrgetter", "operator.itemgetter"})


class LibraryCalls:
    """Evaluates calls of the standard library that hand on what they are given."""

    def __init__(self, expressions: Evaluator) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    # -- iterators ------------------------------------------------------------------------------

    def iterator(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.islice(xs, n)` and its like, consumed here."""
        name = (self.names.qualified(node.func) or "").removeprefix("itertools.")
        given = [argument for argument in node.args if argument.keyword is None]
        if not given or any(argument.star for argument in node.args):
            for argument in node.args:
                self.on.escapes(self.on.argument(argument.value, state), state)
            return UNKNOWN
        held = [self.on.argument(argument.value, state) for argument in given]
        named = {
            keyword: self.on.evaluate(argument, state)
            for keyword, argument in arguments.keywords.items()
        }
        if name in _OF_THE_SECOND:
            return self._filtered(node, given, held, state)
        if name in _OF_THE_FIRST | _TUPLES_OF_THE_FIRST:
            element = self._element(given[0].value, held[0], state)
            if name in _TUPLES_OF_THE_FIRST:
                element = value(Sequence(None, element))
            return value(Sequence(None, element))
        elements = [
            self._element(argument.value, part, state)
            for argument, part in zip(given, held, strict=True)
        ]
        if name in _TUPLES_OF_ALL:
            filling = named.get("fillvalue", NONE) if name == "zip_longest" else NOTHING
            items = tuple(join(element, filling) for element in elements)
            return value(Sequence(None, value(Sequence(items, join(*items)))))
        return value(Sequence(None, join(*elements)))

    def _filtered(
        self, node: cst.Call, given: list[cst.Arg], held: list[Value], state: State
    ) -> Value:
        if len(given) != 2:
            return UNKNOWN
        with self.on.loop():
            element = self._element(given[1].value, held[1], state)
            operand = (self.on.index(given[1].value), element)
            self.on.calls.applied.apply(node, given[0].value, held[0], [operand], state)
        return value(Sequence(None, element))

    def chained(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.chain.from_iterable(xss)`."""
        if len(node.args) != 1 or arguments.is_open:
            return UNKNOWN
        given = node.args[0].value
        inner = self._element(given, self.on.argument(given, state), state)
        return value(Sequence(None, self.on.iteration.iterated(given, inner, state)))

    def repeated(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.repeat(x, n)`."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        if not held or arguments.is_open:
            return UNKNOWN
        return value(Sequence(None, held[0]))

    def counted(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.count()`."""
        self.on.arguments(node, state)
        return value(Sequence(None, PLAIN))

    def teed(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.tee(xs, n)`: several iterators over the same elements."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        if not held or arguments.is_open or any(isinstance(a, Array) for a in held[0]):
            return UNKNOWN
        count = 2 if len(node.args) == 1 else integer_value(node.args[1].value)
        each = value(Sequence(None, self._element(node.args[0].value, held[0], state)))
        is_known = count is not None and 0 <= count <= MAX_ITEMS
        return value(Sequence((each,) * count if count and is_known else None, each))

    def starred(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`itertools.starmap(f, xs)`: calls f with the parts of each element."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        if len(held) != 2 or arguments.is_open:
            for part in held:
                self.on.escapes(part, state)
            return UNKNOWN
        given = node.args[1].value
        with self.on.loop():
            element = self._element(given, held[1], state)
            only = sole(element)
            if not isinstance(only, Sequence) or only.items is None:
                self.on.escapes(element, state)
                return UNKNOWN
            operands = [(self.on.index(given), item) for item in only.items]
            made = self.on.calls.applied.apply(node, node.args[0].value, held[0], operands, state)
        return value(Sequence(None, made))

    def _element(self, node: cst.BaseExpression, held: Value, state: State) -> Value:
        """Give what is iterated over; a generator expression was consumed already."""
        if isinstance(node, cst.GeneratorExp):
            return element_of(held) or UNKNOWN
        return self.on.iteration.iterated(node, held, state)

    # -- getters --------------------------------------------------------------------------------

    def getter(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`operator.itemgetter(…)`, `operator.attrgetter(…)`."""
        self.on.arguments(node, state)
        by_name = self.names.qualified(node.func) == "operator.attrgetter"
        keys: list[Key | None] = []
        for argument in node.args:
            text = string_value(argument.value)
            keys.append(integer_value(argument.value) if text is None else text)
        if not keys or arguments.is_open or (by_name and None in keys):
            return UNKNOWN
        return value(Getter(tuple(keys), by_name))

    def got(self, node: cst.CSTNode, getter: Getter, passed: CallArguments, state: State) -> Value:
        """Give the parts that a getter takes of its argument."""
        if len(passed.positional) != 1 or passed.rest is not None or passed.keywords:
            return UNKNOWN
        (held,) = passed.positional
        take = self._attribute if getter.of_attributes else self._item
        parts = [take(node, held, key, state) for key in getter.keys]
        return parts[0] if len(parts) == 1 else value(Sequence(tuple(parts), join(*parts)))

    def _item(self, node: cst.CSTNode, held: Value, key: Key | None, state: State) -> Value:
        objects = frozenset(atom for atom in held if isinstance(atom, Instance))
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        found: set[Atom] = set()
        for instance in objects:
            found |= self.on.calls.objects.special(instance, "__getitem__", [PLAIN], state)
        if held - objects - own:
            found |= element_of(held - objects - own, key)
        if own:
            place = self._operand(node)
            found |= self.on.operations.computed(
                self.on.index(node),
                [(place, without_parts(held))],
                state,
                UseKind.INDEXED,
                in_loop=self.on.in_loop,
            )
        return frozenset(found) or UNKNOWN

    def _attribute(self, node: cst.CSTNode, held: Value, key: Key | None, state: State) -> Value:
        for name in str(key).split("."):
            own = frozenset(atom for atom in held if isinstance(atom, Array))
            found: set[Atom] = set()
            if held - own:
                found |= self.on.program.classes.attribute(held - own, name, state)
            if own and name in transfer.COMPUTING_ATTRIBUTES:
                operand = (self._operand(node), without_parts(held))
                found |= self.on.computed(node, [operand], state)
            elif own:
                found |= PLAIN if name in transfer.METADATA_ATTRIBUTES else UNKNOWN
            held = frozenset(found)
        return held

    def _operand(self, node: cst.CSTNode) -> int:
        """Give the place of the argument that a getter is applied to, or elements of which are."""
        if not isinstance(node, cst.Call) or not node.args:
            return self.on.index(node)
        called = self.names.qualified(node.func) or ""
        applied = [a.value for a in node.args if a.keyword is None]
        is_given_on = called in {"builtins.map", "builtins.filter"} or called in ITERATORS
        return self.on.index(applied[-1 if is_given_on else 0]) if applied else self.on.index(node)

    # -- workers --------------------------------------------------------------------------------

    def queue(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`queue.Queue()`: what is put into it comes out of it."""
        self.on.arguments(node, state)
        return value(Sequence(None, NOTHING))

    def executor(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`ThreadPoolExecutor()`, of which nothing sets up the threads."""
        self.on.arguments(node, state)
        has_setup = len(arguments.positional) > 2 or "initializer" in arguments.keywords
        return UNKNOWN if has_setup or arguments.is_open else value(Executor())

    def executed(self, node: cst.Call, name: str, state: State) -> Value:
        """Call a method of an executor: a worker runs outside of every block of this thread."""
        passed = self.on.calls.objects.passed(node, state)
        given = [argument for argument in node.args if argument.keyword is None]
        is_plain = passed.rest is None and passed.more is None and not any(a.star for a in given)
        if name == "shutdown":
            return PLAIN
        if name not in {"map", "submit"} or not given or not is_plain:
            for held in passed.every():
                self.on.escapes(held, state)
                self.on.targets.may_change(held, state)
            return UNKNOWN
        function, *positional = passed.positional
        places = [self.on.index(argument.value) for argument in given[1:]]
        blocks, state.blocks = state.blocks, ()
        if name == "submit" and passed.keywords:
            inner = CallArguments(positional, passed.keywords)
            result = self.on.calls.objects.called_with(node, function, inner, state)
        elif name == "submit":
            operands = list(zip(places, positional, strict=True))
            result = self.on.calls.applied.apply(node, given[0].value, function, operands, state)
        else:
            # The elements are taken here, and then handed to the workers.
            state.blocks = blocks
            with self.on.loop():
                elements = [
                    (place, self.on.iteration.iterated(argument.value, held, state))
                    for place, argument, held in zip(places, given[1:], positional, strict=True)
                ]
                state.blocks = ()
                result = self.on.calls.applied.apply(
                    node, given[0].value, function, elements, state
                )
        state.blocks = blocks
        return value(Sequence(None, result) if name == "map" else Future(result))

    def thread(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`threading.Thread(target=f, args=(x,))`: nothing is called before it is started."""
        passed = self.on.calls.objects.passed(node, state)
        given = dict(zip(_OF_A_THREAD, passed.positional, strict=False)) | passed.keywords
        targets = given.get("target", UNKNOWN)
        handed = _handed(given.get("args"), given.get("kwargs"))
        is_known = passed.rest is None and passed.more is None
        if (
            handed is None
            or not is_known
            or not all(isinstance(atom, _CALLABLE) for atom in targets)
        ):
            for held in passed.every():
                self.on.escapes(held, state)
                self.on.targets.may_change(held, state)
            return UNKNOWN
        return frozenset(Thread(Partial(atom, *handed)) for atom in targets)

    def of_thread(self, node: cst.Call, thread: Thread, name: str, state: State) -> Value:
        """`thread.start()`: what it calls runs outside of every block of this thread."""
        self.on.arguments(node, state)
        if name in {"run", "start"}:
            blocks = state.blocks
            state.blocks = () if name == "start" else blocks
            self.on.calls.objects.called_with(
                node, value(thread.target), CallArguments([], {}), state
            )
            state.blocks = blocks
        return PLAIN

    def of_future(self, future: Future, name: str) -> Value:
        """`future.result()`."""
        if name == "result":
            return future.result
        return PLAIN if name in {"cancel", "cancelled", "done", "running"} else UNKNOWN

    def completed(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`concurrent.futures.as_completed(futures)`: the same, in another order."""
        first = arguments.get(0, "fs")
        held = UNKNOWN if first is None else self.on.argument(first, state)
        if first is None or any(isinstance(atom, Mapping) for atom in held):
            return UNKNOWN
        return value(Sequence(None, self._element(first, held, state)))

    def in_thread(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`asyncio.to_thread(f, x)`: what f gives, once it is awaited."""
        made = self.executed(node, "submit", state)
        results = [atom.result if isinstance(atom, Future) else UNKNOWN for atom in made]
        return value(Coroutine(join(*results)))

    def gathered(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`asyncio.gather(…)`: what each gives, once it is awaited."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        if any(argument.star or argument.keyword for argument in node.args):
            return UNKNOWN
        known = [[a for a in each if isinstance(a, Coroutine)] for each in held]
        if any(len(each) != len(all_) for each, all_ in zip(known, held, strict=True)):
            return UNKNOWN
        items = tuple(join(*(a.result for a in each)) for each in known)
        return value(Coroutine(value(Sequence(items, join(*items) if items else NOTHING))))


def _handed(
    args: Value | None, kwargs: Value | None
) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]] | None:
    """Give what a thread hands to its target; None where that is not known."""
    positional = Sequence((), NOTHING) if args is None else sole(args)
    keywords = Mapping((), NOTHING) if kwargs is None else sole(kwargs)
    if not isinstance(positional, Sequence) or positional.items is None:
        return None
    if not isinstance(keywords, Mapping) or keywords.element:
        return None
    named = ((key, held) for key, held in keywords.items if isinstance(key, str))
    return positional.items, tuple(named)
