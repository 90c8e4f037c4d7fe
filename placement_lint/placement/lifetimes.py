"""Lifetimes: what becomes of an array after an expression of the program has made it.

As for journeys, nothing is recorded for them while the program is executed. For an array that a
rule asks about, its uses are searched forwards, through the expressions that held it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from placement_lint.placement.domain.contents import arrays, function_place
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.program_values import Class, Function, Instance
from placement_lint.placement.domain.values import (
    NOTHING,
    Array,
    Closure,
    Computation,
    Mapping,
    Method,
    NamedTupleType,
    Partial,
    Sequence,
)
from placement_lint.placement.journeys import functions_called
from placement_lint.syntax.collection_methods import COPYING, STORING
from placement_lint.syntax.definitions import assigned_by, class_of_receiver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module

_MOST_VISITED = 400
"""Expressions that the search for the uses of one array visits: beyond them, they are not known."""
_MOST_STARTS = 32
"""Calls of the functions that hand on one array."""
_DESCRIBING = frozenset({"dtype", "ndim", "shape", "size"})
"""Attributes of an array that are known without its numbers."""
_LOOKING = frozenset({
    "builtins.id", "builtins.isinstance", "builtins.len", "builtins.type",
})  # fmt: skip
"""Functions that do not read the numbers of an array, nor keep it."""
_REGROUPING = frozenset({
    "builtins.dict", "builtins.enumerate", "builtins.reversed", "builtins.zip",
    "dataclasses.replace",
}) | COPYING  # fmt: skip
"""Functions that give what they are given, in other containers."""
_VIEWING = frozenset({"copy", "get", "items", "keys", "pop", "popitem", "values"})
"""Methods of containers that give what is in them."""
_CONTAINERS = (Mapping, Sequence)


_Key: TypeAlias = "Place | tuple[Place, Place]"
"""What made an array; or the class of an object, and the call that made it."""


class Lifetime(NamedTuple):
    """What becomes of each array that one expression gives."""

    start: Place
    """What makes it, or the call of a function that does nothing but make and return it."""
    held: frozenset[Place]
    """The expressions that are, or hold, the array."""
    uses: frozenset[Place]
    """Those of them that are neither bound to a name, nor kept in a container or an object, nor
    passed to code of the program: what reads the array, or takes it to where it is not seen."""


class Lifetimes:
    """Finds what becomes of arrays in a program that was executed."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._known: dict[Place, list[Lifetime]] = {}

    def of(self, made: Place) -> list[Lifetime]:
        """Return the lifetimes of the arrays that an expression makes, while they are not put.

        One for each call of a function that makes an array and returns it; nothing for those of
        which it is not known where they go.
        """
        if made not in self._known:
            self._known[made] = self._all_of(made)
        return self._known[made]

    def _all_of(self, made: Place) -> list[Lifetime]:
        found: list[Lifetime] = []
        pending, seen = [made], {made}
        while pending:
            search = _Search(self._program, self, made)
            ended = search.run(pending.pop())
            if ended is None:
                continue
            if isinstance(ended, Lifetime):
                found.append(ended)
                continue
            for call in ended:
                if call not in seen:
                    seen.add(call)
                    pending.append(call)
            if len(seen) > _MOST_STARTS:
                return []
        return found

    # -- what holds what, found once --------------------------------------------------------------

    @functools.cached_property
    def holding(self) -> dict[_Key, list[Place]]:
        """For what made an array, and each object that holds some: the expressions that are it, or
        hold it.
        """
        found: dict[_Key, list[Place]] = {}
        known: dict[int, frozenset[_Key]] = {}
        for module in self._program.modules.values():
            for node, held in sorted(module.record.values.items()):
                if id(held) not in known:
                    known[id(held)] = frozenset(_held_in(held))
                for each in known[id(held)]:
                    found.setdefault(each, []).append(module.place(module.tree.nodes[node]))
        return found

    @functools.cached_property
    def owners(self) -> dict[_Key, set[tuple[_Key, str]]]:
        """For what made an array, and each object: the attributes that hold it."""
        found: dict[_Key, set[tuple[_Key, str]]] = {}
        for (owner, name), held in self._program.now.final.items():
            if isinstance(owner, Instance):
                for each in _held_in(held):
                    found.setdefault(each, set()).add((_object(owner), name))
        return found

    @functools.cached_property
    def unseen(self) -> dict[str, list[tuple[Module, cst.Name | cst.Attribute]]]:
        """For each name: where something of it is read that no execution has come by."""
        found: dict[str, list[tuple[Module, cst.Name | cst.Attribute]]] = {}
        for module in self._program.modules.values():
            values = module.record.values
            for node in module.tree.every(cst.Name, cst.Attribute):
                if module.tree.index(node) not in values:
                    text = node.attr.value if isinstance(node, cst.Attribute) else node.value
                    found.setdefault(text, []).append((module, node))
        return found


