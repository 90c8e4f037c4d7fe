"""Trees of arrays, as JAX sees them: containers, and objects of classes that are trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.libraries import array_attribute_of
from placement_lint.jaxmodel.libraries.flax import VARIABLE
from placement_lint.placement.domain.contents import MAX_DEPTH, arrays, map_atoms
from placement_lint.placement.domain.library_values import AbstractArray
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.sharding import Sharding, Spec
from placement_lint.placement.domain.values import (
    ANYTHING,
    NONE,
    NOTHING,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Computation,
    Container,
    Host,
    LibraryMethod,
    Mapping,
    Method,
    Partial,
    Plain,
    Sequence,
    Thread,
    join,
    limited,
    value,
)
from placement_lint.placement.engine.pytree_classes import Pytrees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.protocols import Interpreter

    Change: TypeAlias = Callable[[Value], Value]


class Trees:
    """Takes trees apart, and makes others of the same structure."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self.classes = Pytrees(program)

    def fields(self, instance: Instance, state: State) -> dict[str, Value]:
        """Return what the attributes of an object hold, by name."""
        found: dict[str, Value] = {}
        for name in self._program.objects.attribute_names(instance):
            held = self._program.held((instance, name), state)
            if held:
                found[name] = held
        return found

    def is_tree(self, instance: Instance) -> bool | None:
        """Return whether JAX takes an object apart; None where that is not known."""
        return self.classes.is_tree(instance.cls)

    def spread(self, held: Value, state: State, depth: int = MAX_DEPTH) -> Value:
        """Return a value in which a dict of its leaves is in the place of each object."""
        if not has_object(held):
            return held
        found: set[Atom] = set()
        for atom in held:
            if isinstance(atom, Instance):
                if depth and self.is_tree(atom):
                    found.add(self._spread(atom, state, depth - 1))
                else:
                    found.add(atom)
            elif isinstance(atom, Sequence) and depth:
                items = atom.items and tuple(self.spread(i, state, depth - 1) for i in atom.items)
                element = self.spread(atom.element, state, depth - 1)
                found.add(replace(atom, items=items, element=element))
            elif isinstance(atom, Mapping) and depth:
                pairs = tuple((key, self.spread(i, state, depth - 1)) for key, i in atom.items)
                found.add(Mapping(pairs, self.spread(atom.element, state, depth - 1)))
            else:
                found.add(atom)
        return limited(frozenset(found))

    def _spread(self, instance: Instance, state: State, depth: int) -> Mapping:
        static = self.classes.static_fields(instance.cls)
        pairs = [
            (name, self.spread(held, state, depth))
            for name, held in sorted(self.fields(instance, state).items())
            if name not in static
        ]
        return Mapping(tuple(pairs), NOTHING)

    def leaves(self, held: Value, state: State, depth: int = MAX_DEPTH) -> Iterator[Value]:
        """Yield the leaves of a tree: what it may be that is no container."""
        for atom in self.spread(held, state, depth):
            yield from _leaves(atom)

    def rebuilt(
        self,
        held: Value,
        change: Change,
        at: Place,
        state: State,
        *,
        is_given: bool = False,
        is_put: bool = False,
        into: State | None = None,
    ) -> Value:
        """Return a tree of the same structure with every leaf changed, as the call `at` gives it.

        Its objects are others than those of the first one; `into`: where they are made.
        `is_given`: JAX takes it, so that objects are trees of which that is not known. `is_put`: it
        would refuse any that is none.
        """
        rebuilding = _Rebuilding(self, change, at, state, into or state, is_given, is_put)
        return rebuilding.of(held, MAX_DEPTH)

    def make(self, made: Instance, fields: dict[str, Value], state: State) -> None:
        """Make an object that has these fields, besides those of its site that are in use."""
        self._program.objects.made(made)
        for name, held in fields.items():
            before = state.variables.get((made, name))
            new = held if before is None or before == held else join(before, held)
            self._program.bind((made, name), new, state)
            self._program.objects.named_attribute(made, name)


@dataclass
class _Rebuilding:
    """Makes one tree of another."""

    trees: Trees
    change: Change
    at: Place
    state: State
    into: State
    is_given: bool
    is_put: bool

    def of(self, held: Value, depth: int) -> Value:
        """Return what is made of a tree, or of a part of one."""
        found: set[Atom] = set()
        # It is one of them: apart, each would be taken for certain.
        arrays = frozenset(atom for atom in held if isinstance(atom, Array))
        others = held - arrays if arrays else held
        # In the same order at every run.
        for atom in in_order(others):
            if isinstance(atom, Container):
                found.add(self._container(atom, depth - 1) if depth else ANYTHING)
            elif isinstance(atom, AnyTree):
                found |= tree_like(atom, self.change(atom.leaf)) if atom.leaf else value(atom)
            elif isinstance(atom, Instance):
                found |= self._object(atom, depth)
            elif is_leaf(atom):
                found |= self.change(value(atom))
            else:
                found.add(atom)
        if arrays:
            found |= self.change(arrays)
        return limited(frozenset(found))

    def _container(self, atom: Container, depth: int) -> Atom:
        if isinstance(atom, Mapping):
            pairs = tuple((key, self.of(item, depth)) for key, item in atom.items)
            return Mapping(pairs, self.of(atom.element, depth))
        items = atom.items and tuple(self.of(item, depth) for item in atom.items)
        element = join(*items) if items else self.of(atom.element, depth)
        return replace(atom, items=items, element=element, site=None, views=None)

    def _object(self, instance: Instance, depth: int) -> Value:
        is_tree = self.is_put or self.trees.is_tree(instance)
        if is_tree is False:
            return self.change(value(instance))
        if not depth:
            return UNKNOWN
        static = self.trees.classes.static_fields(instance.cls)
        fields = {
            name: held if name in static else self.of(held, depth - 1)
            for name, held in self.trees.fields(instance, self.state).items()
        }
        made = Instance(instance.cls, instance.site, self.at, instance.nth)
        self.trees.make(made, fields, self.into)
        return value(made) if is_tree or self.is_given else value(made, ANYTHING)


