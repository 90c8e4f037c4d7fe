"""What the interpreter knows of a value: a set of the things that it may be.

A value is a frozen set of alternatives. Joining two branches is the union; a value with one
alternative is certain, and `UNKNOWN` among the alternatives says that it may be anything else too.
"""

from __future__ import annotations

from bisect import bisect_left
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias, cast

from placement_lint.placement.domain.keys import key_order, with_last
from placement_lint.placement.domain.library_values import (
    AbstractArray,
    DeviceList,
    Dispatched,
    Executor,
    ExitStack,
    Getter,
    LibraryFunction,
    Optimizer,
    Pickled,
    TensorFile,
)
from placement_lint.placement.domain.ordering import Ordered
from placement_lint.placement.domain.places import (
    NO_CAUSES,
    NOWHERE,
    ArrayOrigin,
    Causes,
    Place,
    Site,
)
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.sharding import DeviceGrid, Mesh, Sharding, Spec
from placement_lint.placement.domain.sized import Sized, depth_of, nesting_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.keys import Key, Member
    from placement_lint.placement.domain.mesh_contexts import MeshChange
    from placement_lint.placement.domain.transformations import Step, Usage

MAX_ALTERNATIVES = 12
MAX_DEVICES = 2
"""Devices to which arrays may be committed that may be something else as well."""
MAX_VERSIONS = 4
"""Ways that one container may have become, of which each is known by itself."""
MAX_NESTING = 5
"""Containers in containers: a linked list in lists would double with each step."""
MAX_SIZE = 2_000
"""Things in one value, those inside of others included: of more, only what they may be is known.

`x = x + x` doubles a list with each line, and `x = (x, x)` the time to visit all of a tuple.
"""


_MAX_HOLDERS = 40
"""Things that hold others inside of one another: to hash or compare a value goes as deep."""


@dataclass(frozen=True)
class Array(Ordered, Sized):
    """A JAX array. `device` None: one that is not known."""

    device: Device | None
    committed: bool
    origin: ArrayOrigin | None = None
    is_small: bool = False
    """A key or a scalar: moving it costs next to nothing."""
    is_weak: bool = False
    """It has the type of a Python number, or may have: what is made like it stays on the default
    device, wherever it is committed (`lax.full_like`; measured on 0.4.30 to 0.12)."""
    via: frozenset[Place] = NOWHERE
    """Of one committed to the host: the expressions that did so, and operations that ran there."""
    supposed: Causes = NO_CAUSES
    """It is committed only by what is supposed: see `supposition`."""
    sharding: Sharding | None = None
    """Of one that is committed to the devices of a mesh, none of which is its `device`: how."""
    may_be_tree: bool = False  # It was put there, and what it was before that is not known.

    def made_at(self, origin: ArrayOrigin) -> Array:
        """Return the same with another origin: `dataclasses.replace` takes three times as long."""
        return Array(
            self.device,
            self.committed,
            origin,
            self.is_small,
            self.is_weak,
            self.via,
            self.supposed,
            self.sharding,
            self.may_be_tree,
        )


@dataclass(frozen=True)
class Host(Sized):
    """A NumPy array, or what gives one when it is indexed; or a tensor of PyTorch."""

    from_file: bool = False
    """All of what a file holds: as large as datasets are."""
    is_archive: bool = False
    """It is a file of several arrays, which gives one of them by its name: `h5py.File(path)`."""
    read: Place | None = None
    """It has the values of the JAX arrays that this expression is: `np.asarray(x)`; or what
    operators make of each of them: `0.1 * np.asarray(x)`."""
    is_tensor: bool = False
    """It is a tensor of PyTorch, in the memory of the host: `jax.device_put` refuses it."""


