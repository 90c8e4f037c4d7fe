"""What the interpreter knows of a value: a set of the things that it may be.

A value is a frozen set of alternatives. Joining two branches is the union; a value with one
alternative is certain, and `UNKNOWN` among the alternatives says that it may be anything else too.
"""

from __future__ import annotations

import functools
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.jaxmodel.structures import Structure

MAX_ALTERNATIVES = 12
MAX_VERSIONS = 4
"""Ways that one container may have become, of which each is known by itself."""
MAX_DEPTH = 4
MAX_NESTING = 5
"""Containers in containers: a linked list in lists would double with each step."""
MAX_SIZE = 2_000
"""Things in one value, those inside of others included: of more, only what they may be is known.

`x = x + x` doubles a list with each line, and `x = (x, x)` what it is to look at all of a tuple.
"""


_MAX_HOLDERS = 40
"""Things that hold others inside of one another: to hash or compare a value goes as deep."""

MADE_ON_TRACERS = "\0"
"""What the name of a module begins with where traced code makes an array, that is none yet."""


class Place(NamedTuple):
    """A node of a module of the program, by the module's name and the node's index in its tree."""

    module: str
    node: int


NOWHERE: frozenset[Place] = frozenset()


class Taking(NamedTuple):
    """An operation that takes a part of an array: an index, a call, or an iteration."""

    place: Place
    """The expression that gives the part; of an iteration, what is iterated over."""
    iterated: bool = False


Causes: TypeAlias = "frozenset[Place | Taking]"
"""Of an array that is committed because something is supposed to be: the expressions of which that
is supposed, and the operations that took it from what they give."""

NO_CAUSES: Causes = frozenset()


@dataclass(frozen=True)
class Device:
    """A device as code names it: `jax.devices("cpu")[0]` is `Device("cpu", 0)`.

    `platform` None is the default backend, so that `Device(None, 0)` is the system default.
    `index` None is one that is not known.
    """

    platform: str | None
    index: int | None

    def __str__(self) -> str:
        """Write it as code does."""
        argument = "" if self.platform is None else f'"{self.platform}"'
        return f"jax.devices({argument})[{'…' if self.index is None else self.index}]"


SYSTEM_DEFAULT = Device(None, 0)

_GPU_PLATFORMS = frozenset({"cuda", "gpu", "rocm"})


def differ(one: Device | None, other: Device | None, *, accelerator: bool) -> bool | None:
    """Tell whether two devices are different ones; None where that cannot be known.

    With an accelerator, the system default is one, and never the CPU; without, it is the CPU.
    """
    if one is None or other is None:
        return None
    platforms = {_kind(one, accelerator=accelerator), _kind(other, accelerator=accelerator)}
    if "cpu" in platforms and len(platforms) == 2:
        return True
    if len(platforms - {None}) == 2:
        return True
    if one.index is None or other.index is None:
        return None
    return one.index != other.index


def is_host(device: Device | None) -> bool:
    """Tell whether a device surely is a CPU."""
    return device is not None and device.platform == "cpu"


def _kind(device: Device, *, accelerator: bool) -> str | None:
    if device.platform is None:
        return None if accelerator else "cpu"
    return "gpu" if device.platform in _GPU_PLATFORMS else device.platform


@dataclass(frozen=True)
class Origin:
    """Where an array was made."""

    created: Place
    """The expression that made it."""
    commit_at: Place
    """The expression that a `device_put` around commits it: the one that is bound to a name."""
    device: Place | None
    """The expression that names the default device in force; None: none is."""


@dataclass(frozen=True)
class Array:
    """A JAX array. `device` None: one that is not known."""

    device: Device | None
    committed: bool
    origin: Origin | None = None
    is_small: bool = False
    """A key or a scalar: moving it costs nothing worth a word."""
    is_weak: bool = False
    """It has the type of a Python number, or may have: what is made like it stays on the default
    device, wherever it is committed (`lax.full_like`; measured on 0.4.30 to 0.12)."""
    via: frozenset[Place] = NOWHERE
    """Of one that is committed to the host: the expressions that committed it there, and the
    operations that ran there, and not where another operand was, because of that."""
    supposed: Causes = NO_CAUSES
    """It is committed only by what is supposed: see `supposition`."""

    @functools.cached_property
    def order(self) -> str:
        """What arrays are sorted by: the same in every process, which the text of a set is not."""
        sets = sorted(map(repr, self.via)), sorted(map(repr, self.supposed))
        return repr((self.device, self.committed, self.origin, self.is_small, self.is_weak, sets))