def has_object(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Return whether an object of a class of the program is somewhere in a value."""
    return any(
        isinstance(atom, Instance)
        or (
            depth > 0
            and isinstance(atom, Container)
            and any(has_object(part, depth - 1) for part in atom.parts())
        )
        for atom in held
    )


def objects_in(held: Value, depth: int = MAX_DEPTH) -> Iterator[Instance]:
    """Yield the objects in a value and in its containers."""
    for atom in held:
        if isinstance(atom, Instance):
            yield atom
        elif depth and isinstance(atom, Container):
            for part in atom.parts():
                yield from objects_in(part, depth - 1)


def with_objects(held: Value, others: dict[Instance, Instance], depth: int = MAX_DEPTH) -> Value:
    """Return a value with other objects in the place of some, also where their methods are kept."""
    return map_atoms(held, lambda atom: _with_others(atom, others, depth), depth)


def _with_others(atom: Atom, others: dict[Instance, Instance], depth: int) -> Atom:
    if isinstance(atom, Instance):
        return others.get(atom, atom)
    if depth == 0:
        return atom
    inner = depth - 1
    if isinstance(atom, Method | LibraryMethod):
        receiver = _with_others(atom.receiver, others, inner)
        return atom if receiver == atom.receiver else replace(atom, receiver=receiver)
    if isinstance(atom, Thread):
        target = _with_others(atom.target, others, inner)
        return replace(atom, target=target) if isinstance(target, Partial) else atom
    if isinstance(atom, Partial):
        return replace(
            atom,
            function=_with_others(atom.function, others, inner),
            positional=tuple(with_objects(held, others, inner) for held in atom.positional),
            keywords=tuple((k, with_objects(held, others, inner)) for k, held in atom.keywords),
        )
    if isinstance(atom, Computation):
        return replace(
            atom,
            of=with_objects(atom.of, others, inner),
            bound=tuple(with_objects(held, others, inner) for held in atom.bound),
        )
    return atom


def tree_of(leaf: Value) -> Value:
    """Return a tree of unknown structure, of what each of its leaves may be."""
    found: set[Atom] = set()
    pending = [leaf]
    while pending:
        for atom in pending.pop():
            if isinstance(atom, Container):
                pending += atom.parts()
            elif isinstance(atom, AnyTree):
                pending.append(atom.leaf)
            elif isinstance(atom, External | Instance) or atom == ANYTHING:
                return UNKNOWN
            else:
                found.add(atom)
    return value(AnyTree(limited(frozenset(found)))) if found else UNKNOWN


def tree_like(tree: AnyTree, leaf: Value) -> Value:
    """Return a tree of another leaf, as far as is known of the same structure."""
    return frozenset(
        replace(tree, leaf=atom.leaf) if isinstance(atom, AnyTree) else atom
        for atom in tree_of(leaf)
    )


def named_tree_of(leaf: Value) -> Value:
    """Return parameters as libraries make them, of what each may be: dicts of names in dicts."""
    return tree_like(AnyTree(NOTHING, is_named=True), leaf)


def without_variables(held: Value) -> Value:
    """Return a value with the array that a variable of nnx holds in the place of the variable."""
    variables = [a for a in held if isinstance(a, AnyTree) and a.cls == VARIABLE and a.leaf]
    if not variables:
        return held
    return limited(held.difference(variables).union(*(each.leaf for each in variables)))


def array_of(tree: AnyTree, name: str) -> Value:
    """Return the array that an attribute of an object of a library is, or what holds it; nothing
    where that is not known.

    Of arrays in several places, it is not known which one it is.
    """
    cls = array_attribute_of(tree.cls, name)
    if cls is None:
        return NOTHING
    if tree.leaf and not are_in_one_place(tree.leaf):
        return UNKNOWN
    return value(AnyTree(tree.leaf, cls)) if cls and tree.leaf else tree.leaf


def are_in_one_place(leaves: Value) -> bool:
    """Return whether the arrays of a tree are all in the same place, whichever of them is meant."""
    return len({(array.device, array.committed) for array in arrays(leaves)}) == 1


def is_leaf(atom: Atom) -> bool:
    """Return whether a thing that is no container may be a leaf that is or becomes an array."""
    if isinstance(atom, Plain):
        return atom.text is None and atom.truth is None and atom.member is None
    return isinstance(atom, AbstractArray | Array | Host | Anything | External | Sharding | Spec)


def _leaves(atom: Atom) -> Iterator[Value]:
    if isinstance(atom, Sequence):
        parts = list(atom.items) if atom.items is not None else [atom.element]
    elif isinstance(atom, Mapping):
        parts = [*(held for _, held in atom.items), *([atom.element] if atom.element else [])]
    elif isinstance(atom, AnyTree):
        parts = []
        if atom.leaf:
            yield atom.leaf
    else:
        parts = []
        if atom not in NONE:
            yield value(atom)
    for part in parts:
        for inner in part:
            yield from _leaves(inner)