@dataclass(frozen=True)
class Plain(Sized):
    """A Python value that is certainly no array, no device and no container of them."""

    text: str | None = None
    """The value of a string."""
    truth: bool | None = None
    """Of `True`, `False` and `None`: which way a test of it goes."""
    member: Member | None = None
    """The member of an enumeration that it is."""
    is_none: bool = False
    """It is `None`."""
    number: int | None = None
    """The value of a whole number, in files that speak of meshes. Of several it is not known."""


@dataclass(frozen=True)
class TheDevice(Sized):
    """A device object; None: a device that is not known."""

    device: Device | None


@dataclass(frozen=True)
class _Holder(Sized):
    """A thing that is no container and holds values: of too much it holds, nothing is known."""

    def __post_init__(self) -> None:
        """Leave out what is too much, or too deep."""
        size, depth = 1, 0
        for name, given in list(vars(self).items()):
            if not given or given is True:
                # Most attributes are: what follows need not look at them.
                continue
            held = [part for _, part in _values_in(given)]
            if held:
                if size + size_of(*held) > MAX_SIZE or depth_of(*held) >= _MAX_HOLDERS:
                    object.__setattr__(self, name, _unknown_in(given))
                    held = [UNKNOWN] * len(held)
                size += size_of(*held)
                depth = max(depth, depth_of(*held))
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "depth", depth + 1)


@dataclass(frozen=True)
class DefaultDeviceContext(_Holder):
    """What `jax.default_device(d)` gives: a context that is not entered yet."""

    devices: frozenset[Device | None]
    expression: Place | None
    """The expression that names the device."""
    inherited: bool = False
    """It was made by a function: the names in the expression mean nothing outside of it."""
    gives: Value = frozenset()
    """What `as` binds."""
    maker: Place | None = None
    """The call of a generator function that made it, where that goes on at its end."""
    chosen_by: Place | None = None
    """The conditional expression that gives one device or the system's default."""
    meshes: MeshChange | None = None
    """What it does to the meshes in force."""


@dataclass(frozen=True)
class PlainContext(_Holder):
    """Another context manager that changes no placement."""

    gives: Value = frozenset()
    """What `as` binds."""
    maker: Place | None = None
    """The call of a generator function that made it, where that goes on at its end."""
    meshes: MeshChange | None = None
    """What it does to the meshes in force."""


@dataclass(frozen=True)
class ContextFactory(_Holder):
    """What makes a context without an argument: `functools.partial(jax.default_device, d)`."""

    context: Value


class _Container(Sized):
    """A list, a tuple or a dict: of what is in it in containers too many, nothing is known."""

    element: Value

    def parts(self) -> list[Value]:
        """Return the items, and behind them what one of unknown place may be."""
        raise NotImplementedError

    def _take(self, parts: list[Value] | None, element: Value) -> None:
        """Have other items, while it is made; None: unknown ones."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Leave out what is nested too deeply, and what is too much."""
        parts = self.parts()
        nesting = nesting_of(*parts)
        if nesting == MAX_NESTING:
            parts = list(map(_shallow, parts))
            self._take(parts[:-1], parts[-1])
            nesting -= 1
        object.__setattr__(self, "nesting", nesting + 1)
        object.__setattr__(self, "depth", depth_of(*parts) + 1)
        size = size_of(*parts)
        if size > MAX_SIZE:
            element = join(*parts)
            element = element if size_of(element) <= MAX_SIZE else UNKNOWN
            self._take(None, element)
            size = size_of(element)
        object.__setattr__(self, "size", size + 1)


@dataclass(frozen=True)
class Sequence(_Container):
    """A list, a tuple, or anything iterated: its items where their number is known."""

    items: tuple[Value, ...] | None
    element: Value
    """What an item whose place is not known may be."""
    site: Site | None = None
    """None: it has no other name, or cannot change."""
    names: tuple[str, ...] = ()
    """Of a named tuple: the names of its items."""
    cls: Place | None = None
    """Of a named tuple: its class, where that is of the program."""
    library: str = ""
    """Of an object of a library whose fields are known: its class there."""
    views: tuple[Site, str] | None = None
    """Of what `d.values()` gives: the dict, which may change later, and the method."""

    def parts(self) -> list[Value]:
        return [*(self.items or ()), self.element]

    def _take(self, parts: list[Value] | None, element: Value) -> None:
        if parts is None:
            object.__setattr__(self, "names", ())
        is_known = parts is not None and self.items is not None
        object.__setattr__(self, "items", tuple(parts or ()) if is_known else None)
        object.__setattr__(self, "element", element)


