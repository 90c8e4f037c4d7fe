"""Classes of the program that derive from `dict` or `list`: what their objects hold as items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import merged, with_item, with_more
from placement_lint.placement.domain.contents import element_of, iterated_of
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import (
    ANYTHING,
    NOTHING,
    UNKNOWN,
    Atom,
    Container,
    Mapping,
    Sequence,
    Value,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.attribute_dicts import DICT

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Interpreter

_ITEMS = "[]"
"""The attribute in which the items are kept of what derives from a built-in class."""
_DATA = "data"
"""The attribute in which `collections.UserDict` and `collections.UserList` keep them."""
_DICT, _LIST = Mapping((), NOTHING), Sequence((), NOTHING)
_COLLECTIONS: dict[str, tuple[str, Container]] = {
    "builtins.dict": (_ITEMS, _DICT),
    "builtins.list": (_ITEMS, _LIST),
    "collections.OrderedDict": (_ITEMS, _DICT),
    "collections.UserDict": (_DATA, _DICT),
    "collections.UserList": (_DATA, _LIST),
    "collections.deque": (_ITEMS, _LIST),
    "typing.Dict": (_ITEMS, _DICT),
    "typing.List": (_ITEMS, _LIST),
    "typing.OrderedDict": (_ITEMS, _DICT),
}
"""What may be derived from: where its items are kept, and what a new one is."""
_ABSTRACT = frozenset(
    f"{module}.{name}"
    for module in ("collections.abc", "typing")
    for name in ("Mapping", "MutableMapping")
)
_OF_ABSTRACT = frozenset({"get", "items", "values"})
"""Methods that these have of `__getitem__` and `__iter__`."""
_TYPED_DICTS = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})
_READERS = frozenset({"builtins.dict.__getitem__", "builtins.dict.get"})
_SETTERS = frozenset({"builtins.dict.__setitem__"})


class CollectionClasses:
    """Keeps the items of objects whose classes derive from `dict` or `list`.

    They are an attribute of the object that the program cannot name. What a class defines itself
    goes before what it has of `dict` or `list`.
    """

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._known: dict[Place, tuple[str, Container] | None] = {}
        self._typed: dict[Place, bool] = {}
        self._abstract: dict[Place, bool] = {}
        self._aliases: dict[tuple[Place, frozenset[str]], bool] = {}

    def kind(self, cls: Place) -> tuple[str, Container] | None:
        """Return where objects of a class keep their items, and what they are at first.

        None for a class that derives from neither.
        """
        if cls not in self._known:
            self._known[cls] = self._kind_of(cls)
        return self._known[cls]

    def _kind_of(self, cls: Place) -> tuple[str, Container] | None:
        for place in self._program.classes.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            for base in node.bases if isinstance(node, cst.ClassDef) else ():
                named = base.value.value if isinstance(base.value, cst.Subscript) else base.value
                found = _COLLECTIONS.get(module.names.qualified(named) or "")
                if found is not None:
                    return found
        return None

    def typed_dict(self, cls: Place, passed: CallArguments) -> Container | None:
        """Return the dict that a call of a `TypedDict` makes; None for another class."""
        if not self._is_typed_dict(cls):
            return None
        given = passed.positional[0] if passed.positional else passed.rest or NOTHING
        return _filled(_DICT, given, passed)

    def _is_typed_dict(self, cls: Place) -> bool:
        if cls not in self._typed:
            names = self._program.classes.base_names(cls)
            self._typed[cls] = any(name in _TYPED_DICTS for name in names)
        return self._typed[cls]

    def make(self, instance: Instance, state: State, *, again: bool) -> None:
        """Bind the items of a new object, of which there are none yet."""
        kind = self.kind(instance.cls)
        if kind is not None:
            name, empty = kind
            site = (instance.site, instance.site)
            self._program.containers.made(site, again=again)
            self._program.objects.named_attribute(instance, name)
            self._program.bind((instance, name), value(replace(empty, site=site)), state)

    def inheriting(self, held: Value, method: str) -> frozenset[Instance]:
        """Return the objects of a value that have a method of `dict` or `list`, and no own one."""
        return frozenset(
            atom
            for atom in held
            if isinstance(atom, Instance)
            and self.kind(atom.cls) is not None
            and self._program.classes.method(atom.cls, method) is None
        )

    def making_missing(self, held: Value) -> frozenset[Instance]:
        """Return the dicts of a value that make the items which they do not have."""
        return frozenset(
            atom
            for atom in self.inheriting(held, "__getitem__")
            if isinstance((self.kind(atom.cls) or (_DATA, _LIST))[1], Mapping)
            and self._program.classes.method(atom.cls, "__missing__") is not None
        )

    def items(self, instances: frozenset[Instance], state: State) -> Value:
        """Return the lists and dicts that objects are."""
        found: list[Value] = []
        for instance in instances:
            kind = self.kind(instance.cls)
            held = None if kind is None else self._program.held((instance, kind[0]), state)
            found.append(held or UNKNOWN)
        return join(*found) if found else NOTHING

    def with_items(self, held: Value, method: str, state: State) -> Value:
        """Return a value with lists and dicts in the place of objects that inherit a method."""
        instances = self.inheriting(held, method)
        return (held - instances) | self.items(instances, state) if instances else held

    def as_dicts(self, held: Value, method: str, state: State) -> Value:
        """Return a value with dicts in the place of objects that have a method of an abstract one.

        Of `collections.abc.Mapping`, which makes it of the methods that the class must have.
        """
        if method not in _OF_ABSTRACT:
            return held
        abstract = frozenset(
            atom
            for atom in held
            if isinstance(atom, Instance)
            and self._is_abstract(atom.cls)
            and self._program.classes.method(atom.cls, method) is None
        )
        return (held - abstract).union(*(self._as_dict(each, state) for each in abstract))

    def _is_abstract(self, cls: Place) -> bool:
        """Return whether a class has the methods of `collections.abc.Mapping`."""
        if cls not in self._abstract:
            names = self._program.classes.base_names(cls)
            self._abstract[cls] = any(name in _ABSTRACT for name in names)
        return self._abstract[cls]

    def _as_dict(self, instance: Instance, state: State) -> Value:
        """Return the dict that an object is to the methods it has of `collections.abc.Mapping`."""
        getter = self._program.classes.method(instance.cls, "__getitem__")
        if getter is None:
            return UNKNOWN
        passed: dict[int | str, Value] = {0: value(instance), 1: UNKNOWN}
        return value(Mapping((), self._program.functions.call(getter, passed, state, bound=True)))

    def reads_items(self, instance: Instance, state: State) -> bool:
        """Return whether the items of an object are its attributes too.

        So they are after `self.__dict__ = self`, or by `__getattr__ = dict.__getitem__`.
        """
        return self._is_own_dict(instance, state) or self._has_alias(instance.cls, _READERS)

    def sets_items(self, instance: Instance, state: State) -> bool:
        """Return whether to set an attribute of an object sets an item of it."""
        return self._is_own_dict(instance, state) or self._has_alias(instance.cls, _SETTERS)

    def _is_own_dict(self, instance: Instance, state: State) -> bool:
        kind = self.kind(instance.cls)
        return kind is not None and self._program.held((instance, DICT), state) == value(instance)

    def _has_alias(self, cls: Place, functions: frozenset[str]) -> bool:
        """Return whether a class body assigns one of some functions of `dict` to a special name."""
        key = (cls, functions)
        if key not in self._aliases:
            found = False
            for place in self._program.classes.bases(cls) if self.kind(cls) else ():
                module, node = self._program.module_of(place), self._program.node(place)
                if not isinstance(node, cst.ClassDef):
                    continue
                name = "__getattr__" if functions is _READERS else "__setattr__"
                bindings = module.names.scope(node.body).bindings.get(name, [])
                named = (module.names.qualified(b.value) for b in bindings if b.value is not None)
                found |= any(each in functions for each in named)
            self._aliases[key] = found
        return self._aliases[key]

    def initialize(self, instance: Instance, passed: CallArguments, state: State) -> None:
        """`super().__init__(other, key=x)`: put in what a list or a dict is made of."""
        kind = self.kind(instance.cls)
        if kind is None:
            return
        key = (instance, kind[0])
        given = passed.positional[0] if passed.positional else passed.rest or NOTHING
        given = self._program.functions.consumed(given, state)
        held: set[Atom] = set()
        for atom in self._program.held(key, state) or NOTHING:
            held.add(_filled(atom, given, passed) if isinstance(atom, Container) else atom)
        self._program.bind(key, limited(frozenset(held)), state)


def _filled(container: Container, given: Value, passed: CallArguments) -> Container:
    if isinstance(container, Sequence):
        only = sole(given)
        items = only.items if isinstance(only, Sequence) else None
        element = iterated_of(given) or UNKNOWN
        return with_more(container, items, element, -1) if given else container
    if given and all(isinstance(atom, Mapping) for atom in given):
        container = merged(container, given)
    elif given:
        pair = iterated_of(given)
        container = with_item(container, None, element_of(pair, 1) or UNKNOWN)
    for name, held in passed.keywords.items():
        container = with_item(container, name, held)
    if passed.more is not None:
        container = with_item(container, None, passed.more or frozenset({ANYTHING}))
    return container
