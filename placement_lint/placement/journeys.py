"""Journeys: the way of an array from the expression that made it to the one that uses it.

Nothing is recorded for them while the program is executed. For a finding, the way is searched
backwards from the use, through what was recorded anyway: which expressions held the array.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.program_values import Class, Function, Instance
from placement_lint.placement.domain.values import (
    NOTHING,
    Closure,
    Computation,
    Coroutine,
    Future,
    Generator,
    Lazy,
    Method,
    Partial,
)
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.collection_methods import STORING
from placement_lint.syntax.definitions import class_of_receiver
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.names import BindingKind
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Binding

_MOST_PLACES = 1_000
"""Expressions that the search for one way visits: beyond them, the way is not known."""
_MOST_KNOWN = 32
"""Places of which is kept where each expression has their arrays from."""
_RUNNING_LATER = (Coroutine, Future, Generator, Lazy)


class JourneyStep(NamedTuple):
    """A place on the way of an array where it goes from one owner to another."""

    place: Place
    text: str


_Before: TypeAlias = "tuple[Place, JourneyStep | None]"
"""An expression that an array came from, and the step between, where that is worth a word."""


class Journeys:
    """Finds the ways of arrays through a program that was executed."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._holders: frozenset[Instance] = frozenset()
        """The objects that are followed as if they were the array which they hold."""
        self._known: dict[tuple[Place, frozenset[Instance]], dict[Place, list[_Before]]] = {}
        """Where what was made at a place came from, of each expression that was on a way: the ways
        of one array to its uses have most of them in common."""

    def of(self, made: Place, use: Place) -> list[JourneyStep] | None:
        """Return the steps from the expression that made or committed an array to a use of it.

        In the order of the way, of the shortest one; without the two ends. None: it is not known.
        An object that holds the array is followed, if its way is known.
        """
        if made.module not in self._program.modules:
            return None
        self._holders = self._holding(made)
        found = self._shortest(made, use) if self._holders else None
        self._holders = frozenset()
        return found if found is not None else self._shortest(made, use)

    def _holding(self, made: Place) -> frozenset[Instance]:
        """Return the objects of which an attribute holds an array that was made there."""
        return frozenset(owner for owner, _ in self._held_in.get(made, ()))

    def _shortest(self, made: Place, use: Place) -> list[JourneyStep] | None:
        came_to: dict[Place, tuple[Place, JourneyStep | None] | None] = {use: None}
        pending = deque([use])
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        known = self._known.setdefault((made, self._holders), {})
        while pending:
            place = pending.popleft()
            if place == made:
                return [*_steps(place, came_to)]
            if len(came_to) > _MOST_PLACES:
                return None
            if place not in known:
                known[place] = [*self._before(place, made)]
            for before, step in known[place]:
                if before not in came_to:
                    came_to[before] = (place, step)
                    pending.append(before)
        return None

    def carries(self, place: Place, made: Place) -> bool:
        """Return whether an expression held an array, or a tree of some, that was made there.

        What runs later may give one.
        """
        record = self._program.modules[place.module].record
        held = (record.values.get(place.node, NOTHING), record.trees.get(place.node, NOTHING))
        if place == made or any(isinstance(atom, _RUNNING_LATER) for atom in held[0]):
            return True
        if self._holders and any(atom in self._holders for atom in held[0]):
            return True
        return any(_is_from(made, each) for each in held)

    # -- one step back ----------------------------------------------------------------------------

    def _before(self, place: Place, made: Place) -> Iterator[_Before]:
        """Yield where an array may have come from that an expression held."""
        module = self._program.modules[place.module]
        node = module.tree.nodes[place.node]
        if isinstance(node, cst.Name):
            yield from self._before_name(node, module, made)
            return
        if isinstance(node, cst.Call):
            yield from self._before_call(node, module, made)
        elif isinstance(node, cst.Attribute):
            yield from self._before_attribute(node, module, made)
        if not isinstance(node, cst.Lambda) and not (
            self._holders and self._leads_in(node, module)
        ):
            yield from ((each, None) for each in self._carrying(_parts(node), module, made))

    def _leads_in(self, node: cst.CSTNode, module: Module) -> bool:
        """Return whether an expression runs code of the program, by which the way leads."""
        if isinstance(node, cst.Attribute):
            return node.attr.value in self._accessors
        if not isinstance(node, cst.Call):
            return False
        held = module.record.values.get(module.tree.index(node.func), NOTHING)
        return any(isinstance(atom, Class) for atom in held) or any(
            True for _ in functions_called(held)
        )

    def _carrying(
        self, nodes: Iterable[cst.CSTNode | None], module: Module, made: Place
    ) -> Iterator[Place]:
        for node in nodes:
            if node is not None and module.tree.contains(node):
                place = module.place(node)
                if self.carries(place, made):
                    yield place

    def _before_name(self, node: cst.Name, module: Module, made: Place) -> Iterator[_Before]:
        for binding in module.names.bindings(node):
            if binding.kind is BindingKind.PARAMETER:
                yield from self._before_parameter(binding, module, made)
            elif binding.kind is BindingKind.IMPORT:
                step = _import_step(binding, module)
                yield from self._in_other_module(module, binding.target, step, made)
            else:
                yield from ((each, None) for each in self._bound_to(binding, module, made))
        for use in module.names.uses(node.value, module.names.scope(node)):
            for stored in self._carrying(_stored_through(use, module), module, made):
                yield stored, JourneyStep(stored, f"stored here in `{node.value}`")

    def _bound_to(self, binding: Binding, module: Module, made: Place) -> Iterator[Place]:
        bound = binding.node
        for name in ("value", "iter", "item"):
            yield from self._carrying([getattr(bound, name, None)], module, made)

    def _in_other_module(
        self, module: Module, qualified: str | None, step: JourneyStep | None, made: Place
    ) -> Iterator[_Before]:
        """Yield what a name of another module was bound to."""
        found = self._program.linking.find(module.name, qualified or "")
        other = None if found is None else self._program.modules.get(found[0])
        if found is None or other is None or other is module:
            return
        for binding in other.names.module_scope.bindings.get(found[1], ()):
            if binding.kind is BindingKind.IMPORT:
                yield from self._in_other_module(other, binding.target, step, made)
            else:
                yield from ((each, step) for each in self._bound_to(binding, other, made))

    def _before_parameter(self, binding: Binding, module: Module, made: Place) -> Iterator[_Before]:
        """Yield the arguments that were passed for a parameter, then its default."""
        param = binding.node
        function = module.tree.parent(module.tree.parent(param) or param)
        if not isinstance(param, cst.Param) or function is None:
            return
        name = param.name.value
        called = _name_of(function, module)
        into = f"to `{called}` " if called else ""
        for caller, call in self._callers.get(module.place(function), ()):
            named = [arg.value for arg in call.args if arg.keyword and arg.keyword.value == name]
            positional = [arg.value for arg in call.args if not arg.keyword]
            given = named or positional or Arguments(call).values
            for passed in self._carrying(given, caller, made):
                yield passed, JourneyStep(passed, f"passed here {into}as `{name}`")
        for default in self._carrying([param.default], module, made):
            yield default, None

    def _before_call(self, node: cst.Call, module: Module, made: Place) -> Iterator[_Before]:
        """Yield what the functions that a call leads to return."""
        held = module.record.values.get(module.tree.index(node.func), NOTHING)
        for function in functions_called(held):
            yield from self._returned(function, module.place(node), made)
        if self._holders and any(isinstance(atom, Class) for atom in held):
            yield from self._put_into_objects(made)

    def _put_into_objects(self, made: Place) -> Iterator[_Before]:
        """Yield what is stored in the attributes of the objects that are followed."""
        names = {name for _, name in self._held_in.get(made, ())}
        for name in sorted(names):
            yield from self._stored_as(name, made)

    def _returned(self, function: Place, at: Place, made: Place) -> Iterator[_Before]:
        other = self._program.modules.get(function.module)
        if other is None:
            return
        body = other.tree.nodes[function.node]
        called = _name_of(body, other)
        name = f" by `{called}`" if called else ""
        step: JourneyStep | None = JourneyStep(at, f"returned here{name}")
        given: list[cst.CSTNode | None] = []
        if isinstance(body, cst.Lambda):
            given, step = [body.body], None
        else:
            given += [each.value for each in other.tree.every(cst.Return, below=body)]
            given += [_yielded(each) for each in other.tree.every(cst.Yield, below=body)]
        yield from ((each, step) for each in self._carrying(given, other, made))

    def _before_attribute(
        self, node: cst.Attribute, module: Module, made: Place
    ) -> Iterator[_Before]:
        """Yield what was stored in attributes of the name, also by constructors."""
        qualified = module.names.qualified(node)
        if qualified is not None:
            yield from self._in_other_module(module, qualified, None, made)
        name = node.attr.value
        if not (self._holders and self._is_passed_on(node.value, module)):
            yield from self._stored_as(name, made)
        for function in self._accessors.get(name, ()):
            yield from self._returned(function, module.place(node), made)

    def _is_passed_on(self, receiver: cst.BaseExpression, module: Module) -> bool:
        """Return whether an expression is an object that is followed, not in its own methods."""
        held = module.record.values.get(module.tree.index(receiver), NOTHING)
        is_followed = any(atom in self._holders for atom in held)
        return is_followed and class_of_receiver(receiver, module.names) is None

    def _stored_as(self, name: str, made: Place) -> Iterator[_Before]:
        """Yield what was stored in attributes of a name, also by constructors."""
        for storing, target, given in self._stores.get(name, ()):
            for stored in self._carrying([given], storing, made):
                text = f"stored here in `{dotted(target) or name}`"
                yield stored, JourneyStep(storing.place(target), text)
        for caller, call, cls in self._constructions:
            fields = self._program.classes.fields(cls) or []
            names = [field for field, _ in fields]
            if name in names:
                passed_as = Arguments(call).get(names.index(name), name)
                for passed in self._carrying([passed_as], caller, made):
                    yield (
                        passed,
                        JourneyStep(passed, f"passed here to `{dotted(call.func)}` as `{name}`"),
                    )

    # -- what leads where, found once -------------------------------------------------------------

    @functools.cached_property
    def _held_in(self) -> dict[Place, set[tuple[Instance, str]]]:
        """For each place where an array was made or committed: the attributes that hold it."""
        found: dict[Place, set[tuple[Instance, str]]] = {}
        for (owner, name), held in self._program.now.final.items():
            if isinstance(owner, Instance):
                for array in arrays(held):
                    made = () if array.origin is None else (array.origin.created,)
                    for place in (*array.via, *made):
                        found.setdefault(place, set()).add((owner, name))
        return found

    @functools.cached_property
    def _callers(self) -> dict[Place, list[tuple[Module, cst.Call]]]:
        """For each function: the calls that lead to it, then those that are given it."""
        direct: dict[Place, list[tuple[Module, cst.Call]]] = {}
        given: dict[Place, list[tuple[Module, cst.Call]]] = {}
        for module in self._program.modules.values():
            held = module.record.values
            for call in module.tree.every(cst.Call):
                func = held.get(module.tree.index(call.func), NOTHING)
                for function in functions_called(func):
                    direct.setdefault(function, []).append((module, call))
                classes = (atom for atom in func if isinstance(atom, Class))
                for cls in classes:
                    init = self._program.classes.method(cls.place, "__init__")
                    if init is not None:
                        direct.setdefault(init, []).append((module, call))
                for argument in call.args:
                    passed = held.get(module.tree.index(argument.value), NOTHING)
                    for function in functions_called(passed):
                        given.setdefault(function, []).append((module, call))
        for function, calls in given.items():
            direct.setdefault(function, []).extend(calls)
        return direct

    @functools.cached_property
    def _constructions(self) -> list[tuple[Module, cst.Call, Place]]:
        """The calls that make objects of classes of the program."""
        return [
            (module, call, atom.place)
            for module in self._program.modules.values()
            for call in module.tree.every(cst.Call)
            for atom in module.record.values.get(module.tree.index(call.func), NOTHING)
            if isinstance(atom, Class)
        ]

    @functools.cached_property
    def _stores(self) -> dict[str, list[tuple[Module, cst.Attribute, cst.CSTNode]]]:
        """For each name of an attribute: the targets that store there, and what they are given."""
        found: dict[str, list[tuple[Module, cst.Attribute, cst.CSTNode]]] = {}
        for module in self._program.modules.values():
            for node in module.tree.every(cst.Assign, cst.AnnAssign):
                if node.value is None:
                    continue
                whole = (
                    [node.target]
                    if isinstance(node, cst.AnnAssign)
                    else [each.target for each in node.targets]
                )
                for target in _attributes(whole):
                    entry = (module, target, node.value)
                    found.setdefault(target.attr.value, []).append(entry)
        return found

    @functools.cached_property
    def _accessors(self) -> dict[str, list[Place]]:
        """For each name: the methods that run where an attribute of that name is read."""
        found: dict[str, list[Place]] = {}
        for module in self._program.modules.values():
            for node in module.tree.every(cst.FunctionDef):
                if any("property" in (dotted(d.decorator) or "") for d in node.decorators):
                    found.setdefault(node.name.value, []).append(module.place(node))
        return found


