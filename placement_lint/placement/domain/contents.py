"""What is in the containers of a value, and values with all that they hold changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device, is_host
from placement_lint.placement.domain.keys import Member, ordered, sorted_items
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.mesh_devices import MeshDevices
from placement_lint.placement.domain.places import NO_CAUSES, NOWHERE
from placement_lint.placement.domain.program_values import Function
from placement_lint.placement.domain.sharding import DeviceGrid
from placement_lint.placement.domain.values import (
    ANYTHING,
    HOST,
    MAX_NESTING,
    NONE,
    NOTHING,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Closure,
    Container,
    Coroutine,
    Host,
    Mapping,
    Method,
    Partial,
    Plain,
    Sequence,
    TheDevice,
    join,
    limited,
    sole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import Atom, Value

MAX_DEPTH = 4
"""Containers in one another in which arrays are looked for."""

ArrayChange: TypeAlias = "Callable[[Array], Atom]"
AtomChange: TypeAlias = "Callable[[Atom], Atom]"


def arrays(of: Value, depth: int = MAX_DEPTH) -> Iterator[Array]:
    """Yield every array in a value and in its containers; of items that are alike, those of one."""
    for atom in of:
        if isinstance(atom, Array):
            yield atom
        elif depth and isinstance(atom, Container):
            parts = (atom.items or (atom.element,)) if isinstance(atom, Sequence) else atom.parts()
            for part in dict.fromkeys(parts):
                yield from arrays(part, depth - 1)
        elif isinstance(atom, AnyTree):
            yield from arrays(atom.leaf, 0)


def is_placed(array: Array) -> bool:
    """Return whether an array was made under a default device, or put anywhere."""
    return array.committed or array.origin is None or array.origin.device is not None


def without_parts(of: Value) -> Value:
    """Return a value without what is in its containers: of a list, `x.T` computes nothing."""
    return frozenset(Plain() if isinstance(a, Sequence | Mapping | AnyTree) else a for a in of)


def map_arrays(of: Value, change: ArrayChange, depth: int = MAX_DEPTH) -> Value:
    """Return a value with every array in it, and in its containers, changed."""
    return map_atoms(of, lambda a: change(a) if isinstance(a, Array) else a, depth)


def map_atoms(of: Value, change: AtomChange, depth: int = MAX_DEPTH) -> Value:
    """Return a value with everything in it changed, in its containers what these hold."""
    changed: list[Atom] = []
    for atom in of:
        if depth and isinstance(atom, Sequence):
            items = atom.items and tuple(map_atoms(item, change, depth - 1) for item in atom.items)
            element = map_atoms(atom.element, change, depth - 1)
            changed.append(replace(atom, items=items, element=element))
        elif depth and isinstance(atom, Mapping):
            pairs = tuple((key, map_atoms(item, change, depth - 1)) for key, item in atom.items)
            element = map_atoms(atom.element, change, depth - 1)
            changed.append(Mapping(pairs, element, atom.site, atom.order))
        elif isinstance(atom, AnyTree):
            changed.append(replace(atom, leaf=map_atoms(atom.leaf, change, 0)))
        else:
            changed.append(change(atom))
    return limited(frozenset(changed))


def committed_to(
    of: Value,
    devices: Iterable[Device | None],
    by: frozenset[Place] = NOWHERE,
    sharding: Sharding | None = None,
) -> Value:
    """Return a value after all of its arrays, and NumPy arrays, were put on one of the devices.

    `by`: the expressions that do so. `sharding`: they were put on a mesh, by this one.
    """
    places = tuple(devices)
    put = frozenset(_put(atom, device, by, sharding) for atom in of for device in places)
    if of == UNKNOWN:
        # It is one thing, which may be a tree wherever it was put.
        put = frozenset(replace(each, may_be_tree=True) for each in put if isinstance(each, Array))
    return limited(put)


def _put(
    atom: Atom, device: Device | None, by: frozenset[Place], sharding: Sharding | None
) -> Atom:
    if isinstance(atom, Array):
        return replace(
            atom,
            device=device,
            committed=True,
            via=by if is_host(device) else NOWHERE,
            supposed=NO_CAUSES,
            sharding=sharding,
        )
    if isinstance(atom, Host | Plain | Anything):
        via = by if is_host(device) else NOWHERE
        # Beside other things it stays one array: on one device, these make one.
        may_be_tree = isinstance(atom, Anything) and sharding is not None
        return Array(device, committed=True, via=via, sharding=sharding, may_be_tree=may_be_tree)
    if isinstance(atom, Sequence):
        items = atom.items and tuple(_all_put(item, device, by, sharding) for item in atom.items)
        element = _all_put(atom.element, device, by, sharding)
        return replace(atom, items=items, element=element, site=None)
    if isinstance(atom, Mapping):
        pairs = tuple((key, _all_put(item, device, by, sharding)) for key, item in atom.items)
        return Mapping(pairs, _all_put(atom.element, device, by, sharding))
    return atom


def _all_put(
    of: Value, device: Device | None, by: frozenset[Place], sharding: Sharding | None
) -> Value:
    return frozenset(_put(atom, device, by, sharding) for atom in of)


def as_tree(atom: Atom) -> Atom:
    """Return what a thing is of which an item is set or asked for by a name: that is no array."""
    is_open = isinstance(atom, Array) and atom.may_be_tree
    return AnyTree(frozenset({atom})) if is_open else atom


def leaves_of(of: Value, depth: int = MAX_NESTING) -> Iterator[Value]:
    """Yield the leaves of a tree, of each all that it may be."""
    direct = frozenset(a for a in of if not isinstance(a, Sequence | Mapping | AnyTree)) - NONE
    if direct:
        yield direct
    for atom in of:
        parts: list[Value] = []
        if isinstance(atom, Sequence):
            parts = list(atom.items) if atom.items is not None else [atom.element]
        elif isinstance(atom, Mapping):
            parts = atom.parts()
        elif isinstance(atom, AnyTree):
            parts = [atom.leaf]
        for part in parts if depth else ():
            yield from leaves_of(part, depth - 1)


_NUMBERS = frozenset({
    "count", "epoch", "epochs", "global_step", "iteration", "key", "learning_rate", "lr",
    "num_steps", "num_updates", "prng", "prng_key", "rng", "rng_key", "rngs", "seed", "step",
    "steps", "update_count",
})  # fmt: skip
"""What keys and numbers are called in trees of unknown structure, such as checkpoints."""


def function_place(atom: Atom | None) -> Place | None:
    """Return the function of the program that a value is, or of the method that it is."""
    if isinstance(atom, Function):
        return atom.place
    return atom.function if isinstance(atom, Method) else None


def functions_in(held: Value, depth: int = MAX_DEPTH) -> Iterator[Place]:
    """Yield the functions of the program that a value is, or holds; of methods, these alone."""
    for atom in held:
        if isinstance(atom, Function):
            yield atom.place
        elif isinstance(atom, Closure | Method):
            yield atom.function
        elif isinstance(atom, Partial):
            yield from functions_in(frozenset({atom.function}), depth)
        elif isinstance(atom, Container) and depth:
            for part in atom.parts():
                yield from functions_in(part, depth - 1)


def named(held: Value, key: Key | None) -> Value:
    """Return what is found by a name in a tree of unknown structure: numbers and keys are small."""
    if key not in _NUMBERS:
        return held
    return map_arrays(held, lambda array: replace(array, is_small=True))


_DATA = (Anything, Array, Host, Plain)


def has_host_device(of: Value) -> bool:
    """Return whether a value is a device of the host, to which a call may commit arrays."""
    return any(isinstance(atom, TheDevice) and is_host(atom.device) for atom in of)


def is_data(of: Value) -> bool:
    """Whether a value is arrays that were not placed on purpose, plain values, and trees of them.

    Nothing in it can be called, and no device is in it.
    """
    for atom in of:
        if isinstance(atom, Array):
            if atom.committed or (atom.origin is not None and atom.origin.device is not None):
                return False
        elif isinstance(atom, Sequence | Mapping):
            if not all(map(is_data, atom.parts())):
                return False
        elif isinstance(atom, AnyTree):
            if atom.cls or not is_data(atom.leaf):
                return False
        elif not isinstance(atom, _DATA):
            return False
    return True


def iterated_of(of: Value, position: int | None = None) -> Value:
    """Return what iterating over the containers in a value gives, of a dict its keys.

    `position`: of the one that is asked for. Arrays are ignored.
    """
    return element_of(frozenset(_KEYS if isinstance(a, Mapping) else a for a in of), position)


def of_pairs(of: Value) -> Value:
    """Return dicts of the pairs that iterables give, as `dict` and `update` make them.

    What is a dict already stays as it is. Which key has which value is distinguished where all
    keys are texts that are known.
    """
    return frozenset(
        atom
        if isinstance(atom, Mapping)
        else _of_archive(atom)
        or _of_known_pairs(atom)
        or Mapping((), element_of(element_of(frozenset({atom})), 1) or UNKNOWN)
        for atom in of
    )


def is_file(held: Value) -> bool:
    """Return whether a value is all of what a file of NumPy holds."""
    return bool(held) and all(isinstance(atom, Host) and atom.from_file for atom in held)


def _of_archive(atom: Atom) -> Mapping | None:
    """Return the dict of what an archive of arrays holds, `dict(np.load(path))`, read at once."""
    return Mapping((), frozenset({Host(from_file=True)})) if is_file(frozenset({atom})) else None


def _of_known_pairs(atom: Atom) -> Mapping | None:
    """Return the dict of a list of pairs of which all keys are known; else None."""
    if not isinstance(atom, Sequence) or not atom.items:
        return None
    found: dict[Key, Value] = {}
    for item in atom.items:
        pair = sole(item)
        if not isinstance(pair, Sequence) or pair.items is None or len(pair.items) != 2:
            return None
        key = sole(pair.items[0])
        if not isinstance(key, Plain) or key.text is None or key.member is not None:
            return None
        found[key.text] = pair.items[1]
    return Mapping(sorted_items(found.items()), NOTHING, order=ordered(found))


def element_of(of: Value, key: Key | None = None) -> Value:
    """Return what indexing the containers in a value gives; arrays are ignored."""
    found: list[Value] = []
    for atom in of:
        if isinstance(atom, AnyTree):
            # Of an array it is another one, which may be elsewhere.
            tree: Value = frozenset({atom})
            found.append(named(tree, key) if isinstance(key, str | Member) else UNKNOWN)
        elif isinstance(atom, Sequence):
            if atom.items is not None and isinstance(key, int):
                # One of another place raises.
                inside = -len(atom.items) <= key < len(atom.items)
                found.append(atom.items[key] if inside else NOTHING)
            elif atom.items is not None:
                found.append(join(*atom.items) if atom.items else NOTHING)
            else:
                found.append(atom.element)
        elif isinstance(atom, Mapping):
            known = dict(atom.items)
            if key is None:
                found.append(join(*known.values(), atom.element))
            else:
                found.append(known[key] if key in known else named(atom.element, key))
        elif isinstance(atom, Host):
            found.append(frozenset({atom}) if isinstance(key, str | Member) else _part_of(atom))
        elif isinstance(atom, Plain):
            found.append(PLAIN)
        elif isinstance(atom, DeviceList):
            index = None
            if isinstance(key, int) and key >= 0:
                index = MeshDevices(atom.platform, atom.part).at(key)
            places = _behind_the_first(atom) if key is None else ()
            found.append(
                frozenset(TheDevice(Device(atom.platform, place)) for place in places or (index,))
            )
        elif isinstance(atom, DeviceGrid) and len(atom.shape or ()) == 1:
            found.append(frozenset({TheDevice(_device_in(atom, key))}))
        elif not isinstance(atom, Array):
            found.append(UNKNOWN)
    return join(*found) if found else frozenset()


def _behind_the_first(devices: DeviceList) -> tuple[int, ...]:
    """Return the places of a few devices of which the first of all is none: `jax.devices()[1:4]`.

    Nothing where there may be more, or the first among them.
    """
    start, stop, step = devices.part
    if start is None or stop is None or step not in {None, 1} or not 0 < start < stop:
        return ()
    return tuple(range(start, stop)) if stop - start <= _FEW else ()


def _part_of(atom: Host) -> Value:
    return TENSOR if atom.is_tensor else HOST


def _device_in(grid: DeviceGrid, key: Key | None) -> Device | None:
    """Return a device of a row of devices; None where it is not known which."""
    devices = grid.devices
    index = devices.at(key) if devices is not None and isinstance(key, int) else None
    return None if devices is None or index is None else Device(devices.platform, index)


_FEW = 4
"""The most devices of a list of which each is distinguished."""
_KEYS = Sequence(None, PLAIN)
"""The keys of a dict: no array can be one."""


def with_replaced_modules(held: Value) -> Value:
    """Return an argument of `nnx.jit(f)`: modules have the arrays that the call gives them.

    Those that they had are copied once, with the first call (measured with flax 0.12). Those of the
    default device may be pulled to another one by it.
    """
    return frozenset(
        ANYTHING
        if isinstance(atom, AnyTree)
        and atom.cls.startswith("flax.nnx.")
        and any(array.device != SYSTEM_DEFAULT for array in arrays(atom.leaf))
        else atom
        for atom in held
    )


def awaited(held: Value) -> Value:
    return join(*[atom.result if isinstance(atom, Coroutine) else UNKNOWN for atom in held])
