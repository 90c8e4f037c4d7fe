"""Evaluation of calls of NumPy, of builtins and of the standard library."""

from __future__ import annotations

import functools
from dataclasses import replace

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.structures import NUMPY_SEQUENCES
from placement_lint.placement.domain.containers import (
    loosened,
    merged,
    with_assigned,
    with_item,
)
from placement_lint.placement.domain.contents import element_of, is_file, iterated_of, of_pairs
from placement_lint.placement.domain.keys import Member
from placement_lint.placement.domain.library_values import DeviceList, LibraryFunction
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.values import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AnyTree,
    Array,
    Atom,
    Computation,
    Container,
    ContextFactory,
    DefaultDeviceContext,
    Generator,
    Host,
    Lazy,
    LibraryMethod,
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
from placement_lint.placement.engine.iteration import first_devices
from placement_lint.placement.overlays.higher_order import apply
from placement_lint.placement.overlays.jax_devices import devices_of
from placement_lint.placement.overlays.jax_sharding import (
    array_of_devices,
    devices_reshaped,
    saw_bound_specs,
)
from placement_lint.placement.overlays.registry import LibraryCall, ObjectCall, models, objects
from placement_lint.syntax.calls import text_at_end
from placement_lint.syntax.collection_methods import COPYING

_MAX_SUMMED = 16
"""Items of a list that `sum` is followed through one by one."""
_MOST_ZIPPED = 8
"""Items of lists that `zip` and `enumerate` give one by one: of longer ones, all are alike."""
_BINDABLE = (Class, External, Function, LibraryFunction, LibraryMethod, Method)
"""Of what `functools.partial` gives something that calls it."""
_PLAIN_BUILTINS = frozenset({
    "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "delattr", "float", "format",
    "hasattr", "hash", "hex", "id", "input", "int", "isinstance", "issubclass", "len",
    "oct", "open", "ord", "print", "range", "repr", "round", "slice", "str",
})  # fmt: skip


def numpy_function(call: LibraryCall) -> Value:
    """Apply a NumPy function: most convert, some call the array's own method."""
    operands = call.operands()
    grid = devices_reshaped(call, operands) if call.name == "numpy.reshape" else None
    if grid is not None:
        return grid
    if call.name in transfer.NUMPY_DISPATCHING and operands:
        first = operands[0][1]
        if any(isinstance(atom, Array) for atom in first):
            return call.computed(operands[:1])
        if any(isinstance(atom, AnyTree) for atom in first):
            # One array, of which NumPy calls the method, or several, which it takes.
            return UNKNOWN
    if call.name in {"numpy.array", "numpy.asarray"}:
        return array_of_devices(call, operands) or call.on.read(call.node, operands)
    is_file = call.name in transfer.NUMPY_JOINING and _are_of_files([held for _, held in operands])
    is_archive = call.name == "numpy.load" and _opens_archive(call)
    is_file |= call.name in transfer.NUMPY_LOADERS
    made = value(Host(from_file=is_file, is_archive=is_archive))
    return value(Sequence(None, made)) if call.name in NUMPY_SEQUENCES else made


def _opens_archive(load: LibraryCall) -> bool:
    """Return whether `np.load` opens an archive, by its path or since it is closed again."""
    if isinstance(load.on.tree.parent(load.node), cst.WithItem):
        return True
    path = load.arguments.get(0, "file")
    if path is None:
        return False
    written_out = load.on.names.sole_value(path) or path
    return text_at_end(written_out).endswith(".npz")


def _are_of_files(held: list[Value]) -> bool:
    """Return whether all NumPy arrays in some values, at least one, are what files hold."""
    lists = [part for part in held if any(isinstance(atom, Sequence) for atom in part)]
    parts = join(*(element_of(part) if part in lists else part for part in held))
    return is_file(frozenset(atom for atom in parts if not isinstance(atom, Plain)))


def builtin(call: LibraryCall) -> Value:
    name = call.name.removeprefix("builtins.")
    if call.name in transfer.COMPUTING_BUILTINS:
        operands = call.operands()
        if any(isinstance(atom, Array) for _, held in operands for atom in held):
            return call.computed(operands)
        return UNKNOWN
    if call.name not in transfer.ITERATING_BUILTINS:
        operands = call.operands()
        if name in _PLAIN_BUILTINS:
            held = operands[0][1] if name == "str" and len(operands) == 1 else NOTHING
            is_text = bool(held) and all(isinstance(each, Plain) and each.text for each in held)
            return held if is_text else PLAIN
        for _, held in operands:
            call.escapes(held)
        return UNKNOWN
    return iterated(call)


