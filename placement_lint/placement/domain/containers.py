"""Lists and dicts that change: one container may have several names, and all of them see it.

A container is known by its *site*: the expression that made it, and, for one that a function made
and returned, the call. What is stored through one name is stored under every variable, attribute
and container that holds the site.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from placement_lint.placement.domain.contents import MAX_DEPTH, arrays, leaves_of
from placement_lint.placement.domain.keys import Key, sorted_items
from placement_lint.placement.domain.sharding import Mesh
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AnyTree,
    Array,
    Container,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)

MAX_ITEMS = 128
"""Items of one container that are distinguished, where not each is written in a literal."""
"""Methods of lists, dicts and sets that take all that an iterable gives."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.domain.program_values import Instance
    from placement_lint.placement.domain.state import State, Variable
    from placement_lint.placement.domain.values import Atom

Change: TypeAlias = "Callable[[Container], Container]"

_MAX_DISTINGUISHED = 8
"""Variables of one container of which each is known by itself when that changes."""
_MAX_HOLDERS = 64
"""Variables of one container that a change reaches."""
_LONGEST_SPLIT = 100
"""Letters of a text of which the words are known."""


class Containers:
    """Every container that the program made, and the variables that may hold each."""

    def __init__(self) -> None:
        self._holders: dict[Site, dict[Variable, None]] = {}
        self._made: set[Site] = set()
        self._repeated: set[Site] = set()

    def made(self, site: Site, *, again: bool) -> None:
        """Note that a container was made; `again`: in a loop, so that there are several."""
        if again or site in self._made:
            self._repeated.add(site)
        self._made.add(site)

    def hold(self, key: Variable, held: Value) -> None:
        for site in sites(held):
            holders = self._holders.setdefault(site, {})
            if len(holders) < _MAX_HOLDERS:
                holders[key] = None

    def holders(self, site: Site) -> list[Variable]:
        """Return the variables that were ever bound to a container."""
        return list(self._holders.get(site, ()))

    def named(self, held: Value) -> Value:
        """Return a value without the sites that no variable holds: these have no alias."""
        return _resited(held, lambda site: site if site in self._holders else None)

    def is_one(self, site: Site) -> bool:
        """Return whether there is but one container of a site."""
        return site not in self._repeated

    def owned(self, held: Value, owner: Instance, *, again: bool) -> Value:
        """Return a value that an object comes to hold: a new container is of that object.

        One call may make objects of several classes, `cls()` in a loop over these.
        """

        def of_owner(site: Site) -> Site:
            if site in self._holders or site[0] == owner.site:
                return site
            renamed = (owner.site, owner.cls, site[-1])
            self.made(renamed, again=again)
            return renamed

        return _resited(held, of_owner)

    def returned(self, held: Value, made: AbstractSet[Site], call: Place, *, again: bool) -> Value:
        """Return what a call returns: containers that it made are others than the last time."""

        def at_call(site: Site) -> Site:
            if site not in made:
                return site
            renamed = (call, site[-1])
            self.made(renamed, again=again)
            return renamed

        return _resited(held, at_call)


def sites(held: Value, depth: int = MAX_DEPTH) -> Iterator[Site]:
    """Yield the sites of the containers in a value, those inside of others included."""
    for atom in held:
        if isinstance(atom, Container):
            if atom.site is not None:
                yield atom.site
            if depth:
                for part in dict.fromkeys(atom.parts()):
                    yield from sites(part, depth - 1)


def of_site(held: Value, site: Site, depth: int = MAX_DEPTH) -> Iterator[Container]:
    """Yield the containers of a site in a value, those inside of others included."""
    for atom in held:
        if isinstance(atom, Container):
            if atom.site == site:
                yield atom
            elif depth:
                for part in atom.parts():
                    yield from of_site(part, site, depth - 1)


def is_container(held: Value) -> bool:
    """Return whether a value may be a list, a tuple or a dict."""
    for atom in held:  # noqa: SIM110 - `any` takes three times as long, and this runs often
        if isinstance(atom, Container):
            return True
    return False


