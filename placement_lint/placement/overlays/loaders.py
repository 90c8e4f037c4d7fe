"""Models of data loaders: what iterating over them gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.jaxmodel.libraries.torch import LOADER
from placement_lint.placement.domain.contents import arrays, iterated_of
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice
from placement_lint.placement.domain.values import (
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Anything,
    AnyTree,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.overlays.registry import LibraryCall, ObjectCall, models, objects
from placement_lint.syntax.calls import integer_value

if TYPE_CHECKING:
    import libcst as cst


HERE = value(Plain(truth=False))
"""The number of workers of a loader that has none."""
_BEFORE_WORKERS = 5
"""Parameters of a loader before `num_workers`."""


@models(LOADER, lazy=True)
def torch_batches(call: LibraryCall) -> Value:
    """`DataLoader(dataset, collate_fn=f)`: gives what f makes of a list of the dataset's items.

    Without f, tensors. In worker processes nothing is known of JAX arrays.
    """
    arguments = call.arguments
    given = {id(each.value): call.argument(each.value) for each in call.node.args}
    dataset, collate = arguments.get(0, "dataset"), arguments.get(6, "collate_fn")
    if dataset is None or arguments.is_open:
        return UNKNOWN
    with call.on.loop():
        item = call.element(dataset, given[id(dataset)])
        if collate is None:
            return value(Sequence(None, _collated(item)))
        batch = CallArguments([value(Sequence(None, item))])
        made = call.called(given[id(collate)], batch)
    return value(
        Sequence(None, made if _runs_here(arguments.get(5, "num_workers")) else _of_worker(made))
    )


def _collated(item: Value) -> Value:
    """Return what `default_collate` makes of a list of items: tensors on the host.

    Of tuples and lists it makes a list of tensors; what is no number or array, it leaves alone.
    """
    only = sole(item)
    if isinstance(only, Sequence) and only.items is not None:
        parts = tuple(_collated(part) for part in only.items)
        return value(Sequence(parts, join(*parts) if parts else NOTHING))
    if isinstance(only, Sequence):
        return value(Sequence(None, _collated(only.element)))
    if isinstance(only, Mapping):
        pairs = tuple((key, _collated(part)) for key, part in only.items)
        return value(Mapping(pairs, _collated(only.element) if only.element else NOTHING))
    if item and all(isinstance(atom, Host) for atom in item):
        return TENSOR
    return UNKNOWN


def _runs_here(workers: cst.BaseExpression | None) -> bool:
    return workers is None or integer_value(workers) == 0


def _of_worker(made: Value) -> Value:
    """Return what comes from another process: JAX arrays are made again, where is not known."""
    return UNKNOWN if any(arrays(made)) else made


@objects(f"{LOADER}.__init__")
def torch_loader(call: ObjectCall) -> Value:
    """`super().__init__(dataset, collate_fn=f)` of a class that derives from it: keeps them."""
    loader = call.receiver
    if not isinstance(loader, Instance):
        return NONE
    is_here = _runs_here(call.keyword("num_workers"))
    is_here &= len(call.arguments.positional) <= _BEFORE_WORKERS
    given = {
        "dataset": call.argument(0, "dataset"),
        "collate_fn": call.argument(6, "collate_fn"),
        "num_workers": HERE if is_here else UNKNOWN,
    }
    for name, held in given.items():
        kept = UNKNOWN if held is None else held
        call.on.targets.set_attribute(loader, name, kept, call.state, surely=True)
    return NONE


@objects(f"{LOADER}.__iter__")
def torch_loader_iterated(call: ObjectCall) -> Value:
    """`for batch in loader`: what its `collate_fn` makes of a list of items of its dataset."""
    loader = call.receiver
    if not isinstance(loader, Instance):
        return UNKNOWN
    attribute = call.program.classes.attribute
    dataset, collate, workers = (
        attribute(value(loader), name, call.state)
        for name in ("dataset", "collate_fn", "num_workers")
    )
    with call.on.loop():
        if collate == UNKNOWN:
            is_own = call.program.classes.method(loader.cls, "__init__") is not None
            item = UNKNOWN if is_own else _item_of(call, dataset)
            return value(Sequence(None, _collated(item)))
        made = call.called(collate, value(Sequence(None, _item_of(call, dataset))))
    return value(Sequence(None, made if workers == HERE else _of_worker(made)))


# -- grain -----------------------------------------------------------------------------------------

GRAIN_LOADERS = ("grain.DataLoader", "grain.python.DataLoader")
_BATCH = "grain.transforms.Batch"
_MAP, _ITER = "grain.MapDataset", "grain.IterDataset"


def _of_both(*names: str) -> tuple[str, ...]:
    return tuple(f"{cls}.{name}" for cls in (_MAP, _ITER) for name in names)


def _dataset(item: Value, cls: str) -> Value:
    return value(Sequence(None, item, library=cls))


def _receiver(call: ObjectCall) -> tuple[Value, str]:
    """Return an item of the dataset whose method a call is, and its class."""
    held = call.receiver
    return (held.element, held.library) if isinstance(held, Sequence) else (UNKNOWN, _ITER)


@objects(*GRAIN_LOADERS)
def grain_loader(call: ObjectCall) -> Value:
    """`grain.DataLoader(data_source=…, operations=[…])`: applies operations, one after another."""
    source = call.argument(None, "data_source")
    operations = call.argument(None, "operations")
    item = UNKNOWN if source is None else _item_of(call, source)
    steps = NOTHING if operations is None else operations
    only = sole(steps)
    if operations is not None and (not isinstance(only, Sequence) or only.items is None):
        return value(Sequence(None, UNKNOWN))
    for step in only.items or () if isinstance(only, Sequence) else ():
        item = _transformed(call, step, item)
    is_here = _runs_here(call.keyword("worker_count"))
    return value(Sequence(None, item if is_here else _of_worker(item)))


def _transformed(call: ObjectCall, step: Value, item: Value) -> Value:
    """Return what an operation of a loader gives of an item."""
    only = sole(step)
    if isinstance(only, AnyTree) and only.cls == _BATCH:
        is_known = not any(isinstance(atom, Anything) for atom in item)
        return call.rebuilt(item, lambda _: HOST) if is_known else value(AnyTree(HOST))
    if not isinstance(only, Instance):
        return UNKNOWN
    classes = call.program.classes
    for method, given in (("map", [item]), ("random_map", [item, UNKNOWN])):
        if classes.method(only.cls, method) is not None:
            return _called_later(call, step, method, given)
    return item if classes.method(only.cls, "filter") is not None else UNKNOWN


@objects("grain.python.Batch", "grain.transforms.Batch")
def batching(_call: ObjectCall) -> Value:
    """`grain.transforms.Batch(n)`, an operation of a loader."""
    return value(AnyTree(NOTHING, _BATCH))


@objects("grain.MapDataset.source", "grain.python.MapDataset.source")
def source(call: ObjectCall) -> Value:
    """`grain.MapDataset.source(records)`: its items are those of what it is given."""
    given = call.argument(0, "source")
    return _dataset(UNKNOWN if given is None else _item_of(call, given), _MAP)


def _item_of(call: ObjectCall, given: Value) -> Value:
    found = NOTHING
    for atom in given:
        if isinstance(atom, Instance):
            objects_ = call.on.calls.objects
            found |= objects_.special(atom, "__getitem__", [PLAIN], call.state)
        else:
            found |= iterated_of(value(atom)) or UNKNOWN
    return found or UNKNOWN


@objects("grain.MapDataset.range", "grain.python.MapDataset.range")
def counted(_call: ObjectCall) -> Value:
    """`grain.MapDataset.range(n)`: numbers."""
    return _dataset(PLAIN, _MAP)


@objects(
    *_of_both("filter", "seed"), *(f"{_MAP}.{name}" for name in ("repeat", "shuffle", "slice"))
)
def the_same_items(call: ObjectCall) -> Value:
    """`dataset.shuffle(seed)`: a dataset of the same items."""
    return _dataset(*_receiver(call))


@objects(f"{_MAP}.to_iter_dataset")
def to_iter_dataset(call: ObjectCall) -> Value:
    """`dataset.to_iter_dataset()`: a dataset of the same items, without indices."""
    return _dataset(_receiver(call)[0], _ITER)


@objects(f"{_ITER}.mp_prefetch")
def mp_prefetch(call: ObjectCall) -> Value:
    """`dataset.mp_prefetch(options)`: worker processes make the items."""
    item, cls = _receiver(call)
    return _dataset(_of_worker(item), cls)


@objects(*_of_both("map", "map_with_index", "random_map"))
def mapped(call: ObjectCall) -> Value:
    """`dataset.map(f)`: calls f, or its method `map`, where an item is asked for."""
    item, cls = _receiver(call)
    function = call.argument(0, "transform")
    method = call.name.rpartition(".")[2]
    given = {"map": [item], "map_with_index": [PLAIN, item], "random_map": [item, UNKNOWN]}[method]
    if function is None:
        return _dataset(UNKNOWN, cls)
    return _dataset(_called_later(call, function, method, given), cls)


@objects(*_of_both("batch"))
def batched(call: ObjectCall) -> Value:
    """`dataset.batch(n)`: NumPy arrays in the structure of an item; or what `batch_fn` makes."""
    item, cls = _receiver(call)
    function = call.argument(None, "batch_fn")
    if function is not None:
        several = value(Sequence(None, item))
        return _dataset(_called_later(call, function, "batch_fn", [several]), cls)
    if any(isinstance(atom, Anything) for atom in item):
        return _dataset(value(AnyTree(HOST)), cls)
    return _dataset(call.rebuilt(item, lambda _: HOST), cls)


def _called_later(call: ObjectCall, function: Value, method: str, given: list[Value]) -> Value:
    """Return what a function gives, or an object with a method, under a default device that is
    not known: that of who asks for an item.
    """
    blocks = call.state.blocks
    call.state.blocks = (*blocks, DefaultDevice(ANY_DEVICE, inherited=True))
    found = NOTHING
    with call.on.loop():
        for atom in in_order(function):
            if isinstance(atom, Instance):
                found |= call.on.calls.objects.special(atom, method, given, call.state)
            else:
                found |= call.called(value(atom), *given)
    call.state.blocks = blocks
    return found or UNKNOWN