class _Search:
    """The search for the uses of what one expression gives."""

    def __init__(self, program: Interpreter, lifetimes: Lifetimes, made: Place) -> None:
        self._program = program
        self._lifetimes = lifetimes
        self._made = made
        self._keys: set[_Key] = {made}
        self._visited: set[Place] = set()
        self._pending: list[Place] = []
        self._uses: set[Place] = set()
        self._exits: set[tuple[Place, Place]] = set()
        """The functions that return it, each with the expression that it returns."""
        self._is_kept = False
        """It is in a container or an object that other expressions may hold, too."""
        self._is_lost = False

    def run(self, start: Place) -> Lifetime | list[Place] | None:
        """Return what becomes of what an expression gives, or the calls that give it instead.

        None: it is not known.
        """
        self._push(start)
        own = self._function_around(start)
        while self._drain():
            ended = self._exits - {each for each in self._exits if each[0] == own}
            if not ended and self._exits and not self._is_kept and not self._uses:
                return [] if own is None else [*self._calls_of(own)]
            ended = ended or self._exits
            if not ended:
                return Lifetime(start, frozenset(self._visited), frozenset(self._uses))
            self._exits = self._exits - ended
            for function, _ in ended:
                calls = [*self._calls_of(function)]
                self._push_all(calls)
                # Who calls it is not known.
                self._is_lost |= not calls
        return None

    def _function_around(self, place: Place) -> Place | None:
        module = self._module(place)
        node = module.tree.nodes[place.node]
        around = module.tree.ancestors(node)
        functions = (each for each in around if isinstance(each, cst.FunctionDef | cst.Lambda))
        function = next(functions, None)
        return None if function is None else module.place(function)

    def _drain(self) -> bool:
        """Visit what is to be visited; False: it is not known what becomes of the array."""
        while self._pending and not self._is_lost:
            if len(self._visited) > _MOST_VISITED:
                return False
            self._visit(self._pending.pop())
        return not self._is_lost

    def _push(self, place: Place) -> None:
        if place not in self._visited:
            self._visited.add(place)
            self._pending.append(place)

    def _push_all(self, places: Iterable[Place]) -> None:
        for place in places:
            self._push(place)

    def _module(self, place: Place) -> Module:
        return self._program.modules[place.module]

    def _value(self, node: cst.CSTNode, module: Module) -> Value:
        return module.record.values.get(module.tree.index(node), NOTHING)

    def _calls_of(self, function: Place) -> Iterator[Place]:
        """Yield the calls of a function that give the array."""
        for key in self._keys:
            for place in self._lifetimes.holding.get(key, ()):
                module = self._module(place)
                node = module.tree.nodes[place.node]
                if isinstance(node, cst.Call) and function in functions_called(
                    self._value(node.func, module)
                ):
                    yield place

    # -- one step ---------------------------------------------------------------------------------

    def _visit(self, place: Place) -> None:
        """Follow an expression that is the array, or holds it, to what is done with it."""
        module = self._module(place)
        node = module.tree.nodes[place.node]
        parent = module.tree.parent(node)
        if assigned_by(node, module.tree) is not None and not _is_value_of(node, parent):
            return
        if isinstance(parent, cst.Arg):
            self._visit_argument(place, node, parent, module)
        elif isinstance(parent, cst.Attribute):
            self._visit_attribute(place, node, parent, module)
        elif isinstance(parent, cst.Assign | cst.AnnAssign | cst.NamedExpr):
            self._visit_assignment(parent, module)
        elif isinstance(parent, cst.Return | cst.Lambda):
            self._visit_exit(place, parent, module)
        elif isinstance(parent, cst.Element | cst.DictElement | cst.StarredElement):
            around = module.tree.parent(parent)
            if around is not None:
                self._push(module.place(around))
        elif isinstance(parent, cst.ListComp | cst.DictComp) or (
            isinstance(parent, cst.IfExp) and parent.test is not node
        ):
            self._push(module.place(parent))
        elif isinstance(parent, cst.For | cst.CompFor) and parent.iter is node:
            self._visit_unpacked(place, node, parent.target, module)
        elif isinstance(parent, cst.Subscript) and parent.value is node:
            self._visit_item(place, node, parent, module)
        elif isinstance(parent, cst.Call):
            self._visit_called(place, node, module)
        elif not isinstance(parent, cst.Expr | cst.Del) and not _is_compared(parent):
            self._use(place)

    def _use(self, place: Place) -> None:
        """Note a use, but of an object in which the array is no longer, as far as that is known."""
        tree = self._module(place).record.trees.get(place.node)
        if tree is None or self._made in _held_in(tree):
            self._uses.add(place)

    def _visit_argument(
        self, place: Place, node: cst.CSTNode, argument: cst.Arg, module: Module
    ) -> None:
        call = module.tree.parent(argument)
        if not isinstance(call, cst.Call):
            return
        held = self._value(call.func, module)
        name = module.names.qualified(call.func)
        if name in _LOOKING:
            return
        if name in _REGROUPING and not self._is_array(node, module):
            self._push_held(module.place(call))
        elif _is_storing(call, held, self._value(_receiver(call), module)):
            self._store_in(_receiver(call), module)
        elif held and all(isinstance(atom, _of_program()) for atom in held):
            self._enter(place, held, self._value(call, module))
        else:
            self._use(place)

    def _enter(self, place: Place, held: Value, made: Value) -> None:
        """Follow what is passed to functions of the program, and to classes, which make objects."""
        for atom in held:
            if isinstance(atom, Class | NamedTupleType):
                self._keep(made)
            function = self._entered(atom)
            if function is not None:
                inside = [*self._inside(function)]
                if not inside:
                    # It was executed for other arguments in its place, or does not read it.
                    self._use(place)
                self._push_all(inside)

    def _entered(self, atom: Atom) -> Place | None:
        """Return the function that calling something of the program runs."""
        if isinstance(atom, Class):
            return self._program.classes.method(atom.place, "__init__")
        return atom.function if isinstance(atom, Closure) else function_place(atom)

    def _inside(self, function: Place) -> Iterator[Place]:
        """Yield where the parameters of a function that hold the array are read."""
        module = self._module(function)
        node = module.tree.nodes[function.node]
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            return
        scope = module.names.scope(node.body)
        for parameter in module.tree.every(cst.Param, below=node.params):
            for use in module.names.uses(parameter.name.value, scope):
                if _is_no_read(use, module):
                    continue
                place = module.place(use)
                # Traced code may read it.
                self._is_lost |= place.node not in module.record.values
                held = module.record.values.get(place.node, NOTHING)
                if not self._keys.isdisjoint(_held_in(held)):
                    yield place

    def _visit_attribute(
        self, place: Place, node: cst.CSTNode, read: cst.Attribute, module: Module
    ) -> None:
        if self._is_array(node, module):
            call = module.tree.parent(read)
            if read.attr.value not in _DESCRIBING and not (
                isinstance(call, cst.Call) and self._push_held(module.place(call))
            ):
                self._use(place)
            return
        # What it gives is looked at by itself, where it holds the array.
        around = module.tree.parent(read)
        is_called = isinstance(around, cst.Call) and around.func is read
        if isinstance(around, cst.Call) and is_called and self._is_container(node, module):
            if read.attr.value in _VIEWING:
                self._push_held(module.place(around))
            elif read.attr.value not in STORING:
                self._use(place)
        else:
            self._push_held(module.place(read))

    def _visit_called(self, place: Place, function: cst.CSTNode, module: Module) -> None:
        """Follow what a function that is called holds: a method its object."""
        held = self._value(function, module)
        if not held or not all(isinstance(atom, _of_program()) for atom in held):
            self._use(place)

    def _visit_item(
        self, place: Place, node: cst.CSTNode, taken: cst.Subscript, module: Module
    ) -> None:
        if self._is_container(node, module):
            self._push_held(module.place(taken))
        else:
            self._use(place)

    def _visit_assignment(
        self, statement: cst.Assign | cst.AnnAssign | cst.NamedExpr, module: Module
    ) -> None:
        targets = [statement.target] if not isinstance(statement, cst.Assign) else [
            each.target for each in statement.targets
        ]  # fmt: skip
        if isinstance(statement, cst.NamedExpr):
            self._push(module.place(statement))
        for target in targets:
            self._bind(target, module)

    def _visit_unpacked(
        self, place: Place, node: cst.CSTNode, target: cst.BaseExpression, module: Module
    ) -> None:
        if self._is_array(node, module):
            self._use(place)
        else:
            self._bind(target, module)

    def _visit_exit(self, place: Place, node: cst.Return | cst.Lambda, module: Module) -> None:
        function: cst.CSTNode | None = node
        if isinstance(node, cst.Return):
            function = module.tree.around(node, cst.FunctionDef)
        is_plain = isinstance(function, cst.Lambda) or (
            isinstance(function, cst.FunctionDef)
            and function.asynchronous is None
            and all(
                isinstance(each.decorator, cst.Name)
                and each.decorator.value in {"classmethod", "staticmethod"}
                for each in function.decorators
            )
        )
        if function is None or not is_plain:
            self._is_lost = True
        else:
            self._exits.add((module.place(function), place))

    # -- where it is kept -------------------------------------------------------------------------

    def _bind(self, target: cst.BaseExpression, module: Module) -> None:
        """Follow what is assigned to a target to where it is read."""
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value, module)
        elif isinstance(target, cst.Name):
            self._follow_name(target, module)
        elif isinstance(target, cst.Attribute):
            held = self._value(target.value, module)
            if held and all(isinstance(atom, Instance) for atom in held):
                self._keep(held)
            else:
                self._is_lost = True
        elif isinstance(target, cst.Subscript):
            self._store_in(target.value, module)
        else:
            self._is_lost = True

    def _store_in(self, container: cst.CSTNode, module: Module) -> None:
        if self._is_container(container, module) and not self._outlives_call(container, module):
            self._keep()
        else:
            self._is_lost = True

    def _outlives_call(self, container: cst.CSTNode, module: Module) -> bool:
        """Return whether a container that a function fills is there before any call of it: it was
        made at the top of a module, or as the default of a parameter.
        """
        if module.tree.around(container, cst.FunctionDef) is None:
            return False
        for atom in self._value(container, module):
            if isinstance(atom, Mapping | Sequence) and atom.site:
                made = self._module(atom.site[0])
                node = made.tree.nodes[atom.site[0].node]
                function = made.tree.around(node, cst.FunctionDef)
                if function is None or made.tree.is_inside(node, function.params):
                    return True
        return False

    def _keep(self, owners: Value = NOTHING) -> None:
        """Follow all that holds the array: other names may stand for what it is kept in.

        `owners`: the objects in which it is kept.
        """
        pending: list[_Key] = [] if self._is_kept else [self._made]
        pending += [_object(atom) for atom in owners if isinstance(atom, Instance)]
        self._is_kept = True
        while pending:
            key = pending.pop()
            if key in self._keys and key != self._made:
                continue
            self._keys.add(key)
            self._push_all(self._lifetimes.holding.get(key, ()))
            for owner, name in self._lifetimes.owners.get(key, ()):
                pending.append(owner)
                if self._may_be_read_unseen(name) or self._stays_in(owner, name):
                    self._is_lost = True

    def _stays_in(self, owner: _Key, name: str) -> bool:
        """Return whether what an object holds in the end is its state: it is no field of a record,
        which is what that was made of, but of an object that others come back to.
        """
        cls = owner[0]
        fields = self._program.classes.fields(cls) if isinstance(cls, Place) else None
        return name not in {each for each, _ in fields or ()}

    def _may_be_read_unseen(self, name: str) -> bool:
        """Return whether code that was not executed may read an attribute of an object itself."""
        return any(
            isinstance(node, cst.Attribute)
            and assigned_by(node, module.tree) is None
            and class_of_receiver(node.value, module.names) is not None
            for module, node in self._lifetimes.unseen.get(name, ())
        )

    def _follow_name(self, target: cst.Name, module: Module) -> None:
        """Follow a variable to where it is read, in its file and in others."""
        scope = module.names.scope(target)
        for use in module.names.uses(target.value, scope):
            if _is_no_read(use, module):
                continue
            if isinstance(module.tree.parent(use), cst.AugAssign):
                self._uses.add(module.place(use))
                continue
            if module.tree.index(use) not in module.record.values:
                # Traced code may read it.
                self._is_lost = True
                return
            self._push_held(module.place(use))
        if module.names.owner(target.value, scope) is module.names.module_scope:
            self._follow_import(target.value, module)

    def _follow_import(self, name: str, module: Module) -> None:
        """Follow a variable of a module to where other files read it."""
        wanted = (module.name, name)
        for there, node in self._lifetimes.unseen.get(name, ()):
            if there is module or _is_no_read(node, there):
                continue
            qualified = there.names.qualified(node)
            if qualified and self._program.linking.find(there.name, qualified) == wanted:
                self._is_lost = True
                return
        for place in self._lifetimes.holding.get(self._made, ()):
            if place.module != module.name:
                self._push(place)

    def _push_held(self, place: Place) -> bool:
        """Follow an expression, and return true, if it holds the array: as what a method gives that
        may be the array itself.
        """
        held = self._module(place).record.values.get(place.node, NOTHING)
        if self._keys.isdisjoint(_held_in(held)):
            return False
        self._push(place)
        return True

    def _is_array(self, node: cst.CSTNode, module: Module) -> bool:
        return any(isinstance(atom, Array) for atom in self._value(node, module))

    def _is_container(self, node: cst.CSTNode, module: Module) -> bool:
        held = self._value(node, module)
        return bool(held) and all(isinstance(atom, _CONTAINERS) for atom in held)