def anonymous(held: Value) -> Value:
    """Return a value in which no container is known by its site."""
    return _resited(held, lambda _: None)


def sited(held: Value, site: Site) -> Value:
    """Return a value in which the containers that have no site have this one."""
    if all(not isinstance(a, Container) or a.site is not None for a in held):
        return held
    return frozenset(
        replace(atom, site=site) if isinstance(atom, Container) and atom.site is None else atom
        for atom in held
    )


def changed(held: Value, site: Site, change: Change, *, surely: bool) -> Value:
    """Return a value after the container of a site has changed; `surely` False: or has not.

    What is held several times, as lists in one another are, is gone through once at each depth.
    """
    return _changed(held, _Changing(site, change, surely, {}), MAX_DEPTH)


class _Changing(NamedTuple):
    """A change of the container of a site, with what it has made of parts by identity and depth."""

    site: Site
    change: Change
    surely: bool
    known: dict[tuple[int, int], Value]


def _changed(held: Value, by: _Changing, depth: int) -> Value:
    # No function in it may refer to itself: nothing collects such circles while files are checked.
    if not is_container(held):
        return held
    key = id(held), depth
    if key in by.known:
        return by.known[key]
    atoms: list[Atom] = []
    touched = False
    for atom in held:
        if not isinstance(atom, Container):
            atoms.append(atom)
        elif atom.site == by.site:
            touched = True
            atoms.append(by.change(atom))
            if not by.surely:
                atoms.append(atom)
        elif depth:
            new = _with_parts(atom, lambda inner: _changed(inner, by, depth - 1))
            touched |= new is not atom
            atoms.append(new)
        else:
            atoms.append(atom)
    after = join(frozenset(atoms)) if touched else held
    by.known[key] = after
    return after


def changed_holders(
    held_by: dict[Variable, Value | None], site: Site, change: Change, *, surely: bool
) -> Iterator[tuple[Variable, Value]]:
    """Return what becomes of variables when the container of a site has changed.

    Of those that hold nothing else, many hold what any of them may hold: so that the next change
    is worked out once, and not for each.
    """
    after: dict[Value, Value] = {}
    untouched: set[Value] = set()
    for held in held_by.values():
        if held is not None and held not in after and held not in untouched:
            new = changed(held, site, change, surely=surely)
            if new is held:
                untouched.add(held)
            else:
                after[held] = new
    touched = {key: held for key, held in held_by.items() if held in after}
    if len(touched) > _MAX_DISTINGUISHED:
        alike = [held for held in after if _is_only(held, site)]
        if alike:
            after |= dict.fromkeys(alike, join(*(after[held] for held in alike)))
    for key, held in touched.items():
        if held is not None:
            yield key, after[held]


def _is_only(held: Value, site: Site) -> bool:
    return all(isinstance(atom, Container) and atom.site == site for atom in held)


def view_of(mapping: Mapping, name: str) -> Sequence:
    """Return what the method of a dict gives that is called `items`, `keys` or `values`.

    Each item of it is known where a mesh may be made of them: of a short dict of plain values. So
    it is of arrays that are committed to several devices, which nothing may compute with together,
    and of several meshes.
    """
    items = _ordered(mapping, name)
    element = join(*(held for _, held in mapping.items), mapping.element)
    if name == "keys":
        element = PLAIN
    elif name == "items" and element:
        element = value(Sequence((PLAIN, element), join(PLAIN, element)))
    is_live = mapping.site is not None and (name != "keys" or items is not None)
    views = (mapping.site, name) if mapping.site is not None and is_live else None
    return Sequence(items, element, views=views)