@models("builtins.object")
def object_(call: LibraryCall) -> Value:
    """`object()`: something that is nothing else, such as the mark of the end of a queue.

    The same for each execution of the call, which is only ever compared with its own.
    """
    place = call.place
    return value(Plain(member=Member(f"object:{place.module}:{place.node}")))


@models("builtins.type")
def type_(call: LibraryCall) -> Value:
    """`type(x)`: of an object of the program, its class."""
    operands = call.values()
    classes = [value(Class(a.cls)) if isinstance(a, Instance) else PLAIN for a in operands[0]]
    is_one = len(operands) == 1 and not call.arguments.is_open
    return join(*classes) if is_one and classes else PLAIN


def of_same_type(call: LibraryCall) -> Value | None:
    """`type(xs)(ys)`: a list, a tuple or a dict of the items of another one.

    None for all else that is made of what `type` gives.
    """
    made = call.node.func
    given = [argument.value for argument in call.node.args if argument.keyword is None]
    if (
        not isinstance(made, cst.Call)
        or call.on.names.qualified(made.func) != "builtins.type"
        or len(given) != 1
        or len(call.node.args) != 1
        or call.node.args[0].star
        or call.evaluate(made) != PLAIN
    ):
        return None
    held = call.argument(given[0])
    if not held or not all(isinstance(a, Generator | Lazy | Mapping | Sequence) for a in held):
        return UNKNOWN
    dicts = frozenset(atom for atom in held if isinstance(atom, Mapping))
    others = held - dicts
    kept = frozenset(replace(atom, site=None) for atom in dicts)
    return kept | value(Sequence(None, call.iterated(given[0], others))) if others else kept


@models("builtins.all", "builtins.any")
def tested(call: LibraryCall) -> Value:
    """`all(xs)`, `any(xs)`: each element is tested."""
    iterated(call)
    return PLAIN


@models("builtins.iter", lazy=True)
def iter_(call: LibraryCall) -> Value:
    """`iter(xs)`, `iter(f, end)`."""
    given = [argument.value for argument in call.node.args]
    if len(given) == 1:
        held = call.argument(given[0])
        if any(isinstance(atom, DeviceList) for atom in held):
            return held
        return value(Sequence(None, call.iterated(given[0], held)))
    if len(given) == 2 and not any(a.star for a in call.node.args):
        held = call.argument(given[0])
        call.argument(given[1])
        with call.on.loop():
            made = apply(call, given[0], held, [])
        return value(Sequence(None, made))
    return iterated(call)


@models("builtins.reversed", lazy=True)
def iterated(call: LibraryCall) -> Value:
    """Iterate over every argument, and return what gives the elements of any."""
    elements: list[Value] = []
    is_copy = call.name in COPYING and len(call.node.args) == 1
    for argument in call.node.args:
        held = call.argument(argument.value)
        if is_copy and not argument.star and argument.keyword is None:
            only = sole(call.on.iteration.listed(held, call.state))
            if isinstance(only, Sequence) and only.items is not None:
                call.element(argument.value, held)
                return value(Sequence(only.items, only.element))
        if argument.keyword is not None or argument.star:
            continue
        elements.append(call.element(argument.value, held))
    element = join(*elements) if elements else UNKNOWN
    return value(Sequence(None, element))


@models("builtins.sum")
def sum_(call: LibraryCall) -> Value:
    """`sum(xs, start)`: adds one after the other to the start, which is 0 unless given."""
    if not call.node.args or call.node.args[0].star:
        return iterated(call)
    given = call.node.args[0].value
    place = total_place = call.index(given)
    parts = _summed(call, given)
    total = value(Plain())
    for argument in call.node.args[1:]:
        total_place, total = call.operand(argument.value)
    for part_place, part in parts:
        if any(isinstance(atom, Sequence) for atom in total):
            more = iterated_of(part) or UNKNOWN
            total = value(Sequence(None, join(element_of(total), more)))
        elif any(isinstance(atom, Array) for atom in total | part):
            operands = [(total_place, total), (part_place, part)]
            total = call.computed(operands)
            total_place = place
        elif not all(isinstance(atom, Plain) for atom in total | part):
            total = UNKNOWN
    return total