def _steps(
    made: Place, came_to: dict[Place, tuple[Place, JourneyStep | None] | None]
) -> Iterator[JourneyStep]:
    """Yield the steps from what made an array, by what each place led to."""
    led = came_to[made]
    while led is not None:
        place, step = led
        if step is not None:
            yield step
        led = came_to[place]


def _is_from(made: Place, held: Value) -> bool:
    """Return whether an array in a value was made, or committed, by an expression."""
    return any(
        made in array.via or (array.origin is not None and array.origin.created == made)
        for array in arrays(held)
    )


def functions_called(held: Iterable[Atom]) -> Iterator[Place]:
    """Yield the functions of the program that a call of a value leads to."""
    for atom in held:
        if isinstance(atom, Function):
            yield atom.place
        elif isinstance(atom, Method):
            yield atom.function
        elif isinstance(atom, Closure):
            yield atom.function
            for _, closed in atom.closed:
                yield from functions_called(closed)
        elif isinstance(atom, Partial):
            yield from functions_called([atom.function])
        elif isinstance(atom, Computation):
            yield from functions_called(atom.of)


def _import_step(binding: Binding, module: Module) -> JourneyStep | None:
    """Return the step into a file by one of the names of an import statement."""
    for statement in module.names.import_statements:
        if not isinstance(statement.names, cst.ImportStar) and any(
            alias is binding.node for alias in statement.names
        ):
            return JourneyStep(module.place(statement), "imported here")
    return None


