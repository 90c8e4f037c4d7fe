"""Context managers that the program makes of generator functions, between `yield` and their end.

What stands before the `yield` runs where the `with` begins, what follows it where the `with` ends:
with the variables around as they are by then, and its own as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.limits.budget import interpreting
from placement_lint.placement.domain.state import State, Variable, meet
from placement_lint.placement.domain.values import DefaultDeviceContext, PlainContext, Value, join
from placement_lint.placement.facts.decorators import goes_on, hides_errors, makes_context

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module


@dataclass
class _Suspension:
    """A call of such a function, as far as its `yield`."""

    function: Place
    bindings: dict[str, Value]
    entered: State
    """Where it was called."""
    own: dict[Variable, Value]
    """What its own variables hold at the `yield`."""


class Suspensions:
    """All context managers of a program that wait for their end."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._by_call: dict[Place, _Suspension] = {}
        self._never_left: dict[Place, None] = {}
        self._stacked: dict[Place, dict[Place, None]] = {}
        self._splits: dict[Place, bool] = {}
        self._hides: dict[Place, bool] = {}

    def splits(self, module: Module, node: cst.CSTNode) -> bool:
        """Return whether a function makes context managers that do something at their end."""
        if not isinstance(node, cst.FunctionDef) or not module.is_generator(node):
            return False
        place = module.place(node)
        if place not in self._splits:
            self._splits[place] = makes_context(module, node) and goes_on(module, node)
        return self._splits[place]

    def suspend(
        self,
        call: Place,
        function: Place,
        bindings: dict[str, Value],
        entered: State,
        own: dict[Variable, Value],
        made: Value,
    ) -> Value:
        """Remember a call as far as its `yield`; give the context that it made, known by it."""
        before = self._by_call.get(call)
        if before is not None:
            # Of a call in a loop there may be several.
            own = {
                key: join(held, before.own[key]) if key in before.own else held
                for key, held in own.items()
            }
        self._by_call[call] = _Suspension(function, bindings, entered, own)
        self._never_left[call] = None
        return frozenset(
            replace(atom, maker=call)
            if isinstance(atom, PlainContext | DefaultDeviceContext)
            else atom
            for atom in made
        )

    def may_hide(self, call: Place) -> bool:
        """Return whether an error in the `with` may go no further."""
        suspension = self._by_call.get(call)
        if suspension is None:
            return False
        function = suspension.function
        if function not in self._hides:
            module, node = self._program.module_of(function), self._program.node(function)
            self._hides[function] = isinstance(node, cst.FunctionDef) and hides_errors(module, node)
        return self._hides[function]

    def stack(self, stack: Place, held: Value) -> None:
        """Note that contexts are left where an `ExitStack` is."""
        for atom in held:
            if isinstance(atom, PlainContext | DefaultDeviceContext) and atom.maker is not None:
                self._stacked.setdefault(stack, {})[atom.maker] = None

    def left_by(self, stack: Place, state: State) -> None:
        """Go on with what was entered through an `ExitStack`, on some way, and is left now."""
        for maker in reversed(self._stacked.get(stack, {})):
            branch = state.copy()
            self.resume(maker, branch)
            met = meet([state, branch])
            if met is not None:
                state.become(met)

    def resume(self, call: Place, state: State) -> None:
        """Go on after the `yield`, in a state where the `with` ends."""
        suspension = self._by_call.get(call)
        if suspension is None:
            return
        self._never_left.pop(call, None)
        variables, since = state.variables.enter()
        for key, held in suspension.own.items():
            variables[key] = held
        at = State(state.base.for_callee(), (), variables, meshes=state.meshes)
        entered = suspension.entered.copy()
        self._program.functions.resume(
            suspension.function, suspension.bindings, entered, at, since, state
        )

    def finish(self) -> None:
        """Go on with what nobody was seen to leave, as where it was entered."""
        while self._never_left:
            call, _ = self._never_left.popitem()
            with interpreting(call.module):
                self.resume(call, self._by_call[call].entered.copy())