def _summed(call: LibraryCall, given: cst.BaseExpression) -> list[tuple[int, Value]]:
    """Return what `sum` adds, each with its place, the first ones of a list of unknown length.

    What stars put into a literal list are parts of it, too.
    """
    place = call.index(given)
    if isinstance(given, cst.List | cst.Tuple):
        found: list[tuple[int, Value]] = []
        for element in given.elements:
            if isinstance(element, cst.StarredElement):
                found += _summed(call, element.value)
            else:
                found.append(call.operand(element.value))
        call.on.record.saw_value(place, UNKNOWN)
        return found
    held = call.on.iteration.listed(call.argument(given), call.state)
    only = sole(held)
    if isinstance(only, Sequence) and only.items is not None:
        if len(only.items) > _MAX_SUMMED:
            return [(place, only.element)] * 2
        return [(place, item) for item in only.items]
    if isinstance(given, cst.GeneratorExp):
        return [(place, element_of(held) or UNKNOWN)] * 2
    return [(place, call.iterated(given, held))] * 2


@models("builtins.enumerate", lazy=True)
def enumerate_(call: LibraryCall) -> Value:
    first = call.arguments.get(0, "iterable")
    if first is None:
        return UNKNOWN
    held = call.argument(first)
    items = _few(held)
    if items is None and isinstance(devices := sole(held), DeviceList):
        items = first_devices(devices)
    if items is not None:
        pairs = tuple(value(Sequence((PLAIN, item), join(PLAIN, item))) for item in items)
        return value(Sequence(pairs, join(*pairs)))
    element = call.iterated(first, held)
    return value(Sequence(None, value(Sequence((PLAIN, element), join(PLAIN, element)))))


def _few(held: Value) -> tuple[Value, ...] | None:
    """Return the items of a short list or tuple, where each is known."""
    items = _items(held)
    return items if items and len(items) <= _MOST_ZIPPED else None


@models("builtins.zip", lazy=True)
def zip_(call: LibraryCall) -> Value:
    if len(call.node.args) == 1 and call.node.args[0].star == "*":
        return _transposed(call, call.node.args[0].value)
    parts = []
    for argument in call.node.args:
        held = call.argument(argument.value)
        if argument.keyword is None:
            parts.append(UNKNOWN if argument.star else call.iterated(argument.value, held))
    if call.arguments.is_open or not parts:
        return UNKNOWN
    few = _zipped(call)
    if few is not None:
        rows = zip(*few, strict=False)
        items = tuple(value(Sequence(row, join(*row))) for row in rows)
        return value(Sequence(items, join(*items)))
    return value(Sequence(None, value(Sequence(tuple(parts), join(*parts)))))


def _zipped(call: LibraryCall) -> list[tuple[Value, ...]] | None:
    """Return the items of each of some short lists, of `jax.devices()` as many as the others have;
    None where those of one are not known, or where none is left.
    """
    given = [call.argument(each.value) for each in call.node.args if each.keyword is None]
    lists = [_few(_listed(call, held)) for held in given]
    most = min((len(each) for each in lists if each is not None), default=_MOST_ZIPPED)
    found: list[tuple[Value, ...]] = []
    for held, items in zip(given, lists, strict=True):
        each, devices = items, sole(held)
        if each is None and isinstance(devices, DeviceList):
            bounded = devices if devices.part[1] is not None else _bounded(devices, most)
            each = first_devices(bounded)
        if not each:
            return None
        found.append(each)
    is_known = any(each is not None for each in lists)
    return found if is_known else None


def _listed(call: LibraryCall, held: Value) -> Value:
    """Return what another `zip` gives; of generators no item is taken twice."""
    is_lazy = isinstance(sole(held), Lazy)
    held = call.program.functions.consumed(held, call.state) if is_lazy else held
    return call.on.iteration.listed(held, call.state)


def _bounded(devices: DeviceList, most: int) -> DeviceList:
    start, _, step = devices.part
    return replace(devices, part=(start, most, step)) if start is None and step is None else devices


def _transposed(call: LibraryCall, given: cst.BaseExpression) -> Value:
    """`zip(*rows)`: the first parts of all rows, the second ones, and so on."""
    held = call.program.functions.consumed(call.argument(given), call.state)
    held = call.on.iteration.listed(held, call.state)
    # Of no rows there are no parts.
    held = frozenset(a for a in held if not isinstance(a, Sequence) or a.items != ())
    only = sole(held)
    if isinstance(only, Sequence) and only.items is not None:
        rows = [_items(row) for row in only.items]
        lengths = {None if row is None else len(row) for row in rows}
        if len(lengths) > 1 or None in lengths:
            parts = tuple(call.iterated(given, row) for row in only.items)
            return value(Sequence(None, value(Sequence(parts, join(*parts)))))
        columns = [tuple(column) for column in zip(*filter(None, rows), strict=True)]
        made = tuple(value(Sequence(column, join(*column))) for column in columns)
    else:
        row = _items(iterated_of(held))
        if row is None:
            call.escapes(held)
            return UNKNOWN
        made = tuple(value(Sequence(None, item)) for item in row)
    return value(Sequence(made, join(*made) if made else NOTHING))