@dataclass(frozen=True)
class AnyTree(_Holder):
    """A value of unknown structure, perhaps one array: every array in it is one of the leaf."""

    leaf: Value
    cls: str = ""
    """The class of a library that it is an object of, which says what its methods do."""
    is_named: bool = False
    """Whether what is no array in it is a dict of names: parameters, as libraries make them."""


@dataclass(frozen=True)
class NamedTupleType(_Holder):
    """What `collections.namedtuple` gives."""

    names: tuple[str, ...]
    defaults: tuple[Value, ...] = ()
    """What the last items are where they are not passed."""


@dataclass(frozen=True)
class Mapping(_Container):
    """A dict: the values of known keys, in the order of `key_order`, and of an unknown one."""

    items: tuple[tuple[Key, Value], ...]
    element: Value
    site: Site | None = None
    """None: it has no other name."""
    order: tuple[Key, ...] = field(default=(), compare=False)
    """The keys as they were added, where they are few. Of another dict with them it is stale."""

    def parts(self) -> list[Value]:
        return [*(held for _, held in self.items), self.element]

    def _take(self, parts: list[Value] | None, element: Value) -> None:
        keys = [key for key, _ in self.items]
        object.__setattr__(self, "items", tuple(zip(keys, parts or (), strict=False)))
        object.__setattr__(self, "element", element)

    def with_item(self, key: Key, held: Value) -> Mapping:
        """Return this dict with an item set."""
        at = bisect_left(self.items, key_order(key), key=lambda item: key_order(item[0]))
        is_new = at == len(self.items) or self.items[at][0] != key
        made = (*self.items[:at], (key, held), *self.items[at + (not is_new) :])
        nesting = max(self.nesting, nesting_of(held) + 1)
        size = self.size + size_of(held)
        order = with_last(self.order, key) if is_new else self.order
        if not is_new or nesting > MAX_NESTING or size > MAX_SIZE:
            return replace(self, items=made, order=order)
        # One more item must not visit all others: dicts are filled item by item.
        changed = copy(self)
        object.__setattr__(changed, "items", made)
        object.__setattr__(changed, "order", order)
        object.__setattr__(changed, "nesting", nesting)
        object.__setattr__(changed, "size", size)
        object.__setattr__(changed, "depth", max(self.depth, depth_of(held) + 1))
        return changed


Container: TypeAlias = Sequence | Mapping


def _values_in(given: object) -> list[tuple[object, Value]]:
    """Return the values in an attribute: it is one, or a tuple of them, perhaps with keys."""
    if isinstance(given, frozenset):
        # Devices are no value.
        return [(None, given)] if isinstance(next(iter(given), ANYTHING), Sized) else []
    if isinstance(given, Sized) and given.depth:
        return [(None, frozenset({cast("Atom", given)}))]
    if isinstance(given, tuple) and not isinstance(given, Place):
        pairs = [
            each if isinstance(each, tuple) and len(each) == 2 else (None, each) for each in given
        ]
        return [(key, held) for key, held in pairs if isinstance(held, frozenset)]
    return []


def _unknown_in(given: object) -> object:
    """Return an attribute of the same form in which nothing is known of the values."""
    if isinstance(given, frozenset):
        return UNKNOWN
    if not isinstance(given, tuple):
        return ANYTHING
    return tuple((each[0], UNKNOWN) if isinstance(each, tuple) else UNKNOWN for each in given)


