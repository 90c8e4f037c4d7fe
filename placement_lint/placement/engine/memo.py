"""Memoisation: an execution of a function is used again where it would do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import anonymous, forget, loosened, sites
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice, State, meet
from placement_lint.placement.domain.values import DOUBTFUL, MAX_ALTERNATIVES, UNKNOWN, Value, join
from placement_lint.placement.facts.decorators import caches

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.executions import CallKey, Execution
    from placement_lint.placement.engine.protocols import Interpreter


_MAX_CONTEXTS = 12
"""Ways to call one function that are distinguished; all further ones share unknown arguments."""
_MAX_SITED_CONTEXTS = 6
"""Ways to call one function in which it matters which list or dict is passed."""
_MAX_RECURSIONS = 64
"""How often a function is executed again for what it calls itself with. A list that grows in such
a call makes each call new, and two calls in one body twice as many: there would be no end."""


class Memo:
    """Executes functions, each once for every way in which it is called.

    What an execution read of the variables around it is compared before it is used again. A
    function that is called in too many ways is executed for arguments that hold for all of them.
    """

    def __init__(self, program: Interpreter) -> None:
        self._program = program

    def run(
        self, place: Place, bindings: dict[str, Value], state: State, call: Place | None = None
    ) -> Value:
        """Execute a function; one that is being executed is executed again after that.

        What such an inner call gives is unknown: what it does to its arguments is not.
        """
        if place in self._program.now.running:
            self._program.now.recursed.setdefault(place, []).append((bindings, state.copy()))
            self._forget_stored(place, bindings, state)
            return DOUBTFUL
        bindings = {name: self._program.containers.named(held) for name, held in bindings.items()}
        execution = self._memoized(place, bindings, state)
        module, node = self._program.module_of(place), self._program.node(place)
        entered = state.copy() if execution.suspended is not None else state
        if isinstance(node, cst.FunctionDef) and caches(module, node):
            result = self._from_cache(place, execution, state)
        else:
            result = self.reuse(execution, state)
        while self._program.now.recursed.get(place):
            again, there = self._program.now.recursed[place].pop()
            if self._program.now.again.get(place, 0) >= _MAX_RECURSIONS:
                self._program.now.recursed[place].clear()
                break
            before = self._program.now.executions
            self.reuse(self._memoized(place, again, there), there)
            if self._program.now.executions > before:
                self._program.now.again[place] = self._program.now.again.get(place, 0) + 1
        if place in self._program.now.moving:
            self._program.reach.moves()
        if execution.suspended is not None:
            own, at = execution.suspended, call or place
            result = self._program.suspensions.suspend(at, place, bindings, entered, own, result)
        if call is not None and execution.objects:
            result = self._program.objects.handed_out(result, execution.objects, call, state)
        if call is None or not execution.made:
            return result
        looping = self._program.loop_depth > 0
        renamed = self._program.containers.returned(result, execution.made, call, again=looping)
        frame = self._program.functions.frame
        if frame is not None:
            frame.made.update(site for site in sites(renamed) if site[0] == call)
        return renamed

    def _from_cache(self, place: Place, execution: Execution, state: State) -> Value:
        """Return what a function gives that may have kept what an earlier call gave."""
        before = self._program.now.cached.get(place)
        if before is None:
            self._program.now.cached[place] = self.reuse(execution, state)
            return self._program.now.cached[place]
        branch = state.copy()
        self._program.now.cached[place] = join(before, self.reuse(execution, branch))
        met = meet([state, branch])
        if met is not None:
            state.become(met)
        return self._program.now.cached[place]

    def _forget_stored(self, place: Place, bindings: dict[str, Value], state: State) -> None:
        """Forget what containers hold that a function stores into which is not followed here."""
        for name in self._program.functions.stored_parameters(place):
            if isinstance(name, str) and name in bindings:
                forget(bindings[name], state, self._program.containers, loosened)

    def _memoized(self, place: Place, bindings: dict[str, Value], state: State) -> Execution:
        contexts = self._program.now.memo.setdefault(place, {})
        key, there = self._key(bindings, state), state
        if key not in contexts and len(contexts) >= _MAX_SITED_CONTEXTS:
            self._forget_stored(place, bindings, state)
            bindings = {name: anonymous(held) for name, held in bindings.items()}
            key = self._key(bindings, state)
        if key not in contexts and len(contexts) >= _MAX_CONTEXTS:
            bindings = self._widen(place, bindings)
            key = self._key(bindings, state)
            if key not in contexts and len(contexts) >= 4 * _MAX_CONTEXTS:
                bindings = dict.fromkeys(bindings, UNKNOWN)
                there = State(DefaultDevice(ANY_DEVICE), (), state.variables)
                key = self._key(bindings, there)
        for execution in contexts.get(key, ()):
            if all(
                self._program.functions.seen(key, state.variables) == held
                for key, held in execution.reads.items()
            ):
                return execution
        self._program.now.executions += 1
        execution = self._program.functions.execute(place, bindings, there)
        contexts.setdefault(key, []).append(execution)
        del contexts[key][:-_MAX_CONTEXTS]
        return execution

    def _key(self, bindings: dict[str, Value], state: State) -> CallKey:
        return (
            tuple(bindings.items()),
            state.seen_by_callee(),
            state.base,
            self._program.loop_depth > 0,
        )

    def _widen(self, place: Place, bindings: dict[str, Value]) -> dict[str, Value]:
        """Return arguments that hold for all calls of a function which is called in many ways.

        One with too many alternatives stays what it then is: to lose some and take in others
        would never end.
        """
        wide = self._program.now.widened.get(place)
        if wide is None:
            wide = dict(bindings)
            for known, *_ in self._program.now.memo[place]:
                wide = {name: join(wide[name], held) for name, held in known}
        self._program.now.widened[place] = {
            name: wide[name]
            if (place, name) in self._program.now.over_full
            else join(wide[name], held)
            for name, held in bindings.items()
        }
        for name, held in bindings.items():
            if len(wide[name] | held) > MAX_ALTERNATIVES:
                self._program.now.over_full.add((place, name))
        return self._program.now.widened[place]

    def reuse(self, execution: Execution, state: State) -> Value:
        """Do to a state what an execution did, and give what it returned."""
        for name in execution.reads:
            self._program.functions.note_read(name)
        for name, held in execution.writes.items():
            state.variables[name] = held
        if execution.base is not None:
            state.base = execution.base
        if execution.released is None or (
            execution.released and not state.release(execution.released)
        ):
            state.forget_default()
        state.blocks = (*state.blocks, *execution.entered)
        return execution.result