@dataclass(frozen=True)
class Host:
    """A NumPy array, or what gives one when it is indexed."""

    from_file: bool = False
    """All of what a file holds: as large as data sets are."""
    read: Place | None = None
    """It has the values of the JAX arrays that this expression is: `np.asarray(x)`."""


@dataclass(frozen=True)
class Pickled:
    """What `pickle.dumps` gives."""

    of: Place
    """The expression that was pickled."""


@dataclass(frozen=True)
class Optimizer:
    """An optimizer of optax."""

    name: str
    """The function that made it, or the part of it that keeps moments."""
    keeps_moments: bool = True
    """Of the shapes of all parameters."""
    is_init: bool = False
    """It is the function `init` of one."""


@dataclass(frozen=True)
class Plain:
    """A Python value that is certainly no array, no device and no container of them."""

    text: str | None = None
    """The value of a string."""
    truth: bool | None = None
    """Of `True`, `False` and `None`: which way a test of it goes."""
    member: str | None = None
    """Of a member of an enumeration: what tells it from all others."""


@dataclass(frozen=True)
class TheDevice:
    """A device object; None: a device that is not known."""

    device: Device | None


@dataclass(frozen=True)
class DeviceList:
    """What `jax.devices(platform)` gives."""

    platform: str | None


@dataclass(frozen=True)
class Target:
    """A sharding, a layout or a memory kind: something to commit to that is no single device."""

    replicated: bool = False
    """It surely leaves an array whole: each device has all of it, in its own memory."""


@dataclass(frozen=True)
class _Holder:
    """A thing that is no container and holds values: of too much it holds, nothing is known."""

    size: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)
    """How many things that hold others are inside of one another in it."""

    def __post_init__(self) -> None:
        """Leave out what is too much, or too deep."""
        size, depth = 1, 0
        for name, given in vars(self).items():
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


@dataclass(frozen=True)
class Context(_Holder):
    """Another context manager that changes no placement."""

    gives: Value = frozenset()
    """What `as` binds."""
    maker: Place | None = None
    """The call of a generator function that made it, where that goes on at its end."""


@dataclass(frozen=True)
class TensorFile:
    """A file opened by `safetensors.safe_open` for JAX."""

    site: Place | None = None
    """The call that opened it."""


@dataclass(frozen=True)
class ExitStack:
    """A `contextlib.ExitStack`, by the call that made it."""

    site: Place | None = None


Site: TypeAlias = "tuple[Place, ...]"
"""What a list or a dict is known by: the expression that made it, and the call that led there."""