def _shallow(held: Value) -> Value:
    return frozenset(
        ANYTHING if isinstance(atom, Container) and atom.nesting == MAX_NESTING else atom
        for atom in held
    )


@dataclass(frozen=True)
class Method(_Holder):
    """A function with its first argument bound."""

    function: Place
    receiver: Atom


@dataclass(frozen=True)
class LibraryMethod(_Holder):
    """A method of an object of a library, or of a class that derives from one of it."""

    name: str
    """Its qualified name: `flax.linen.Module.init`."""
    receiver: Atom


@dataclass(frozen=True)
class Partial(_Holder):
    """A `functools.partial` of something of the program."""

    function: Atom
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    is_method: bool = False
    """It is a `functools.partialmethod`: it is given the object first that it is taken from."""


@dataclass(frozen=True)
class Closure(_Holder):
    """A function that a function of the program gave, such as a decorator or a factory.

    Each call of that gives another one, though it has one body.
    """

    function: Place
    closed: tuple[tuple[str, Value], ...]
    """What the parameters hold of the call that gave it."""
    receiver: Value = frozenset()
    """The first argument, where it is a method; else nothing."""


@dataclass(frozen=True)
class Thread(Sized):
    """A `threading.Thread`, and what it calls once it is started."""

    target: Partial

    def __post_init__(self) -> None:
        """Be of the size of what it calls."""
        object.__setattr__(self, "size", self.target.size)
        object.__setattr__(self, "depth", self.target.depth)


@dataclass(frozen=True)
class Generator(_Holder):
    """What calling a generator function gives: its body runs where it is consumed."""

    function: Place
    arguments: tuple[tuple[str, Value], ...]
    """What its parameters hold."""
    in_loop: bool
    """It was called in a loop."""


@dataclass(frozen=True)
class Lazy(_Holder):
    """A generator expression, or what `map` and its like give: it runs where it is consumed."""

    place: Place
    """The expression."""
    operands: tuple[tuple[int, Value], ...]
    """What parts of the expression gave where it was evaluated."""
    in_loop: bool
    """It was evaluated in a loop."""


@dataclass(frozen=True)
class Future(_Holder):
    """What `executor.submit(f)` gives: its result, once it is asked for."""

    result: Value


@dataclass(frozen=True)
class TreeStructure(_Holder):
    """What `jax.tree.structure(tree)` gives: that of a tree, with whatever leaves."""

    tree: Value


@dataclass(frozen=True)
class Coroutine(_Holder):
    """What calling an `async def` gives: its result, once it is awaited."""

    result: Value


@dataclass(frozen=True)
class Computation(_Holder):
    """A function that computes on the default device: `jax.jit(f)`, `jax.vmap(f)`."""

    places_arguments: bool = False
    """Its caller says where arguments or results go: what it moves, it moves on purpose."""
    is_known: bool = True
    """Its function is in this file: of another it cannot be known which arguments it uses."""
    donates: bool = False  # It may destroy its arguments, once they are where it runs.
    donated_by: Place | None = None  # The call that made it, or the decorated function.
    donation: tuple[tuple[str, Value], ...] = ()  # What that says of it, by its keywords.
    changes_objects: bool = False
    """It may change the objects that it is given."""
    usage: Usage | None = None
    """Which arguments it leaves where they are; None: none of them."""
    keeps_unused: bool = False
    """It also takes the arguments that it does not use (`keep_unused`)."""
    gives_array: bool = False
    """Given arrays, it gives one array, where it runs."""
    closure: Value = frozenset()
    """The committed arrays that it closes over, where these say where it runs: not for `jit`."""
    function: Place | None = None
    """The function that it computes, whose arguments are its own, behind those that are bound."""
    of: Value = frozenset()
    """What the transformations were applied to; nothing where that is not known."""
    steps: tuple[Step, ...] = ()
    """The transformations, the innermost first."""
    bound: tuple[Value, ...] = ()
    """Arguments that it was given before: an object by its method, some by `functools.partial`."""
    bound_by_name: tuple[tuple[str, Value], ...] = ()
    fills: bool = False
    """It makes arrays of the shapes of arguments, and nothing says where."""
    moments: str | None = None
    """The optimizer of which it makes the moments, and nothing says where."""
    made_under: bool = False
    """It was made where the program had a mesh in force."""
    shardings: tuple[Value, ...] = ()
    """Its `in_shardings` and its `out_shardings`; nothing where it has neither."""

    @property
    def bound_first(self) -> int:
        """How many of the first parameters of its function it was given before."""
        return len(self.bound) + any(isinstance(atom, Method) for atom in self.of)

    @property
    def is_staged(self) -> bool:
        """Whether one compiled program gives all that it gives."""
        return bool(self.steps) and self.steps[-1].is_staged