@models("builtins.next")
def next_(call: LibraryCall) -> Value:
    held = [
        call.program.functions.consumed(call.argument(argument.value), call.state)
        for argument in call.node.args
    ]
    if not held:
        return UNKNOWN
    objects = [atom for atom in held[0] if isinstance(atom, Instance)]
    special = call.on.calls.objects.special
    given = [special(each, "__next__", [], call.state) for each in objects]
    others = held[0] - frozenset(objects)
    element = join(element_of(others) or UNKNOWN, *given) if others else join(*given)
    return join(element or UNKNOWN, *held[1:])


@models(
    "builtins.dict", "collections.OrderedDict", "weakref.WeakKeyDictionary",
    "weakref.WeakValueDictionary",
)  # fmt: skip
def dict_(call: LibraryCall) -> Value:
    first = call.arguments.get(0)
    held = NOTHING if first is None else call.argument(first)
    held = call.program.classes.collections.with_items(held, "__iter__", call.state)
    held = call.program.functions.consumed(held, call.state)
    views = frozenset(a for a in held if isinstance(a, Sequence) and a.views is not None)
    held = call.on.iteration.listed(held, call.state) if views else held
    # What is there twice is what comes last.
    more: list[tuple[str | None, Value]] = []
    for argument in call.node.args:
        if argument.star:
            more.append((None, call.argument(argument.value)))
        elif argument.keyword is not None:
            more.append((argument.keyword.value, call.evaluate(argument.value)))
    made: set[Atom] = set()
    for atom in of_pairs(held or value(Mapping((), NOTHING))):
        if not isinstance(atom, Mapping):
            continue
        each: Container = Mapping(atom.items, atom.element, order=atom.order)
        for key, given in more:
            each = merged(each, given) if key is None else with_item(each, key, given)
        made.add(each)
    return frozenset(made)


@models("collections.ChainMap")
def chain_map(call: LibraryCall) -> Value:
    """`collections.ChainMap(first, second)`: under each key what the first of them has."""
    if any(argument.star for argument in call.node.args):
        call.values()
        return UNKNOWN
    made: Container = Mapping((), NOTHING)
    for held in reversed(call.values()):
        made = merged(made, held)
    return value(made)


@models("types.MappingProxyType")
def read_only(call: LibraryCall) -> Value:
    """`types.MappingProxyType({…})`: the dict, where it is written out and has no other name."""
    held = call.values()
    first = call.arguments.get(0)
    return held[0] if len(held) == 1 and isinstance(first, cst.Dict) else UNKNOWN


@models("builtins.dict.__setitem__", "builtins.list.__setitem__", "operator.setitem")
def set_item(call: LibraryCall) -> Value:
    held = call.values()
    if len(held) == 3 and not call.arguments.is_open:
        container, at = (argument.value for argument in call.node.args[:2])
        key = call.on.subscripts.key(at, held[1])
        change = functools.partial(with_assigned, key=key, held=held[2])
        call.on.targets.change(container, held[0], change, call.state)
    return PLAIN


@models("builtins.dict.update")
def update(call: LibraryCall) -> Value:
    held = call.values()
    if len(held) == 2 and not call.arguments.keywords and not call.arguments.is_open:
        change = functools.partial(merged, other=of_pairs(held[1]))
        call.on.targets.change(call.node.args[0].value, held[0], change, call.state)
    elif held:
        call.on.targets.change(call.node.args[0].value, held[0], loosened, call.state)
    return PLAIN


@models("builtins.dict.fromkeys")
def from_keys(call: LibraryCall) -> Value:
    operands = call.values()
    return value(Mapping((), operands[1] if len(operands) > 1 else PLAIN))


