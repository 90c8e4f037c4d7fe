"""Objects of the program that functions are passed which no code calls, by their annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import Value, join, sole, value
from placement_lint.placement.facts.annotations import classes_by_parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module


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
        for parameter, cls in self._typed(module, node, state):
            if self._made(cls):
                receiver = Instance(cls, cls)
                self._bind(receiver, state)
                found[parameter] = value(receiver)
        return found

    def passed(self, function: Place, receiver: Instance, state: State) -> dict[int | str, Value]:
        """Return what a method is passed that nothing calls: its object, and what is typed."""
        module, node = self._program.module_of(function), self._program.node(function)
        found: dict[int | str, Value] = {0: value(receiver)}
        found.update(self.given(module, node, state).items())
        return found

    def waits(self, module: Module, node: cst.CSTNode, state: State) -> bool:
        """Return whether an object is passed of which none was made so far."""
        return any(not self._made(cls) for _, cls in self._typed(module, node, state))

    def _typed(
        self, module: Module, node: cst.CSTNode, state: State
    ) -> Iterator[tuple[str, Place]]:
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
            of = named if annotation is None else annotation.annotation
            if parameter.default is not None or not isinstance(of, cst.Name | cst.Attribute):
                continue
            only = sole(self._program.expressions(module).evaluate(of, state))
            if isinstance(only, Class):
                yield parameter.name.value, only.place

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