def _name_of(function: cst.CSTNode, module: Module) -> str:
    """Return what a function is called by: for a constructor, its class."""
    if not isinstance(function, cst.FunctionDef):
        return ""
    if function.name.value == "__init__":
        for ancestor in module.tree.ancestors(function):
            if isinstance(ancestor, cst.ClassDef):
                return ancestor.name.value
    return function.name.value


def _parts(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the expressions that an expression is made of."""
    for child in children(node):
        if isinstance(child, cst.BaseExpression):
            yield child
        else:
            yield from _parts(child)


def _yielded(node: cst.Yield) -> cst.CSTNode | None:
    return node.value.item if isinstance(node.value, cst.From) else node.value


def _attributes(targets: Iterable[cst.CSTNode]) -> Iterator[cst.Attribute]:
    for target in targets:
        if isinstance(target, cst.Attribute):
            yield target
        elif isinstance(target, cst.Tuple | cst.List):
            yield from _attributes(element.value for element in target.elements)


def _stored_through(use: cst.Name, module: Module) -> Iterator[cst.CSTNode]:
    """Yield what is put into a container by its name: `x[k] = …`, `x.append(…)`."""
    node: cst.CSTNode = use
    parent = module.tree.parent(node)
    while isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, module.tree.parent(parent)
    if isinstance(parent, cst.AssignTarget) and node is not use:
        statement = module.tree.parent(parent)
        if isinstance(statement, cst.Assign):
            yield statement.value
    elif isinstance(parent, cst.Attribute) and parent.attr.value in STORING:
        call = module.tree.parent(parent)
        if isinstance(call, cst.Call) and call.func is parent:
            yield from Arguments(call).values