@dataclass(frozen=True)
class Anything(Sized):
    """A thing of which nothing is known."""

    is_doubt: bool = False
    """Beside others: it is one of them, but perhaps not where they are, or was changed since. Not
    what another way through the program gives."""
    is_unfollowed: bool = field(default=False, compare=False)
    """It came of a call in another file that was not followed, so that more could be known."""


Atom: TypeAlias = (
    Array | Host | Optimizer | Pickled | Plain | TheDevice | DeviceList | DeviceGrid | Mesh | Spec
    | Sharding
    | DefaultDeviceContext | PlainContext | ContextFactory | Dispatched | Executor | ExitStack
    | Future | Getter | TensorFile | TreeStructure | Thread
    | Sequence | NamedTupleType | Mapping | AnyTree
    | Function | Class | Instance | LibraryFunction | LibraryMethod | Method | Partial | Closure
    | AbstractArray | External | Generator | Lazy | Coroutine | Computation | Anything
)  # fmt: skip
Value: TypeAlias = "frozenset[Atom]"

ANYTHING = Anything()
DOUBT = Anything(is_doubt=True)
UNKNOWN: Value = frozenset({ANYTHING})
UNFOLLOWED: Value = frozenset({Anything(is_unfollowed=True)})
"""Equal to `UNKNOWN`: see `Anything.is_unfollowed`."""
DOUBTFUL: Value = frozenset({DOUBT})
"""Beside what is known: it may not hold."""
PLAIN: Value = frozenset({Plain()})
NONE: Value = frozenset({Plain(truth=False, is_none=True)})
HOST: Value = frozenset({Host()})
TENSOR: Value = frozenset({Host(is_tensor=True)})
NOTHING: Value = frozenset()
"""What an empty container holds: no alternative at all."""


def value(*atoms: Atom) -> Value:
    return frozenset(atoms)


def is_unfollowed(atom: Atom) -> bool:
    """Return whether a thing came of a call in another file that was not followed."""
    return isinstance(atom, Anything) and atom.is_unfollowed


def sole(held: Value) -> Atom | None:
    """Return the one thing that a value is; None where it may be several, or none."""
    return next(iter(held)) if len(held) == 1 else None


def join(*values: Value) -> Value:
    """Return what a value is that came by one of several ways."""
    if not values:
        return UNKNOWN
    joined = frozenset().union(*values)
    if len(joined) < 2:
        return joined
    return limited(_with_few_versions(_without_forgotten(joined)))


def _without_forgotten(joined: Value) -> Value:
    """Return a value in which nothing is known of a container that was forgotten on one way."""
    # One of the functions that run most often: each thing is looked at once.
    numbers: list[Plain] = []
    forgotten: dict[Site, Container] = {}
    for atom in joined:
        if isinstance(atom, Plain):
            if atom.number is not None:
                numbers.append(atom)
        elif (
            isinstance(atom, Container) and atom.site and not atom.items and atom.element == UNKNOWN
        ):
            forgotten[atom.site] = atom
    # Of several numbers none is known: loops that count soon end.
    if numbers and (len(numbers) > 1 or Plain() in joined):
        joined = joined.difference(numbers) | {Plain()}
    if not forgotten:
        return joined
    return frozenset(
        forgotten.get(atom.site or (), atom) if isinstance(atom, Container) else atom
        for atom in joined
    )