@dataclass(frozen=True)
class Sequence:
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
    views: tuple[Site, bool] | None = None
    """Of what `d.values()` or, with True, `d.items()` gives: the dict, which may change later."""
    nesting: int = field(default=0, init=False, repr=False, compare=False)
    """How many containers are inside of one another in it."""
    size: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Leave out what is nested too deeply, and what is too much."""
        nesting = _nesting_of(*parts_of(self))
        if nesting == MAX_NESTING:
            if self.items is not None:
                object.__setattr__(self, "items", tuple(map(_shallow, self.items)))
            object.__setattr__(self, "element", _shallow(self.element))
            nesting -= 1
        object.__setattr__(self, "nesting", nesting + 1)
        object.__setattr__(self, "depth", depth_of(*parts_of(self)) + 1)
        size = size_of(*parts_of(self))
        if size > MAX_SIZE:
            element = join(*(self.items or ()), self.element)
            object.__setattr__(self, "items", None)
            object.__setattr__(self, "names", ())
            object.__setattr__(self, "element", _small(element))
            size = size_of(self.element)
        object.__setattr__(self, "size", size + 1)


@dataclass(frozen=True)
class AnyTree(_Holder):
    """A value of unknown structure, perhaps one array: every array in it is one of the leaf."""

    leaf: Value


@dataclass(frozen=True)
class NamedTupleType(_Holder):
    """What `collections.namedtuple` gives."""

    names: tuple[str, ...]
    defaults: tuple[Value, ...] = ()
    """What the last items are where they are not passed."""


@dataclass(frozen=True)
class Mapping:
    """A dict: the values of known keys, and what an unknown key gives."""

    items: tuple[tuple[str, Value], ...]
    element: Value
    site: Site | None = None
    """None: it has no other name."""
    nesting: int = field(default=0, init=False, repr=False, compare=False)
    """How many containers are inside of one another in it."""
    size: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Leave out what is nested too deeply, and what is too much."""
        nesting = _nesting_of(*parts_of(self))
        if nesting == MAX_NESTING:
            items = tuple((key, _shallow(held)) for key, held in self.items)
            object.__setattr__(self, "items", items)
            object.__setattr__(self, "element", _shallow(self.element))
            nesting -= 1
        object.__setattr__(self, "nesting", nesting + 1)
        object.__setattr__(self, "depth", depth_of(*parts_of(self)) + 1)
        size = size_of(*parts_of(self))
        if size > MAX_SIZE:
            element = join(*(held for _, held in self.items), self.element)
            object.__setattr__(self, "items", ())
            object.__setattr__(self, "element", _small(element))
            size = size_of(self.element)
        object.__setattr__(self, "size", size + 1)

    def with_item(self, key: str, held: Value) -> Mapping:
        """Return this dict with an item set."""
        items = dict(self.items)
        is_new = key not in items
        items[key] = held
        made = tuple(sorted(items.items()))
        nesting = max(self.nesting, _nesting_of(held) + 1)
        size = self.size + size_of(held)
        if not is_new or nesting > MAX_NESTING or size > MAX_SIZE:
            return replace(self, items=made)
        # One more item must not cost a look at all others: dicts are filled item by item.
        changed = copy(self)
        object.__setattr__(changed, "items", made)
        object.__setattr__(changed, "nesting", nesting)
        object.__setattr__(changed, "size", size)
        object.__setattr__(changed, "depth", max(self.depth, depth_of(held) + 1))
        return changed


def parts_of(container: Sequence | Mapping) -> list[Value]:
    """Give what is in a container: its items, and what one of unknown place may be."""
    if isinstance(container, Sequence):
        return [*(container.items or ()), container.element]
    return [*(held for _, held in container.items), container.element]


def _nesting_of(*parts: Value) -> int:
    inside = [atom for part in parts for atom in part]
    return max([a.nesting for a in inside if type(a) is Sequence or type(a) is Mapping], default=0)


def size_of(*parts: Value) -> int:
    """Return how many things are in values, those inside of others included."""
    return sum([atom.size if isinstance(atom, HOLDERS) else 1 for part in parts for atom in part])


def depth_of(*parts: Value) -> int:
    """Return how many things that hold others are inside of one another in values, at most."""
    depths = [atom.depth for part in parts for atom in part if isinstance(atom, HOLDERS)]
    return max(depths, default=0)


def _values_in(given: object) -> list[tuple[object, Value]]:
    """Return the values in an attribute: it is one, or a tuple of them, perhaps with keys."""
    if isinstance(given, frozenset):
        return [(None, given)]
    if isinstance(given, HOLDERS):
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


def _small(held: Value) -> Value:
    return held if size_of(held) <= MAX_SIZE else UNKNOWN


def _shallow(held: Value) -> Value:
    return frozenset(
        ANYTHING if isinstance(atom, Sequence | Mapping) and atom.nesting == MAX_NESTING else atom
        for atom in held
    )


@dataclass(frozen=True)
class Function:
    """A function of the program: a `def` or a lambda."""

    place: Place


@dataclass(frozen=True)
class Class:
    """A class of the program."""

    place: Place


@dataclass(frozen=True)
class Instance:
    """An object of a class of the program, by the call that made it."""

    cls: Place
    site: Place
    through: Place | None = None
    """The last call that gave another object like it, with other fields: `device_put(x, d)`. Of
    the calls before that one nothing is kept, so that there are not ever more of them."""

    @property
    def owner(self) -> Place:
        """What the containers belong to that it alone holds."""
        return self.through or self.site


@dataclass(frozen=True)
class Method(_Holder):
    """A function with its first argument bound."""

    function: Place
    receiver: Atom


@dataclass(frozen=True)
class Partial(_Holder):
    """A `functools.partial` of something of the program."""

    function: Atom
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Thread:
    """A `threading.Thread`, and what it calls once it is started."""

    target: Partial

    @property
    def size(self) -> int:
        """How many things are in it."""
        return self.target.size

    @property
    def depth(self) -> int:
        """How many things that hold others are inside of one another in it."""
        return self.target.depth