def _ordered(mapping: Mapping, name: str) -> tuple[Value, ...] | None:
    """Return the keys, the values or the items of a dict in its order; None: it is not known."""
    known = dict(mapping.items)
    keys = [key for key in mapping.order if isinstance(key, str) and key in known]
    if not keys or len(keys) < len(known) or mapping.element:
        return None
    texts = [value(Plain(key)) for key in keys]
    if name == "keys":
        return tuple(texts)
    held = [known[key] for key in keys]
    if not all(isinstance(sole(each), Plain) for each in held) and not _are_apart(held):
        return None
    if name == "values":
        return tuple(held)
    pairs = zip(texts, held, strict=True)
    return tuple(value(Sequence((text, each), join(text, each))) for text, each in pairs)


def _are_apart(items: list[Value]) -> bool:
    """Return whether all of some items are meshes, or arrays that are committed, and not all to
    one device.
    """
    held = [sole(each) for each in items]
    if all(isinstance(each, Mesh) for each in held):
        return len({*held}) > 1
    arrays = [each for each in held if isinstance(each, Array) and each.committed]
    return len(arrays) == len(items) and len({(each.device, each.sharding) for each in arrays}) > 1


def words_of(text: str, given: list[tuple[int, Value]], site: Site) -> Value:
    """Return the words that `text.split()` gives, of which a mesh may be made."""
    only = sole(given[0][1]) if len(given) == 1 else None
    if len(text) > _LONGEST_SPLIT or (given and not (isinstance(only, Plain) and only.text)):
        return UNKNOWN
    words = text.split(only.text if isinstance(only, Plain) else None)
    return value(of_items(tuple(value(Plain(word)) for word in words), site))


def anonymous_outside(held: Value) -> Value:
    """Return a value in which the outermost containers are not known by their sites."""
    return frozenset(
        replace(atom, site=None) if isinstance(atom, Container) else atom for atom in held
    )


def with_item(container: Container, key: Key | None, held: Value) -> Container:
    """Return a container after `container[key] = held`; None: a key that is not known."""
    held = _unfolded(held, container.site)
    if isinstance(container, Mapping):
        known = dict(container.items)
        if key is not None and (key in known or len(known) < MAX_ITEMS):
            return container.with_item(key, held)
        element = _with_element(container.element, held)
        if key is not None:
            return (
                container if element == container.element else replace(container, element=element)
            )
        pairs = tuple((each, join(inner, held)) for each, inner in container.items)
        return replace(container, items=pairs, element=element)
    items = container.items
    if isinstance(key, str):
        # What takes a text for a key is a dict, whatever else was known of it.
        return Mapping(((key, held),), join(*(items or ()), container.element), container.site)
    if items is not None and isinstance(key, int) and -len(items) <= key < len(items):
        kept = list(items)
        kept[key] = held
        return replace(container, items=tuple(kept), element=join(*kept))
    return replace(container, items=None, element=join(*(items or ()), container.element, held))


def with_assigned(container: Container, key: Key | None, held: Value) -> Container:
    """Return a container after `container[key] = held`, which may be what a loop does to all."""
    committed = _all_committed(held)
    if committed and not has_item(container, key) and not _are_all(container, committed):
        # As a loop that commits every item does.
        return loosened(container)
    return with_item(container, key, held)


def _all_committed(held: Value) -> frozenset[Device | None]:
    """Return the devices of a value that is nothing but committed arrays, or trees of such."""
    leaves = [atom for leaf in leaves_of(held) for atom in leaf]
    found = {atom.device for atom in leaves if isinstance(atom, Array) and atom.committed}
    is_certain = all(isinstance(atom, Array) and atom.committed for atom in leaves)
    return frozenset(found) if is_certain else frozenset()


def _are_all(container: Container, devices: frozenset[Device | None]) -> bool:
    """Return whether a container holds nothing but arrays that are committed to these devices,
    and trees of such.
    """
    return all(
        (found := _all_committed(sure)) and found <= devices
        for part in container.parts()
        for leaf in leaves_of(part)
        if (sure := leaf - DOUBTFUL)
    )