@models("collections.defaultdict")
def default_dict(call: LibraryCall) -> Value:
    """`collections.defaultdict(factory)`: every key that is not there yet has a new value."""
    factory = call.arguments.get(0)
    if len(call.node.args) != 1 or factory is None or call.arguments.is_open:
        for argument in call.node.args:
            call.escapes(call.argument(argument.value))
        return UNKNOWN
    held = call.argument(factory)
    site = (call.on.module.place(factory),)
    # There is one for each key.
    call.program.containers.made(site, again=True)
    name = call.on.names.qualified(factory)
    if name == "builtins.list":
        made = value(Sequence((), NOTHING, site))
    elif name == "builtins.dict":
        made = value(Mapping((), NOTHING, site))
    else:
        passed = CallArguments([])
        made = call.called(held, passed)
    return value(Mapping((), made))


@models("builtins.type.__call__")
def made_of_class(call: LibraryCall) -> Value:
    """`type.__call__(cls, …)`, as a metaclass calls it: an object, which is initialized."""
    passed = call.passed()
    if not passed.positional:
        return UNKNOWN
    cls, *given = passed.positional
    inner = replace(passed, positional=given)
    return call.on.calls.objects.instances(call.node, cls, inner, call.state) or UNKNOWN


@models("builtins.object.__new__")
def new_object(call: LibraryCall) -> Value:
    """`object.__new__(cls)`: an object without its initializer."""
    held = call.values()
    return call.on.calls.objects.new_objects(call.node, held[0], call.state) if held else UNKNOWN


@models("collections.deque")
def deque(call: LibraryCall) -> Value:
    first = call.arguments.get(0, "iterable")
    operands = call.values()
    if first is None:
        return (
            value(Sequence((), NOTHING)) if not call.node.args else value(Sequence(None, NOTHING))
        )
    only = sole(operands[0])
    if isinstance(only, Sequence) and len(call.node.args) == 1:
        return value(Sequence(only.items, only.element))
    if isinstance(first, cst.GeneratorExp):
        return value(Sequence(None, element_of(operands[0]) or UNKNOWN))
    return value(Sequence(None, call.iterated(first, operands[0])))


@objects("builtins.type.__subclasses__")
def subclasses(call: ObjectCall) -> Value:
    """`cls.__subclasses__()`: the classes of the program that derive from one."""
    operands = call.operands
    cls = call.receiver or (sole(operands[0][1]) if operands else None)
    found = call.program.classes.metaclasses.subclasses(cls.place) if isinstance(cls, Class) else []
    items = tuple(value(Class(place)) for place in found)
    return value(Sequence(items, join(*items))) if items else UNKNOWN


@models("builtins.getattr", "builtins.object.__getattribute__")
def getattr_(call: LibraryCall) -> Value:
    operands = call.values()
    name = _text_of(operands)
    if call.arguments.is_open:
        return UNKNOWN
    if len(operands) == 2 and all(isinstance(a, Sequence) and a.names for a in operands[0]):
        # Of a named tuple, nobody asks for a method by a name that is not written out.
        fields = (
            dict(zip(atom.names, atom.items or (), strict=False)).get(name or "", atom.element)
            for atom in operands[0]
            if isinstance(atom, Sequence)
        )
        return join(*fields)
    if name is None:
        return UNKNOWN
    objects = frozenset(atom for atom in operands[0] if isinstance(atom, Instance | Class))
    found = [call.program.classes.attribute(objects, name, call.state)] if objects else []
    if objects != operands[0]:
        found.append(UNKNOWN)
    return join(*found, *operands[2:])


def _text_of(operands: list[Value]) -> str | None:
    """Return the name of an attribute that is the second argument; None: it is not known."""
    only = sole(operands[1]) if len(operands) > 1 else None
    return only.text if isinstance(only, Plain) else None


@models("builtins.object.__setattr__", "builtins.setattr")
def setattr_(call: LibraryCall) -> Value:
    operands = call.values()
    if len(operands) != 3 or call.arguments.is_open:
        for held in operands:
            call.on.targets.spoil(held, call.state)
            call.escapes(held)
        return PLAIN
    name = _text_of(operands)
    for atom in operands[0]:
        if isinstance(atom, Instance) and name is not None:
            surely = len(operands[0]) == 1
            is_plain = call.name != "builtins.setattr"
            call.on.targets.set_attribute(
                atom, name, operands[2], call.state, surely=surely, is_plain=is_plain
            )
        elif isinstance(atom, Instance):
            pairs = _pairs_set(call)
            if pairs is None:
                call.escapes(operands[2])
            call.on.attribute_dicts.update(value(atom), pairs or UNKNOWN, call.state)
        else:
            call.escapes(operands[2])
    return PLAIN