@functools.cache
def _of_program() -> tuple[type[Atom], ...]:
    """Return what the program defines that is followed when it is called."""
    return (Class, Closure, Function, Method, NamedTupleType)


def _held_in(held: Value) -> Iterator[_Key]:
    """Yield what made the arrays in a value that are not put, and the objects in it."""
    for array in arrays(held):
        if array.origin is not None and not array.committed:
            yield array.origin.created
    for atom in held:
        if isinstance(atom, Instance):
            yield _object(atom)
        elif isinstance(atom, Mapping | Sequence):
            for part in atom.parts():
                yield from _objects_in(part)
        else:
            for part in _bound_in(atom):
                yield from _held_in(part)


def _objects_in(held: Value) -> Iterator[_Key]:
    """Yield the objects in a value, and in its containers."""
    for atom in held:
        if isinstance(atom, Instance):
            yield _object(atom)
        elif isinstance(atom, Mapping | Sequence):
            for part in atom.parts():
                yield from _objects_in(part)


def _object(owner: Instance) -> _Key:
    """Return what an object is known by: functions may have handed it on, or changed its fields."""
    return owner.cls, owner.site


def _bound_in(atom: Atom) -> Iterator[Value]:
    """Yield what a function holds: the object of a method, the arguments of a partial."""
    if isinstance(atom, Method):
        yield frozenset({atom.receiver})
    elif isinstance(atom, Closure):
        yield atom.receiver
        yield from (held for _, held in atom.closed)
    elif isinstance(atom, Partial):
        yield frozenset({atom.function})
        yield from atom.positional
        yield from (held for _, held in atom.keywords)
    elif isinstance(atom, Computation):
        yield from atom.bound
        yield from (held for _, held in atom.bound_by_name)
        yield atom.of