def _unfolded(held: Value, site: Site | None) -> Value:
    """Return what a container of a site is to hold: a tree in the place of what it is in itself.

    A loop or a function that walks down a tree, and makes what is not there, has one expression
    for the dicts of all depths.
    """
    if site is None or not any(True for _ in of_site(held, site)):
        return held
    return frozenset(
        AnyTree(frozenset(arrays(value(atom))))
        if isinstance(atom, Container) and any(True for _ in of_site(value(atom), site))
        else atom
        for atom in held
    )


def _with_element(element: Value, held: Value) -> Value:
    """Return what items of unknown places are, of which one was set.

    Of what holds trees that are walked down to, it may be a leaf.
    """
    trees = [atom for atom in element if isinstance(atom, AnyTree) and not atom.cls]
    if not trees or not all(isinstance(atom, Array | AnyTree) for atom in held | element):
        return join(element, held)
    direct = frozenset(atom for atom in held | element if isinstance(atom, Array))
    inside = (atom.leaf for atom in held | element if isinstance(atom, AnyTree))
    return value(AnyTree(join(direct, *inside)))


def merged(container: Container, other: Value) -> Container:
    """Return a dict after `container.update(other)`; of another thing nothing is known."""
    every = [known for atom in other if (known := _as_mapping(atom)) is not None]
    if not every or len(every) < len(other):
        return overlaid(container)
    atom = every[0] if len(every) == 1 else _one_of(every, container)
    if atom.element:
        container = with_assigned(container, None, atom.element)
    items = dict(atom.items)
    ordered = [key for key in atom.order if key in items]
    for key in dict.fromkeys((*ordered, *items)):
        container = with_item(container, key, items[key])
    if isinstance(container, Mapping) and len(ordered) < len(items):
        return replace(container, order=())
    return container


def _as_mapping(atom: Atom) -> Mapping | None:
    """Return a dict; of a tree of unknown structure, the dict that it is for what merges it."""
    if isinstance(atom, AnyTree) and not atom.cls:
        return Mapping((), value(atom))
    return atom if isinstance(atom, Mapping) else None


def of_items(items: tuple[Value, ...], site: Site | None = None, *, written: int = 0) -> Sequence:
    """Return a list or tuple of items; of too many it is not known which is where.

    `written` of them are in its literal.
    """
    element = join(*items) if items else NOTHING
    is_known = len(items) <= max(MAX_ITEMS, written)
    return Sequence(items if is_known else None, element, site)


def _one_of(every: list[Mapping], container: Container) -> Mapping:
    """Return a dict that is one of several, which a container is merged with."""
    known = [dict(each.items) for each in every]
    before = dict(container.items) if isinstance(container, Mapping) else {}
    items: dict[Key, Value] = {}
    for key in {key: None for each in known for key in each}:
        held = [each[key] for each in known if key in each]
        if len(held) < len(known) and key in before:
            # Where it is not, what was there before stays.
            held.append(before[key])
        items[key] = join(*held)
    return Mapping(sorted_items(items.items()), join(*(each.element for each in every)))


def has_item(container: Container, key: Key | None) -> bool:
    """Return whether it is known which item a key is of, also where there is none yet."""
    if isinstance(container, Mapping):
        return key is not None
    count = len(container.items or ())
    return isinstance(key, int) and -count <= key < count


def with_more(
    container: Container, more: tuple[Value, ...] | None, element: Value, at: int | None
) -> Container:
    """Return a list after items were added; `more` None: an unknown number. `at`: before which one,
    -1 for the end, None where that is not known.
    """
    if isinstance(container, Mapping):
        return loosened(container)
    items = container.items
    if items is None or more is None or at is None or len(items) + len(more) > MAX_ITEMS:
        return replace(container, items=None, element=join(*container.parts(), element))
    kept = (*items, *more) if at < 0 else (*items[:at], *more, *items[at:])
    return replace(container, items=kept, element=join(*kept) if kept else container.element)