def _pairs_set(call: LibraryCall) -> Value | None:
    """Return the dict of `for k, v in options.items(): setattr(x, k, v)`; None for all else."""
    _, key, new = (argument.value for argument in call.node.args)
    if not isinstance(key, cst.Name) or not isinstance(new, cst.Name):
        return None
    bindings = [*call.on.names.bindings(key), *call.on.names.bindings(new)]
    loop = bindings[0].node if len({each.node for each in bindings}) == 1 else None
    if not isinstance(loop, cst.For) or not isinstance(loop.target, cst.Tuple):
        return None
    pair = [each.value for each in loop.target.elements]
    names = [each.value for each in pair if isinstance(each, cst.Name)]
    items = loop.iter.func if isinstance(loop.iter, cst.Call) and not loop.iter.args else None
    is_items = isinstance(items, cst.Attribute) and items.attr.value == "items"
    if names != [key.value, new.value] or not is_items or not isinstance(items, cst.Attribute):
        return None
    blocks = (n for n in call.on.tree.ancestors(call.node) if isinstance(n, cst.BaseSuite))
    is_alone = next(blocks, None) is loop.body and isinstance(items.value, cst.Name | cst.Attribute)
    return call.on.evaluate(items.value, call.state) if is_alone else None


@models("builtins.vars")
def vars_(call: LibraryCall) -> Value:
    """`vars(x)`: a dict through which its attributes may be set."""
    owner = call.on.attribute_dicts.owner(call.node)
    if owner is not None:
        return call.on.attribute_dicts.read(call.node, call.argument(owner), call.state)
    for argument in call.node.args:
        call.on.targets.spoil(call.argument(argument.value), call.state)
    return UNKNOWN


@models("functools.partialmethod")
def partial_method(call: LibraryCall) -> Value:
    """`functools.partialmethod(f, …)`: a method that is another one with arguments bound."""
    passed = call.passed()
    is_open = passed.rest is not None or passed.more is not None or not passed.positional
    only = None if is_open else sole(passed.positional[0])
    if not isinstance(only, Function):
        return UNKNOWN
    keywords = tuple(sorted(passed.keywords.items()))
    return value(Partial(only, tuple(passed.positional[1:]), keywords, is_method=True))


@models("builtins.staticmethod")
def static_method(call: LibraryCall) -> Value:
    """`staticmethod(f)`: what an object gives without being bound to it."""
    held = call.values()
    only = sole(held[0]) if len(held) == 1 else None
    return value(Partial(only, (), ())) if isinstance(only, Function) else UNKNOWN


@models("functools.partial")
def partial(call: LibraryCall) -> Value:
    """`functools.partial(f, …)`: of a transformation, a decorator; of a computation, one."""
    if not call.node.args:
        return UNKNOWN
    passed = call.passed()
    first, passed.positional = passed.positional[:1], passed.positional[1:]
    if not first or passed.rest is not None or passed.more is not None:
        return UNKNOWN
    if call.on.names.qualified(call.node.args[0].value) == "jax.default_device":
        expression = call.arguments.get(1, "new_val")
        place = None if expression is None else call.on.module.place(expression)
        devices = devices_of(call, expression)
        return value(ContextFactory(value(DefaultDeviceContext(devices, place, inherited=True))))
    made: set[Atom] = set()
    for atom in first[0]:
        if isinstance(atom, Partial) and isinstance(atom.function, LibraryFunction):
            # `partial(partial(shard_map, mesh=mesh), in_specs=…)`.
            named = dict(atom.keywords) | passed.keywords
            given = CallArguments([*atom.positional, *passed.positional], named)
            saw_bound_specs(call, atom.function.name, given)
            bound = tuple(sorted(named.items()))
            made.add(Partial(atom.function, tuple(given.positional), bound))
            continue
        if isinstance(atom, LibraryFunction):
            saw_bound_specs(call, atom.name, passed)
        if isinstance(atom, Computation):
            made.add(_bound(atom, passed))
        elif isinstance(atom, _BINDABLE):
            keywords = tuple(sorted(passed.keywords.items()))
            made.add(Partial(atom, tuple(passed.positional), keywords))
        else:
            made.add(ANYTHING)
    return frozenset(made)


def _bound(computation: Computation, passed: CallArguments) -> Computation:
    """Return a computation with arguments bound."""
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
    """Return the items of what certainly is one list or tuple of known length."""
    only = sole(held)
    return only.items if isinstance(only, Sequence) else None
