"""`super().method(…)`: the method that a class has of its bases."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.libraries import method_of
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.state import variable
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    LibraryMethod,
    Method,
    Plain,
    Value,
    join,
    sole,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.instantiation import Instantiation
from placement_lint.placement.facts.decorators import is_property

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom


_Way: TypeAlias = "tuple[Value, list[Place]]"
"""Some objects of a call of `super()`, and the classes where their method is looked for."""
_MOST_WAYS = 8
"""Different methods that one `super()` may be, by the classes of its objects."""


class SuperCalls(Instantiation):
    """Calls the methods that classes of the program have of their bases."""

    def super_method(self, node: cst.Call, name: str, state: State) -> Value:
        """`super().method(…)`: the same object, the method of the next class."""
        passed = self.passed(node, state)
        ways = self._ways(node, name, state)
        if len(ways) > _MOST_WAYS:
            return UNKNOWN
        found = [self._called_next(node, name, way, passed, state) for way in ways]
        return found[0] if len(found) == 1 else join(*found)

    def _called_next(
        self, node: cst.Call, name: str, way: _Way, passed: CallArguments, state: State
    ) -> Value:
        receivers, after = way
        method = self._first_method(after, name)
        known = frozenset(atom for atom in receivers if isinstance(atom, Instance | Class))
        if method is None and name == "__init__" and self._fields_set(known, after, passed, state):
            return NONE
        if method is None and name == "__setattr__" and len(passed.positional) == 2:
            self._attribute_set(receivers, passed, state)
            return NONE
        if method is None and name == "__new__" and passed.positional:
            return self.new_objects(node, passed.positional[0], state)
        if method is None and name == "__call__" and known and known == receivers:
            # Of a class, it is that of its metaclass.
            made = self.instances(node, known, passed, state)
            if made is not None:
                return made
        if method is None and name == "__getattribute__" and len(passed.positional) == 1:
            key = sole(passed.positional[0])
            asked = key.text if isinstance(key, Plain) else None
            classes = self.on.program.classes
            return UNKNOWN if asked is None else classes.attribute(known, asked, state)
        if method is None:
            return self._library_super(node, name, known, passed, state)
        if not known:
            return UNKNOWN
        # Once for all of them: each of the methods in a row would otherwise double the calls.
        found = self._method_called(method, known, passed, state)
        return found if known == receivers else found | UNKNOWN

    def super_attribute(self, node: cst.Call, name: str, state: State) -> Value:
        """Read `super().name`: a property, or a method that is bound to the same object."""
        program = self.on.program
        found: list[Value] = []
        for receivers, after in self._ways(node, name, state):
            method = self._first_method(after, name)
            known = {atom for atom in receivers if isinstance(atom, Instance)}
            if method is None or known != receivers or not known:
                return UNKNOWN
            module, function = program.module_of(method), program.node(method)
            if isinstance(function, cst.FunctionDef) and is_property(module, function):
                given = CallArguments([])
                found.append(self._method_called(method, frozenset(known), given, state))
            else:
                found.append(frozenset(Method(method, atom) for atom in known))
        return join(*found) if found else UNKNOWN

    def _ways(self, node: cst.Call, name: str, state: State) -> list[_Way]:
        """Return the objects of `super().name`, by which classes have their next method.

        Of a class that is mixed in these are the other bases of the object's own class.
        """
        receivers, around = self._of_super(node, state)
        if around is None or not receivers:
            return [(receivers, [])]
        ways: dict[Place | None, tuple[set[Atom], list[Place]]] = {}
        for atom in in_order(receivers):
            after = self._after(around, atom)
            ways.setdefault(self._first_method(after, name), (set(), after))[0].add(atom)
        return [(frozenset(atoms), after) for atoms, after in ways.values()]

    def _after(self, around: Place, atom: Atom) -> list[Place]:
        """Return the classes where the method of an object is looked for after a class of its."""
        bases = self.on.program.classes.bases
        own = atom.cls if isinstance(atom, Instance) else None
        order = bases(atom.place if isinstance(atom, Class) else own or around)
        if around not in order:
            order = bases(around)
        return order[order.index(around) + 1 :]

    def _of_super(self, node: cst.Call, state: State) -> tuple[Value, Place | None]:
        """Return the object of the method around `super()`, and the class around that."""
        function: cst.FunctionDef | None = None
        for ancestor in self.on.tree.ancestors(node):
            if isinstance(ancestor, cst.FunctionDef):
                function = ancestor
            elif isinstance(ancestor, cst.ClassDef):
                break
        else:
            return UNKNOWN, None
        if function is None or not function.params.params:
            return UNKNOWN, None
        scope = self.names.scope(function.body)
        first = function.params.params[0].name.value
        receivers = state.variables.get(variable(scope, first)) or UNKNOWN
        return receivers, self.on.module.place(ancestor)

    def _first_method(self, classes: list[Place], name: str) -> Place | None:
        found = (self.on.program.classes.method(each, name) for each in classes)
        return next((each for each in found if each is not None), None)

    def _attribute_set(self, receivers: Value, passed: CallArguments, state: State) -> None:
        """`super().__setattr__(name, new)`, which sets the attribute itself."""
        key = sole(passed.positional[0])
        name = key.text if isinstance(key, Plain) else None
        for atom in receivers:
            if isinstance(atom, Instance) and name is not None:
                surely = len(receivers) == 1
                self.on.targets.set_attribute(
                    atom, name, passed.positional[1], state, surely=surely, is_plain=True
                )
        if name is None:
            self.on.attribute_dicts.set(receivers, None, passed.positional[1], state)

    def _fields_set(
        self, receivers: Value, after: list[Place], passed: CallArguments, state: State
    ) -> bool:
        """Set what a base's own initializer sets: the fields of a dataclass, items of a dict.

        Return whether there is such a base.
        """
        classes = self.on.program.classes
        fields = next((each for each in map(classes.fields, after) if each is not None), None)
        objects = [atom for atom in receivers if isinstance(atom, Instance)]
        are_collections = [atom for atom in objects if classes.collections.kind(atom.cls)]
        if fields is not None:
            for instance in in_order(objects):
                self._set_fields(instance, fields, passed, state)
        else:
            for instance in in_order(are_collections):
                classes.collections.initialize(instance, passed, state)
        return bool(objects if fields is not None else are_collections)

    def collections_of_super(self, node: cst.Call, name: str, state: State) -> frozenset[Instance]:
        """Return the objects of which `super().name(…)` is the method of `dict` or `list`."""
        ways = self._ways(node, name, state)
        if any(self._first_method(after, name) is not None for _, after in ways):
            return frozenset()
        receivers = NOTHING.union(*(atoms for atoms, _ in ways))
        kind = self.on.program.classes.collections.kind
        found = frozenset(a for a in receivers if isinstance(a, Instance) and kind(a.cls))
        return found if len(found) == len(receivers) else frozenset()

    def _library_super(
        self, node: cst.Call, name: str, receivers: Value, passed: CallArguments, state: State
    ) -> Value:
        """Call the method of the library that the class of an object derives from."""
        classes = self.on.program.classes
        found: list[Value] = []
        for atom in in_order(receivers):
            library = classes.library_class(atom.cls) if isinstance(atom, Instance) else None
            method = method_of(library or "", name)
            if method is None:
                return UNKNOWN
            called = LibraryMethod(method, atom)
            found.append(self.on.calls.library_method(node, called, passed, state))
        return join(*found)