def _receiver(call: cst.Call) -> cst.BaseExpression:
    return call.func.value if isinstance(call.func, cst.Attribute) else call.func


def _is_storing(call: cst.Call, held: Value, receiver: Value) -> bool:
    """Return whether a call is of a method that stores what it is given in a container."""
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in STORING
        and not any(isinstance(atom, _of_program()) for atom in held)
        and any(isinstance(atom, _CONTAINERS) for atom in receiver)
    )


def _is_value_of(node: cst.CSTNode, parent: cst.CSTNode | None) -> bool:
    """Return whether an expression is what a statement assigns, and no target of it."""
    return isinstance(parent, cst.Assign | cst.AnnAssign | cst.NamedExpr) and parent.value is node


def _is_compared(parent: cst.CSTNode | None) -> bool:
    """Return whether an expression is only asked whether it is None, or another object."""
    return isinstance(parent, cst.Comparison) and all(
        isinstance(each.operator, cst.Is | cst.IsNot) for each in parent.comparisons
    )


def _is_no_read(use: cst.Name | cst.Attribute, module: Module) -> bool:
    """Return whether a name is a target, a keyword, or the last part of an attribute."""
    parent = module.tree.parent(use)
    if isinstance(parent, cst.Arg):
        return parent.keyword is use
    if isinstance(parent, cst.Attribute):
        return parent.attr is use
    if isinstance(parent, cst.Del | cst.ImportAlias | cst.AsName | cst.Param):
        return True
    if isinstance(parent, cst.AugAssign):
        return False
    return assigned_by(use, module.tree) is not None and not _is_value_of(use, parent)