@dataclass(frozen=True)
class External:
    """A name in a module of the program that was not read yet: nothing in it carries a placement.

    It is read once something is called in it with an array that does.
    """

    module: str
    name: str


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
class Executor:
    """A `concurrent.futures.ThreadPoolExecutor`."""


@dataclass(frozen=True)
class Future(_Holder):
    """What `executor.submit(f)` gives: its result, once it is asked for."""

    result: Value


@dataclass(frozen=True)
class Getter:
    """`operator.itemgetter(…)`, `operator.attrgetter(…)`: takes parts of what it is given."""

    keys: tuple[str | int | None, ...]
    of_attributes: bool = False


@dataclass(frozen=True)
class Dispatched:
    """A function under `functools.singledispatch`: the type of the first argument chooses."""

    place: Place


@dataclass(frozen=True)
class Coroutine(_Holder):
    """What calling an `async def` gives: its result, once it is awaited."""

    result: Value


@dataclass(frozen=True)
class Usage:
    """Of which arguments a computation takes the data: the others are not moved."""

    positions: tuple[bool, ...]
    rest: bool | None = True
    """Of those behind them; None: perhaps of some."""
    keywords: tuple[tuple[str, bool], ...] | None = None
    """None: their names are not known."""
    more: bool | None = True
    """Of those by other keywords."""

    def of(self, argument: int | str) -> bool | None:
        """Tell it of an argument by its position, or by its keyword."""
        if isinstance(argument, int):
            return self.positions[argument] if argument < len(self.positions) else self.rest
        return dict(self.keywords or ()).get(argument, self.more)

    def bound(self) -> Usage:
        """Give that of a method of which the object is bound."""
        return replace(self, positions=self.positions[1:])


@dataclass(frozen=True)
class Step:
    """One transformation of a function, as far as it says what the function then gives."""

    structure: Structure | None
    """None: of what it gives nothing is known."""
    is_staged: bool
    """All that it computes is one program, which gives all that it gives."""
    argnums: tuple[int, ...] | None = (0,)
    """The arguments that it differentiates by; None: which ones is not known."""
    is_single: bool = True
    """It differentiates by one argument, and gives no tuple of derivatives."""
    has_aux: bool | None = False
    is_plain: bool = True
    """It maps over the first axis of everything."""


@dataclass(frozen=True)
class Computation(_Holder):
    """A function that computes on the default device: `jax.jit(f)`, `jax.vmap(f)`."""

    places_arguments: bool = False
    """It was told where its arguments or results go: what it moves, it moves on purpose."""
    is_known: bool = True
    """Its function is in this file: of another it cannot be known which arguments it uses."""
    donates: bool = False
    """It may destroy its arguments, once they are where it runs."""
    changes_objects: bool = False
    """It may change the objects that it is given."""
    usage: Usage | None = None
    """Which arguments it leaves where they are; None: none of them."""
    keeps_unused: bool = False
    """It was told to take also those arguments that it does not use."""
    gives_array: bool = False
    """Given arrays, it gives one array, where it runs."""
    closure: Value = frozenset()
    """The committed arrays that it closes over, where these say where it runs: not for `jit`."""
    function: Place | None = None
    """The function that it computes, whose arguments are its own; None: that is not known."""
    of: Value = frozenset()
    """What the transformations were applied to; nothing where that is not known."""
    steps: tuple[Step, ...] = ()
    """The transformations, the innermost first."""
    bound: tuple[Value, ...] = ()
    """Arguments that it was given before: an object by its method, some by `functools.partial`."""
    bound_by_name: tuple[tuple[str, Value], ...] = ()
    fills: bool = False
    """It makes arrays of the shapes of arguments, and was told nothing of where."""
    moments: str | None = None
    """The optimizer of which it makes the moments, told nothing of where."""

    @property
    def is_staged(self) -> bool:
        """Whether one compiled program gives all that it gives."""
        return bool(self.steps) and self.steps[-1].is_staged


@dataclass(frozen=True)
class Anything:
    """A thing of which nothing is known."""

    is_doubt: bool = False
    """Beside others: it is one of them, but perhaps not where they are, or was changed since. Not
    what another way through the program gives."""