def _with_few_versions(joined: Value) -> Value:
    """Return a value in which no container is there in more than a few versions.

    Each assignment to an item of a container changes all its versions, and may add as many.
    """
    if len(joined) <= MAX_VERSIONS:
        return joined
    versions: dict[Site, list[Container]] = {}
    for atom in joined:
        if isinstance(atom, Container) and atom.site is not None:
            versions.setdefault(atom.site, []).append(atom)
    many = {site: every for site, every in versions.items() if len(every) > MAX_VERSIONS}
    if not many:
        return joined
    replaced = frozenset(atom for every in many.values() for atom in every)
    return (joined - replaced) | {atom for every in many.values() for atom in _few_versions(every)}


def _few_versions(every: list[Container]) -> Iterator[Container]:
    """Return the versions of one container, without those that it had while it was filled.

    A table in which functions register themselves is another one after each of them. Where it has
    many still, what they have in common.
    """
    left: list[Container] = []
    for each in sorted(every, key=lambda each: len(each.items or ()), reverse=True):
        if not any(_is_filled_from(later, each) for later in left):
            left.append(each)
    yield from left if len(left) <= MAX_VERSIONS else _one_version(every)


def _is_filled_from(later: Container, earlier: Container) -> bool:
    """Return whether a dict is another one with more items under keys of their own."""
    return (
        isinstance(later, Mapping)
        and isinstance(earlier, Mapping)
        and later.element == earlier.element
        and set(earlier.items) <= set(later.items)
    )


def _one_version(every: list[Container]) -> Iterator[Container]:
    """Return what several versions of one container have in common, one for each kind.

    What only some have may be absent: of such an item only its value is known, not its key.
    """
    mappings = [each for each in every if isinstance(each, Mapping)]
    if mappings:
        known = [dict(each.items) for each in mappings]
        shared = set(known[0]).intersection(*known[1:])
        pairs = tuple(
            (key, join(*(items[key] for items in known))) for key in sorted(shared, key=key_order)
        )
        absent = [held for items in known for key, held in items.items() if key not in shared]
        element = frozenset().union(*absent, *(each.element for each in mappings))
        yield Mapping(pairs, join(element), mappings[0].site)
    sequences = [each for each in every if isinstance(each, Sequence)]
    if sequences:
        element = join(*(part for each in sequences for part in each.parts()))
        yield Sequence(None, element, sequences[0].site)


def limited(joined: Value) -> Value:
    """Keep a value small: where it has too many alternatives, some become `Anything`."""
    if len(joined) <= MAX_ALTERNATIVES:
        return joined
    if any(isinstance(a, Array) and a.via for a in joined):
        joined = frozenset(replace(a, via=NOWHERE) if isinstance(a, Array) else a for a in joined)
    if len(joined) <= MAX_ALTERNATIVES:
        return joined
    arrays = sorted((atom for atom in joined if isinstance(atom, Array)), key=attrgetter("order"))
    return frozenset([*arrays[: MAX_ALTERNATIVES - 1], ANYTHING])


def without_guesses(held: Value) -> Value:
    """Return an argument that may be anything without arrays that may be on any of many devices.

    Nothing is reported of an array that may as well be something else. Programs that choose their
    device when they run would else be followed through all their functions, once for each mixture
    of devices. What is supposed is kept: a fix is safe only where nothing comes of it.
    """
    if len(held) <= MAX_DEVICES + 1 or ANYTHING not in held:
        return held
    found = [atom for atom in held if isinstance(atom, Array)]
    devices = {array.device for array in found if array.committed}
    if len(devices) <= MAX_DEVICES or any(array.supposed for array in found):
        return held
    return held.difference(found)
