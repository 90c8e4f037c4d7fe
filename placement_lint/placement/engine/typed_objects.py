"""Objects of the program that functions are passed which no code calls, by their annotations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import (
    NONE,
    UNKNOWN,
    Mapping,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.facts.annotations import (
    alternatives,
    classes_by_parameter,
    item_type,
    stated_types,
    without_metadata,
)
from placement_lint.syntax.calls import is_none, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator, Interpreter
    from placement_lint.placement.facts.module import Module


@dataclass(frozen=True)
class _Typed:
    """The class of what a parameter holds, or of the items of that."""

    cls: Place
    is_optional: bool = False
    has_items: bool = False
    is_dict: bool = False

    def holding(self, one: Value) -> Value:
        """Return what the parameter holds, of `one` object of the class."""
        if self.has_items:
            one = value(Mapping((), one) if self.is_dict else Sequence(None, one))
        return one | NONE if self.is_optional else one


def as_stated(on: Evaluator, stated: cst.BaseExpression, held: Value, state: State) -> Value:
    """Return what something is of which a function that no code calls says the class, where nothing
    else is known of it: an object as all that were made of the class left it.
    """
    if held != UNKNOWN or not isinstance(stated, cst.Name | cst.Attribute):
        return held
    only = sole(on.evaluate(stated, state))
    if not isinstance(only, Class):
        return held
    receiver = Instance(only.place, only.place)
    # What calls the function has bound them.
    names = {name for _, name in on.program.now.attributes_of(only.place)}
    is_bound = any(state.variables.get((receiver, name)) is not None for name in sorted(names))
    return value(receiver) if is_bound else held


class TypedObjects:
    """What parameters hold whose annotation is a class of the program of which there are objects.

    A command line or a framework calls such a function, with an object that the program has made.
    A parameter without annotation is taken to be what all others of its name in the file are.
    """

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._by_name: dict[str, dict[str, cst.BaseExpression]] = {}
        """Of each module: the annotations by the names of parameters that have no other."""

    def given(self, module: Module, node: cst.CSTNode, state: State) -> dict[str, Value]:
        """Return the objects by parameter, each as all that were made of its class left it."""
        found: dict[str, Value] = {}
        for cls in self._stated(module, node, state):
            if self._made(cls):
                self._bind(Instance(cls, cls), state)
        for parameter, typed in self._typed(module, node, state):
            if self._made(typed.cls):
                receiver = Instance(typed.cls, typed.cls)
                self._bind(receiver, state)
                found[parameter] = typed.holding(value(receiver))
        return found

    def passed(self, function: Place, receiver: Instance, state: State) -> dict[int | str, Value]:
        """Return what a method is passed that nothing calls: its object, and what is typed."""
        module, node = self._program.module_of(function), self._program.node(function)
        found: dict[int | str, Value] = {0: value(receiver)}
        found.update(self.given(module, node, state).items())
        return found

    def waits(self, module: Module, node: cst.CSTNode, state: State) -> bool:
        """Return whether an object is passed of which none was made so far."""
        typed = (each.cls for _, each in self._typed(module, node, state))
        every = itertools.chain(typed, self._stated(module, node, state))
        return any(not self._made(cls) for cls in every)

    def _stated(self, module: Module, node: cst.CSTNode, state: State) -> Iterator[Place]:
        """Yield the classes that a function says of what it has, other than parameters."""
        if isinstance(node, cst.FunctionDef):
            for stated in stated_types(node, module.tree, module.names):
                cls = self._class_named(module, stated, state)
                if cls is not None:
                    yield cls

    def _typed(
        self, module: Module, node: cst.CSTNode, state: State
    ) -> Iterator[tuple[str, _Typed]]:
        if not isinstance(node, cst.FunctionDef):
            return
        params = node.params
        if module.name not in self._by_name:
            self._by_name[module.name] = classes_by_parameter(module.tree, module.names)
        # What dispatches by type takes objects of other classes as well.
        by_name = {} if node.decorators else self._by_name[module.name]
        for parameter in (*params.posonly_params, *params.params, *params.kwonly_params):
            annotation = parameter.annotation
            named = by_name.get(parameter.name.value)
            typed = None
            if parameter.default is None and annotation is not None:
                typed = self._by_annotation(module, annotation, state)
            elif parameter.default is None and named is not None:
                cls = self._class_named(module, named, state)
                typed = None if cls is None else _Typed(cls)
            if typed is not None:
                yield parameter.name.value, typed

    def _by_annotation(
        self, module: Module, annotation: cst.Annotation, state: State
    ) -> _Typed | None:
        """Return of what class the object is, or the objects are, by an annotation."""
        every = [
            without_metadata(each, module.names) for each in alternatives(annotation, module.names)
        ]
        some = [each for each in every if not is_none(each)]
        if len(some) != 1:
            return None
        items = item_type(some[0], module.names)
        cls = self._class_named(module, some[0] if items is None else items[0], state)
        if cls is None:
            return None
        return _Typed(
            cls, len(some) < len(every), items is not None, items is not None and items[1]
        )

    def _class_named(self, module: Module, node: cst.BaseExpression, state: State) -> Place | None:
        """Return the class of the program that a type is, which may be written as a string."""
        if isinstance(node, cst.Name | cst.Attribute):
            only = sole(self._program.expressions(module).evaluate(node, state))
            return only.place if isinstance(only, Class) else None
        name = string_value(node) or ""
        bound = module.names.module_scope.sole_binding(name)
        if bound is None:
            return None
        if isinstance(bound.node, cst.ClassDef):
            return module.place(bound.node)
        if bound.target is None:
            return None
        only = sole(self._program.linking.imported(module, bound.target, state))
        return only.place if isinstance(only, Class) else None

    def _made(self, cls: Place) -> set[Instance]:
        made = self._program.now.instances.get(cls, {})
        return {*made} - self._program.objects.superseded

    def _bind(self, receiver: Instance, state: State) -> None:
        """Bind the attributes of an object to what all that were made of its class have."""
        now, made = self._program.now, self._made(receiver.cls)
        for owner, name in now.attributes_of(receiver.cls):
            if owner in made:
                key = (receiver, name)
                before = state.variables.get(key)
                held = now.final[owner, name]
                state.variables[key] = held if before is None else join(before, held)