Atom: TypeAlias = (
    Array
    | Host
    | Optimizer
    | Pickled
    | Plain
    | TheDevice
    | DeviceList
    | Target
    | DefaultDeviceContext
    | Context
    | Dispatched
    | Executor
    | ExitStack
    | Future
    | Getter
    | TensorFile
    | Thread
    | Sequence
    | NamedTupleType
    | Mapping
    | AnyTree
    | Function
    | Class
    | Instance
    | Method
    | Partial
    | External
    | Generator
    | Lazy
    | Coroutine
    | Computation
    | Anything
)
Value: TypeAlias = "frozenset[Atom]"

HOLDERS = (_Holder, Sequence, Mapping, Thread)
"""What has a size."""

ANYTHING = Anything()
DOUBT = Anything(is_doubt=True)
UNKNOWN: Value = frozenset({ANYTHING})
DOUBTFUL: Value = frozenset({DOUBT})
"""Beside what is known: it may not hold."""
PLAIN: Value = frozenset({Plain()})
NONE: Value = frozenset({Plain(truth=False)})
HOST: Value = frozenset({Host()})
NOTHING: Value = frozenset()
"""What an empty container holds: no alternative at all."""


def value(*atoms: Atom) -> Value:
    """Give the value that is one of these."""
    return frozenset(atoms)


def sole(held: Value) -> Atom | None:
    """Return the one thing that a value is; None where it may be several, or none."""
    return next(iter(held)) if len(held) == 1 else None


def join(*values: Value) -> Value:
    """Give what a value is that came by one of several ways."""
    if not values:
        return UNKNOWN
    return limited(_with_few_versions(_without_forgotten(frozenset().union(*values))))


def _without_forgotten(joined: Value) -> Value:
    """Give a value in which nothing is known of a container that was forgotten on one way."""
    if len(joined) < 2:
        return joined
    forgotten = {
        atom.site: atom
        for atom in joined
        if isinstance(atom, Sequence | Mapping)
        and atom.site is not None
        and atom.element == UNKNOWN
        and not atom.items
    }
    if not forgotten:
        return joined
    return frozenset(
        forgotten.get(atom.site or (), atom) if isinstance(atom, Sequence | Mapping) else atom
        for atom in joined
    )


def _with_few_versions(joined: Value) -> Value:
    """Return a value in which no container is there in more than a few versions.

    Each assignment to an item of a container changes all its versions, and may add as many.
    """
    if len(joined) <= MAX_VERSIONS:
        return joined
    versions: dict[Site, list[Sequence | Mapping]] = {}
    for atom in joined:
        if isinstance(atom, Sequence | Mapping) and atom.site is not None:
            versions.setdefault(atom.site, []).append(atom)
    many = {site: every for site, every in versions.items() if len(every) > MAX_VERSIONS}
    if not many:
        return joined
    replaced = frozenset(atom for every in many.values() for atom in every)
    return (joined - replaced) | {atom for every in many.values() for atom in _one_version(every)}


def _one_version(every: list[Sequence | Mapping]) -> Iterator[Sequence | Mapping]:
    """Return what several versions of one container have in common, one for each kind.

    What only some have may be absent: of such an item only its value is known, not its key.
    """
    mappings = [each for each in every if isinstance(each, Mapping)]
    if mappings:
        known = [dict(each.items) for each in mappings]
        shared = set(known[0]).intersection(*known[1:])
        pairs = tuple((key, join(*(items[key] for items in known))) for key in sorted(shared))
        absent = [held for items in known for key, held in items.items() if key not in shared]
        element = frozenset().union(*absent, *(each.element for each in mappings))
        yield Mapping(pairs, join(element), mappings[0].site)
    sequences = [each for each in every if isinstance(each, Sequence)]
    if sequences:
        element = join(*(part for each in sequences for part in parts_of(each)))
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


def arrays(of: Value, depth: int = MAX_DEPTH) -> Iterator[Array]:
    """Give every array in a value and in its containers; of items that are alike, those of one."""
    for atom in of:
        if isinstance(atom, Array):
            yield atom
        elif depth and isinstance(atom, Sequence | Mapping):
            parts = (
                (atom.items or (atom.element,)) if isinstance(atom, Sequence) else parts_of(atom)
            )
            for part in dict.fromkeys(parts):
                yield from arrays(part, depth - 1)
        elif isinstance(atom, AnyTree):
            yield from arrays(atom.leaf, 0)


def is_placed(array: Array) -> bool:
    """Tell whether an array was made under a default device, or put anywhere."""
    return array.committed or array.origin is None or array.origin.device is not None