def without_item(container: Container, key: Key | None, *, reverse: bool = False) -> Container:
    """Return a container after an item was taken out, or all were put in another order.

    `key`: of the item, where it is known; `reverse`: none was taken out.
    """
    if isinstance(container, Sequence):
        items = container.items
        if items and reverse:
            return replace(container, items=items[::-1])
        if items and isinstance(key, int) and -len(items) <= key < len(items):
            at = key % len(items)
            kept = (*items[:at], *items[at + 1 :])
            return replace(container, items=kept, element=join(*kept) if kept else NOTHING)
        return replace(container, items=None, element=join(*container.parts()))
    if key is not None:
        return replace(container, items=tuple(i for i in container.items if i[0] != key))
    return replace(container, items=(), element=join(*container.parts()))


def emptied(container: Container) -> Container:
    if isinstance(container, Sequence):
        return replace(container, items=(), element=NOTHING)
    return replace(container, items=(), element=NOTHING)


def loosened(container: Container) -> Container:
    """Return a container of which only is known that there is one."""
    if isinstance(container, Sequence):
        return replace(container, items=None, element=UNKNOWN)
    return replace(container, items=(), element=UNKNOWN)


def unsure(container: Container) -> Container:
    """Return a container that something may have changed: what it held, most likely."""
    return _with_other(container, DOUBTFUL)


def overlaid(container: Container) -> Container:
    """Return a container of which some items, nobody knows which, have become other things."""
    return _with_other(container, UNKNOWN)


def _with_other(container: Container, other: Value) -> Container:
    def more(held: Value) -> Value:
        return join(held, other) if held else UNKNOWN

    if isinstance(container, Sequence):
        every = join(*(container.items or ()), container.element)
        return replace(container, items=None, element=more(every))
    items = tuple((key, more(held)) for key, held in container.items)
    return replace(container, items=items, element=more(container.element))


def with_items_of(container: Container, inner: AbstractSet[Site], held: Value) -> Container:
    """Return a container whose items that are containers of some sites have become others."""
    return _with_parts(
        container,
        lambda part: (
            held
            if part and all(isinstance(a, Container) and a.site in inner for a in part)
            else part
        ),
    )


def _with_parts(container: Container, change: Callable[[Value], Value]) -> Container:
    """Return a container with every part changed; itself where none is."""
    if isinstance(container, Sequence):
        items = container.items and tuple(change(item) for item in container.items)
        element = change(container.element)
        same = element is container.element and all(
            new is old for new, old in zip(items or (), container.items or (), strict=True)
        )
        return container if same else replace(container, items=items, element=element)
    pairs = tuple((key, change(held)) for key, held in container.items)
    element = change(container.element)
    same = element is container.element and all(
        new is old for (_, new), (_, old) in zip(pairs, container.items, strict=True)
    )
    return container if same else replace(container, items=pairs, element=element)


def _resited(held: Value, rename: Callable[[Site], Site | None], depth: int = MAX_DEPTH) -> Value:
    """Return a value with the site of every container renamed."""
    if not is_container(held):
        return held
    atoms: list[Atom] = []
    touched = False
    for atom in held:
        new: Atom = atom
        if isinstance(atom, Container):
            inner = _with_parts(atom, lambda p: _resited(p, rename, depth - 1)) if depth else atom
            site = None if atom.site is None else rename(atom.site)
            new = inner if site == atom.site else replace(inner, site=site)
            touched |= new is not atom
        atoms.append(new)
    return frozenset(atoms) if touched else held


def once(change: Change) -> Change:
    """Return a change that is worked out once for all variables that hold the same."""
    known: dict[Container, Container] = {}

    def changed_once(container: Container) -> Container:
        after = known.get(container)
        if after is None:
            known[container] = after = change(container)
        return after

    return changed_once


def forget(held: Value, state: State, containers: Containers, change: Change) -> None:
    """Change every container in a value, under each variable that holds it, as may have been."""
    change = once(change)
    for site in set(sites(held)):
        held_by = {key: state.variables.get(key) for key in containers.holders(site)}
        for key, after in changed_holders(held_by, site, change, surely=True):
            state.variables[key] = after
