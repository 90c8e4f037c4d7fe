"""Evaluation of calls of Python's own library: iterators, getters, queues, worker threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.jaxmodel.libraries.threads import THREAD
from placement_lint.placement.domain.containers import MAX_ITEMS
from placement_lint.placement.domain.contents import awaited
from placement_lint.placement.domain.library_values import Executor, Getter, LibraryFunction
from placement_lint.placement.domain.program_values import External, Function, Instance
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Array,
    Closure,
    Coroutine,
    Future,
    Mapping,
    Method,
    Partial,
    PlainContext,
    Sequence,
    Thread,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.typed_objects import as_stated
from placement_lint.placement.overlays.higher_order import apply
from placement_lint.placement.overlays.registry import LibraryCall, ObjectCall, models, objects
from placement_lint.syntax.calls import integer_value, literal_value

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.keys import Key

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
_CALLABLE = (Closure, External, Function, Method, Partial)
_OF_A_THREAD = ("group", "target", "name", "args", "kwargs")
GETTERS = frozenset({"operator.attrgetter", "operator.itemgetter"})


@models(*ITERATORS, lazy=True)
def iterator(call: LibraryCall) -> Value:
    """`itertools.islice(xs, n)` and its like, consumed here."""
    name = call.name.removeprefix("itertools.")
    given = [argument for argument in call.node.args if argument.keyword is None]
    if not given or any(argument.star for argument in call.node.args):
        for argument in call.node.args:
            call.escapes(call.argument(argument.value))
        return UNKNOWN
    held = [call.argument(argument.value) for argument in given]
    named = {
        keyword: call.evaluate(argument) for keyword, argument in call.arguments.keywords.items()
    }
    if name in _OF_THE_SECOND:
        return _filtered(call, given, held)
    if name in _OF_THE_FIRST | _TUPLES_OF_THE_FIRST:
        element = call.element(given[0].value, held[0])
        if name in _TUPLES_OF_THE_FIRST:
            element = value(Sequence(None, element))
        return value(Sequence(None, element))
    elements = [
        call.element(argument.value, part) for argument, part in zip(given, held, strict=True)
    ]
    if name in _TUPLES_OF_ALL:
        filling = named.get("fillvalue", NONE) if name == "zip_longest" else NOTHING
        items = tuple(join(element, filling) for element in elements)
        return value(Sequence(None, value(Sequence(items, join(*items)))))
    return value(Sequence(None, join(*elements)))


def _filtered(call: LibraryCall, given: list[cst.Arg], held: list[Value]) -> Value:
    if len(given) != 2:
        return UNKNOWN
    with call.on.loop():
        element = call.element(given[1].value, held[1])
        operand = (call.index(given[1].value), element)
        apply(call, given[0].value, held[0], [operand])
    return value(Sequence(None, element))


@models("itertools.chain.from_iterable")
def chained(call: LibraryCall) -> Value:
    if len(call.node.args) != 1 or call.arguments.is_open:
        return UNKNOWN
    given = call.node.args[0].value
    inner = call.element(given, call.argument(given))
    return value(Sequence(None, call.iterated(given, inner)))


@models("random.choice", "random.choices", "random.sample")
def drawn(call: LibraryCall) -> Value:
    """`random.sample(xs, n)`: some of several things, in any order; `random.choice(xs)`: one."""
    held = call.values()
    if not held or call.arguments.is_open or call.node.args[0].keyword is not None:
        return UNKNOWN
    element = call.element(call.node.args[0].value, held[0])
    return element if call.name == "random.choice" else value(Sequence(None, element))


@models("itertools.repeat")
def repeated(call: LibraryCall) -> Value:
    held = call.values()
    if not held or call.arguments.is_open:
        return UNKNOWN
    return value(Sequence(None, held[0]))


@models("itertools.count")
def counted(call: LibraryCall) -> Value:
    call.operands()
    return value(Sequence(None, PLAIN))


@models("itertools.tee")
def teed(call: LibraryCall) -> Value:
    """`itertools.tee(xs, n)`: several iterators over the same elements."""
    held = call.values()
    if not held or call.arguments.is_open or any(isinstance(a, Array) for a in held[0]):
        return UNKNOWN
    count = 2 if len(call.node.args) == 1 else integer_value(call.node.args[1].value)
    each = value(Sequence(None, call.element(call.node.args[0].value, held[0])))
    is_known = count is not None and 0 <= count <= MAX_ITEMS
    return value(Sequence((each,) * count if count and is_known else None, each))


@models("itertools.starmap")
def starred(call: LibraryCall) -> Value:
    """`itertools.starmap(f, xs)`: calls f with the parts of each element."""
    held = call.values()
    if len(held) != 2 or call.arguments.is_open:
        for part in held:
            call.escapes(part)
        return UNKNOWN
    given = call.node.args[1].value
    with call.on.loop():
        element = call.element(given, held[1])
        only = sole(element)
        if not isinstance(only, Sequence) or only.items is None:
            call.escapes(element)
            return UNKNOWN
        operands = [(call.index(given), item) for item in only.items]
        made = apply(call, call.node.args[0].value, held[0], operands)
    return value(Sequence(None, made))


@models(*GETTERS)
def getter(call: LibraryCall) -> Value:
    call.operands()
    by_name = call.name == "operator.attrgetter"
    keys: list[Key | None] = [literal_value(argument.value) for argument in call.node.args]
    if not keys or call.arguments.is_open or (by_name and None in keys):
        return UNKNOWN
    return value(Getter(tuple(keys), by_name))


@models(*QUEUES)
def queue(call: LibraryCall) -> Value:
    """`queue.Queue()`: what is put into it comes out of it."""
    call.operands()
    return value(Sequence(None, NOTHING))


@models(*EXECUTORS)
def executor(call: LibraryCall) -> Value:
    """`ThreadPoolExecutor()`, of which nothing sets up the threads."""
    call.operands()
    has_setup = len(call.arguments.positional) > 2 or "initializer" in call.arguments.keywords
    return UNKNOWN if has_setup or call.arguments.is_open else value(Executor())


def executed(call: LibraryCall, name: str) -> Value:
    """Call a method of an executor: a worker runs outside of every block of this thread."""
    passed = call.passed()
    given = [argument for argument in call.node.args if argument.keyword is None]
    is_plain = passed.rest is None and passed.more is None and not any(a.star for a in given)
    if name == "shutdown":
        return PLAIN
    if name not in {"map", "submit"} or not given or not is_plain:
        for held in passed.every():
            call.escapes(held)
            call.may_change(held)
        return UNKNOWN
    function, *positional = passed.positional
    places = [call.index(argument.value) for argument in given[1:]]
    blocks, call.state.blocks = call.state.blocks, ()
    meshes, call.state.meshes = call.state.meshes, call.state.meshes.in_thread()
    if name == "submit" and passed.keywords:
        inner = CallArguments(positional, passed.keywords)
        result = call.called(function, inner)
    elif name == "submit":
        operands = list(zip(places, positional, strict=True))
        result = apply(call, given[0].value, function, operands)
    else:
        # The elements are taken here, and then handed to the workers.
        call.state.blocks, call.state.meshes = blocks, meshes
        with call.on.loop():
            elements = [
                (place, call.iterated(argument.value, held))
                for place, argument, held in zip(places, given[1:], positional, strict=True)
            ]
            call.state.blocks, call.state.meshes = (), meshes.in_thread()
            result = apply(call, given[0].value, function, elements)
    call.state.blocks, call.state.meshes = blocks, meshes
    return value(Sequence(None, result) if name == "map" else Future(result))


@models(*(
    f"{module}.{name}"
    for module in ("asyncio", "multiprocessing", "threading")
    for name in ("BoundedSemaphore", "Condition", "Lock", "Semaphore")
), "multiprocessing.RLock", "threading.RLock")  # fmt: skip
def lock(call: LibraryCall) -> Value:
    """`threading.Lock()`: entering it changes no placement, wherever it is kept."""
    call.operands()
    return value(PlainContext())


@models("threading.Thread")
def thread(call: LibraryCall) -> Value:
    """`threading.Thread(target=f, args=(x,))`: nothing is called before it is started."""
    passed = call.passed()
    given = dict(zip(_OF_A_THREAD, passed.positional, strict=False)) | passed.keywords
    targets = given.get("target", UNKNOWN)
    handed = _handed(given.get("args"), given.get("kwargs"))
    is_known = passed.rest is None and passed.more is None
    if handed is None or not is_known or not all(isinstance(atom, _CALLABLE) for atom in targets):
        for held in passed.every():
            call.escapes(held)
            call.may_change(held)
        return UNKNOWN
    return frozenset(Thread(Partial(atom, *handed)) for atom in targets)


def of_thread(call: LibraryCall, thread: Thread, name: str) -> Value:
    """`thread.start()`: what it calls runs outside of every block of this thread."""
    call.operands()
    if name in {"run", "start"}:
        blocks, meshes = call.state.blocks, call.state.meshes
        if name == "start":
            call.state.blocks, call.state.meshes = (), meshes.in_thread()
        call.called(value(thread.target), CallArguments([], {}))
        call.state.blocks, call.state.meshes = blocks, meshes
    return PLAIN


@objects(f"{THREAD}.start")
def started(call: ObjectCall) -> Value:
    """`worker.start()` of a class that derives from `Thread`: its `run`, outside of every block."""
    worker = call.receiver
    if isinstance(worker, Instance) and call.program.classes.method(worker.cls, "run") is not None:
        blocks, meshes = call.state.blocks, call.state.meshes
        call.state.blocks, call.state.meshes = (), meshes.in_thread()
        call.on.calls.objects.special(worker, "run", [], call.state)
        call.state.blocks, call.state.meshes = blocks, meshes
    return NONE


def of_future(future: Future, name: str) -> Value:
    if name == "result":
        return future.result
    return PLAIN if name in {"cancel", "cancelled", "done", "running"} else UNKNOWN


@models("concurrent.futures.as_completed")
def completed(call: LibraryCall) -> Value:
    """`concurrent.futures.as_completed(futures)`: the same, in another order."""
    first = call.arguments.get(0, "fs")
    held = UNKNOWN if first is None else call.argument(first)
    if first is None or any(isinstance(atom, Mapping) for atom in held):
        return UNKNOWN
    return value(Sequence(None, call.element(first, held)))


@models("typing.assert_type", "typing_extensions.assert_type")
def assert_type(call: LibraryCall) -> Value:
    """`typing.assert_type(x, t)`: x itself."""
    held = call.values()
    return held[0] if held else UNKNOWN


@models("typing.cast", "typing_extensions.cast")
def cast(call: LibraryCall) -> Value:
    """`typing.cast(t, x)`: x itself, which is of that type."""
    stated, given = call.arguments.get(0, "typ"), call.arguments.get(1, "val")
    if stated is None or given is None:
        return UNKNOWN
    return as_stated(call.on, stated, call.argument(given), call.state)


@models("functools.update_wrapper")
def update_wrapper(call: LibraryCall) -> Value:
    """`functools.update_wrapper(f, g)`: f itself, called as g is."""
    given = call.arguments.get(0, "wrapper")
    return UNKNOWN if given is None else call.argument(given)


@models("functools.wraps")
def wraps(call: LibraryCall) -> Value:
    """`functools.wraps(g)`: what gives the function that it is called with."""
    call.values()
    return value(LibraryFunction("functools.update_wrapper"))


@models("asyncio.run")
def run(call: LibraryCall) -> Value:
    """`asyncio.run(main())`: what the coroutine gives, which runs now."""
    return awaited(call.argument(call.arguments.get(0, "main")))


@models("asyncio.to_thread")
def in_thread(call: LibraryCall) -> Value:
    """`asyncio.to_thread(f, x)`: what f gives, once it is awaited."""
    made = executed(call, "submit")
    results = [atom.result if isinstance(atom, Future) else UNKNOWN for atom in made]
    return value(Coroutine(join(*results)))


@models("asyncio.gather")
def gathered(call: LibraryCall) -> Value:
    """`asyncio.gather(…)`: what each gives, once it is awaited."""
    held = call.values()
    if any(argument.star or argument.keyword for argument in call.node.args):
        return UNKNOWN
    known = [[a for a in each if isinstance(a, Coroutine)] for each in held]
    if any(len(each) != len(all_) for each, all_ in zip(known, held, strict=True)):
        return UNKNOWN
    items = tuple(join(*(a.result for a in each)) for each in known)
    return value(Coroutine(value(Sequence(items, join(*items) if items else NOTHING))))


def _handed(
    args: Value | None, kwargs: Value | None
) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]] | None:
    """Return what a thread hands to its target; None where that is not known."""
    positional = Sequence((), NOTHING) if args is None else sole(args)
    keywords = Mapping((), NOTHING) if kwargs is None else sole(kwargs)
    if not isinstance(positional, Sequence) or positional.items is None:
        return None
    if not isinstance(keywords, Mapping) or keywords.element:
        return None
    named = ((key, held) for key, held in keywords.items if isinstance(key, str))
    return positional.items, tuple(named)