def without_parts(of: Value) -> Value:
    """Give a value without what is in its containers: of a list, `x.T` computes nothing."""
    return frozenset(Plain() if isinstance(a, Sequence | Mapping | AnyTree) else a for a in of)


def map_arrays(of: Value, change: ArrayChange, depth: int = MAX_DEPTH) -> Value:
    """Give a value with every array in it, and in its containers, changed."""
    return map_atoms(of, lambda a: change(a) if isinstance(a, Array) else a, depth)


def map_atoms(of: Value, change: AtomChange, depth: int = MAX_DEPTH) -> Value:
    """Give a value with everything in it changed, in its containers what these hold."""
    changed: list[Atom] = []
    for atom in of:
        if depth and isinstance(atom, Sequence):
            items = atom.items and tuple(map_atoms(item, change, depth - 1) for item in atom.items)
            element = map_atoms(atom.element, change, depth - 1)
            changed.append(replace(atom, items=items, element=element))
        elif depth and isinstance(atom, Mapping):
            pairs = tuple((key, map_atoms(item, change, depth - 1)) for key, item in atom.items)
            changed.append(Mapping(pairs, map_atoms(atom.element, change, depth - 1), atom.site))
        elif isinstance(atom, AnyTree):
            changed.append(AnyTree(map_atoms(atom.leaf, change, 0)))
        else:
            changed.append(change(atom))
    return limited(frozenset(changed))


def committed_to(
    of: Value, devices: Iterable[Device | None], by: frozenset[Place] = NOWHERE
) -> Value:
    """Give a value after all of its arrays, and NumPy arrays, were put on one of the devices.

    `by`: the expressions that do so.
    """
    places = tuple(devices)

    def on_device(atom: Atom, device: Device | None) -> Atom:
        via = by if is_host(device) else NOWHERE
        if isinstance(atom, Array):
            return replace(atom, device=device, committed=True, via=via, supposed=NO_CAUSES)
        if isinstance(atom, Host | Plain | Anything):
            return Array(device, committed=True, via=via)
        if isinstance(atom, Sequence):
            items = atom.items and tuple(
                frozenset(on_device(inner, device) for inner in item) for item in atom.items
            )
            element = frozenset(on_device(inner, device) for inner in atom.element)
            return replace(atom, items=items, element=element, site=None)
        if isinstance(atom, Mapping):
            pairs = tuple(
                (key, frozenset(on_device(inner, device) for inner in item))
                for key, item in atom.items
            )
            return Mapping(pairs, frozenset(on_device(inner, device) for inner in atom.element))
        return atom

    return limited(frozenset(on_device(atom, device) for atom in of for device in places))


def known_key(key: str | int | None) -> str | None:
    """Give what a mapping knows a key by; None for one that is not known."""
    return f"\0{key}" if isinstance(key, int) else key


def iterated_of(of: Value, position: int | None = None) -> Value:
    """Give what iterating over the containers in a value gives, of a dict its keys.

    `position`: of the one that is asked for. Arrays are not looked at.
    """
    return element_of(frozenset(_KEYS if isinstance(a, Mapping) else a for a in of), position)


def element_of(of: Value, key: str | int | None = None) -> Value:
    """Give what indexing the containers in a value gives; arrays are not looked at."""
    found: list[Value] = []
    for atom in of:
        if isinstance(atom, AnyTree):
            # Of an array it is another one, which may be elsewhere.
            found.append(frozenset({atom}) if isinstance(key, str) else UNKNOWN)
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
            name = known_key(key)
            if name is not None and name in known:
                found.append(known[name])
            elif key is None:
                found.append(join(*known.values(), atom.element))
            else:
                found.append(atom.element)
        elif isinstance(atom, Host):
            found.append(frozenset({atom}) if isinstance(key, str) else HOST)
        elif isinstance(atom, Plain):
            found.append(PLAIN)
        elif isinstance(atom, DeviceList):
            index = key if isinstance(key, int) and key >= 0 else None
            found.append(frozenset({TheDevice(Device(atom.platform, index))}))
        elif not isinstance(atom, Array):
            found.append(UNKNOWN)
    return join(*found) if found else frozenset()


_KEYS = Sequence(None, PLAIN)
"""The keys of a dict: no array can be one."""

if TYPE_CHECKING:
    from collections.abc import Callable

    ArrayChange: TypeAlias = Callable[[Array], Atom]
    AtomChange: TypeAlias = Callable[[Atom], Atom]
