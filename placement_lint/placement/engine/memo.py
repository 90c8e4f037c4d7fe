"""Memoisation: an execution of a function is used again where it would do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import anonymous, forget, loosened, sites
from placement_lint.placement.domain.contents import arrays, is_data, is_placed, leaves_of
from placement_lint.placement.domain.mesh_contexts import ANY_MESHES
from placement_lint.placement.domain.program_values import Function, Instance
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.state import (
    ANY_DEVICE,
    DefaultDevice,
    State,
    chosen_defaults,
    meet,
)
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    MAX_ALTERNATIVES,
    UNKNOWN,
    AnyTree,
    Array,
    Closure,
    Container,
    Host,
    Method,
    Value,
    join,
    sole,
    without_guesses,
)
from placement_lint.placement.engine.executions import allowed
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.facts.decorators import caches, is_cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.executions import CallKey, Execution, Kinds
    from placement_lint.placement.engine.protocols import Interpreter


_MAX_CONTEXTS = 12
"""Executions of one function for arguments of their own; all further ones share arguments."""
_MAX_NODES = 2_000
"""Nodes of the trees of such executions together: of short functions there may be more, since the
accessors of a class are called wherever its objects are."""
_MAX_KINDS = 4
"""Kinds of such arguments; all calls of further kinds share theirs."""
_ALL_KINDS: Kinds = ()
_MAX_ALIKE = 2
"""Executions of a function for different data, where nothing in it has to do with placements."""
_MAX_SITED_CONTEXTS = 6
"""Executions of one function in which it matters which list or dict is passed."""
_MAX_REPETITIONS = 3
"""How often a function is executed again for what it gave to the calls from inside of itself."""
_MAX_FORGOTTEN = 64
"""Functions by way of which others call themselves that are executed once more for these."""
_MAX_NESTED = 3
"""Executions of one function inside of one another, each for an object or a function of its own."""
_MAX_RECURSIONS = 64
"""How often a function is executed again for what it calls itself with. A list that grows in such
a call makes each call new, and two calls in one body twice as many: there would be no end."""


_SUBJECTS = (Closure, Function, Instance, Method)
"""What a call may be for: an object whose method is called, or a function that is passed."""


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

        What such an inner call gives is unknown, and so is what it does to its arguments, where no
        placed array comes of it: else the function is executed once more, for what these give.
        For another object or function it is executed at once: the method of a part, say.
        """
        now = self._program.now
        if place in now.running and not self._is_for_another(place, bindings):
            return self._postponed(place, bindings, state)
        bindings = {name: self._program.containers.named(held) for name, held in bindings.items()}
        before = self._executions(place) if place in now.recursed else {}
        execution = self._memoized(place, bindings, state)
        inner = self._recursed(place)
        written: list[Execution] = []
        if inner and (known := self._repeated(place, bindings, state, [execution, *inner], before)):
            execution, *inner = known
            written = inner
        elif inner:
            _write_objects(execution, inner, state)
        module, node = self._program.module_of(place), self._program.node(place)
        entered = state.copy() if execution.suspended is not None else state
        if isinstance(node, cst.FunctionDef) and caches(module, node):
            holder = _holder(node, bindings) if is_cached_property(module, node) else None
            result = self._from_cache((place, holder), execution, state)
        else:
            result = self.reuse(execution, state)
        for each in written:
            self._also_written(each, state)
        if any(each.moves for each in (execution, *inner)):
            self._program.reach.moves()
        elif any(each.touches for each in (execution, *inner)):
            self._program.reach.touches()
        if execution.suspended is not None:
            # It goes on under those that are in force here.
            self._program.reach.asks_meshes()
            own, at = execution.suspended, call or place
            result = self._program.suspensions.suspend(at, place, bindings, entered, own, result)
        if call is not None and execution.objects:
            result = self._program.objects.handed_out(result, execution.objects, call, state)
        if call is None or not execution.made:
            return result
        return self._renamed(result, execution, call)

    def _postponed(self, place: Place, bindings: dict[str, Value], state: State) -> Value:
        """Note a call of a function from inside of itself, which is executed after that."""
        now = self._program.now
        now.recursed.setdefault(place, []).append((bindings, state.copy()))
        between = now.recursed_through.setdefault(place, {})
        for around in reversed(self._program.functions.frames):
            # What it does is not known yet.
            around.asks_meshes = True
            if around.place == place:
                break
            between[around.place] = None
        if place in now.repeated:
            return now.repeated[place]
        self._forget_stored(place, bindings, state)
        return DOUBTFUL

    def _renamed(self, result: Value, execution: Execution, call: Place) -> Value:
        """Return a result whose containers are named by the call, and not by where they are made:
        those of another call are others.
        """
        looping = self._program.repeats > 0
        renamed = self._program.containers.returned(result, execution.made, call, again=looping)
        frame = self._program.functions.frame
        if frame is not None:
            frame.made.update(site for site in sites(renamed) if site[0] == call)
        return renamed

    def _is_for_another(self, place: Place, bindings: dict[str, Value]) -> bool:
        """Return whether a call is for an object or a function that no call around it is for."""
        if place in self._program.now.repeated:
            return False
        around = [each for each in self._program.functions.frames if each.place == place]
        return 0 < len(around) < _MAX_NESTED and any(
            isinstance(only := sole(held), _SUBJECTS)
            and all(sole(each.bindings.get(name, UNKNOWN)) not in {None, only} for each in around)
            for name, held in bindings.items()
        )

    def _recursed(self, place: Place) -> list[Execution]:
        """Execute a function for what it calls itself with, and return these executions."""
        now = self._program.now
        found: list[Execution] = []
        while now.recursed.get(place):
            bindings, there = now.recursed[place].pop()
            if now.again.get(place, 0) >= _MAX_RECURSIONS:
                now.recursed[place].clear()
                break
            before = now.executions
            inner = self._memoized(place, bindings, there)
            self.reuse(inner, there)
            found.append(inner)
            if now.executions > before:
                now.again[place] = now.again.get(place, 0) + 1
        return found

    def _executions(self, place: Place) -> dict[CallKey, list[Execution]]:
        """Return the executions of a function so far, which later ones leave as they are."""
        return {key: [*each] for key, each in self._program.now.memo.get(place, {}).items()}

    def _repeated(
        self,
        place: Place,
        bindings: dict[str, Value],
        state: State,
        first: list[Execution],
        before: dict[CallKey, list[Execution]],
    ) -> list[Execution]:
        """Execute a function where a call from inside of itself gives something that is known.

        `first`: what came of it where that was unknown, and for the calls from inside. Return the
        same for what these give, or nothing, where that is not known. `before`: its executions
        before all of these.
        """
        now = self._program.now
        gives = _given_again(first)
        after = {} if gives is None else self._executions(place)
        for _ in range(_MAX_REPETITIONS):
            if gives is None:
                break
            now.memo[place] = {key: [*each] for key, each in before.items()}
            for between in now.recursed_through.get(place, ()):
                if now.forgotten < _MAX_FORGOTTEN and between in now.memo:
                    del now.memo[between]
                    now.forgotten += 1
            given, now.repeated[place] = gives, gives
            try:
                found = [self._memoized(place, bindings, state), *self._recursed(place)]
            finally:
                del now.repeated[place]
            gives = _given_again(found)
            if gives == given:
                return found
        if after:
            now.memo[place] = after
        return []

    def _also_written(self, execution: Execution, state: State) -> None:
        """Note what a call from inside of a function may have done to what is outside of it."""
        for name, held in execution.writes.items():
            before = state.variables.get(name)
            if before != held:
                state.variables[name] = held if before is None else join(before, held)

    def _from_cache(
        self, key: tuple[Place, Instance | None], execution: Execution, state: State
    ) -> Value:
        """Return what a function gives that may have kept what an earlier call gave.

        `key`: the function, and the object that keeps it.
        """
        before = self._program.now.cached.get(key)
        if before is None:
            self._program.now.cached[key] = self.reuse(execution, state)
            return self._program.now.cached[key]
        branch = state.copy()
        self._program.now.cached[key] = join(before, self.reuse(execution, branch))
        met = meet([state, branch])
        if met is not None:
            state.become(met)
        return self._program.now.cached[key]

    def _forget_stored(self, place: Place, bindings: dict[str, Value], state: State) -> None:
        """Forget what containers hold that a function stores into which is not followed here."""
        for name in self._program.functions.stored_parameters(place):
            if isinstance(name, str) and name in bindings:
                forget(bindings[name], state, self._program.containers, loosened)

    def _memoized(self, place: Place, bindings: dict[str, Value], state: State) -> Execution:
        contexts = self._program.now.memo.setdefault(place, {})
        bindings = {name: without_guesses(held) for name, held in bindings.items()}
        key, there = self._key(bindings, state), state
        known = self._known(contexts, key, state)
        if known is not None:
            return known
        if (general := self._general(place, bindings, state)) is not None:
            return general
        number = sum(map(len, contexts.values()))
        most = self._most_contexts(place)
        if not _is_known(contexts, key) and number >= most * _MAX_SITED_CONTEXTS // _MAX_CONTEXTS:
            self._forget_stored(place, bindings, state)
            bindings = {name: anonymous(held) for name, held in bindings.items()}
            key = self._key(bindings, state)
        if not _is_known(contexts, key) and number >= most:
            bindings = self._widen(place, bindings)
            key = self._key(bindings, state)
            if not _is_known(contexts, key) and number >= 4 * most:
                bindings = dict.fromkeys(bindings, UNKNOWN)
                there = State(DefaultDevice(ANY_DEVICE), (), state.variables, meshes=ANY_MESHES)
                key = self._key(bindings, there)
        return self._known(contexts, key, state) or self._executed(place, bindings, there, key)

    def _known(
        self, contexts: dict[CallKey, list[Execution]], key: CallKey, state: State
    ) -> Execution | None:
        """Return an execution of this key that would do the same now."""
        # One of the loops that run most often: of all that each execution read.
        seen, variables = self._program.functions.seen, state.variables
        get = variables.get
        execution: Execution
        for execution in (*contexts.get(key, ()), *contexts.get(_whatever_meshes(key), ())):
            for name, held, settled in execution.reads.items():
                now = get(name)
                if now is None:
                    now = seen(name, variables)
                if now is held or now == held or allowed(held, now, settled):
                    continue
                if now is None or not (execution.is_general and held == UNKNOWN and is_data(now)):
                    break
            else:
                return execution
        return None

    def _executed(
        self, place: Place, bindings: dict[str, Value], state: State, key: CallKey
    ) -> Execution:
        self._program.now.executions += 1
        nth, self._program.nth = self._program.nth, 0
        execution = self._program.functions.execute(place, bindings, state)
        self._program.nth = nth
        if not execution.asks_meshes:
            key = _whatever_meshes(key)
        kept = self._program.now.memo[place].setdefault(key, [])
        kept.append(execution)
        del kept[:-_MAX_CONTEXTS]
        return execution

    def _most_contexts(self, place: Place) -> int:
        """Return after how many executions of a function all further ones share arguments."""
        ends = self._program.module_of(place).tree.ends
        return max(_MAX_CONTEXTS, _MAX_NODES // (ends[place.node] - place.node))

    def _general(self, place: Place, bindings: dict[str, Value], state: State) -> Execution | None:
        """Return one execution for all data, of a function that has nothing to do with placements.

        None for one that may have: each way to call it has executions of its own.
        """
        contexts = self._program.now.memo[place].values()
        if sum(map(len, contexts)) < _MAX_ALIKE or chosen_defaults(state):
            return None
        if self._program.module_of(place).names_placement(self._program.node(place)):
            return None
        shape = {name: _for_all_data(held) for name, held in bindings.items()}
        key = self._key(shape, state)
        now, carries = self._program.now, self._program.reach.carries_placement
        known = self._known(now.memo[place], key, state)
        if known is None or not known.is_general or known.touches:
            alike = self._alike(place, key)
            if len([each for each in alike if not each.is_general]) < _MAX_ALIKE or any(
                each.touches or not each.is_plain for each in alike
            ):
                return None
        if any(carries(held, state) for held in bindings.values()):
            return None
        if known is not None and known.is_general and not known.touches:
            self._forget_stored(place, bindings, state)
            return known
        self._forget_stored(place, bindings, state)
        if known is not None:
            return known
        there = state.copy()
        reads = [{name: held for name, held, _ in each.reads.items()} for each in alike]
        for name in dict.fromkeys(name for each in reads for name in each):
            held = self._program.functions.seen(name, state.variables)
            varies = any(each.get(name, held) != held for each in reads)
            if held is not None and varies and is_data(held):
                there.variables[name] = UNKNOWN
        execution = self._executed(place, shape, there, key)
        execution.is_general = True
        for name in dict.fromkeys(name for each in alike for name in each.writes):
            execution.writes.setdefault(name, UNKNOWN)
        # For other data than before it may lead to a placement: then it matters which.
        return None if execution.touches else execution

    def _alike(self, place: Place, key: CallKey) -> list[Execution]:
        """Return the executions of a function for any data where a key has unknown arguments."""
        shape, around = dict(key[0]), (key[1:], _whatever_meshes(key)[1:])
        return [
            execution
            for known, executions in self._program.now.memo[place].items()
            if known[1:] in around
            and all(
                shape[name] in {held, _for_all_data(held)}
                or (shape[name] == UNKNOWN and is_data(held))
                for name, held in known[0]
            )
            for execution in executions
        ]

    def _key(self, bindings: dict[str, Value], state: State) -> CallKey:
        return (
            tuple(bindings.items()),
            state.seen_by_callee(),
            state.base,
            state.meshes,
            self._program.loop_depth > 0,
            self._program.repeats > 0,
            self._program.running is Running.COMPILED,
            self._program.expects_failure,
        )

    def _widen(self, place: Place, bindings: dict[str, Value]) -> dict[str, Value]:
        """Return arguments that hold for all calls of a function which is called in many ways.

        Calls with arrays of NumPy share them with one another, not with those with arrays of JAX:
        a helper of many files would else give neither. That matters only where some are placed. One
        with too many alternatives stays what it then is: to lose some and take in others would
        never end.
        """
        now = self._program.now
        widened = now.widened.setdefault(place, {})
        kinds = _kinds(bindings.values())
        if kinds not in widened and (
            len(widened) >= _MAX_KINDS
            or _ALL_KINDS in widened
            or not (widened or self._is_given_placed(place))
        ):
            kinds = _ALL_KINDS
        wide = widened.get(kinds)
        if wide is None:
            wide = dict(bindings)
            for known, *_ in now.memo[place]:
                if kinds in {_ALL_KINDS, _kinds(held for _, held in known)}:
                    wide = {name: join(wide[name], held) for name, held in known}
        widened[kinds] = {
            name: wide[name] if (place, kinds, name) in now.over_full else join(wide[name], held)
            for name, held in bindings.items()
        }
        for name, held in bindings.items():
            if len(wide[name] | held) > MAX_ALTERNATIVES:
                now.over_full.add((place, kinds, name))
        return widened[kinds]

    def _is_given_placed(self, place: Place) -> bool:
        """Return whether a function was given an array that was placed on purpose."""
        return any(
            is_placed(array)
            for given, *_ in self._program.now.memo[place]
            for _, held in given
            for array in arrays(held)
        )

    def reuse(self, execution: Execution, state: State) -> Value:
        """Do to a state what an execution did, and give what it returned."""
        self._program.functions.note_reads(execution.reads, state)
        for name, held in execution.writes.items():
            state.variables[name] = held
        if execution.asks_meshes:
            self._program.reach.asks_meshes()
        if execution.base is not None:
            state.base = execution.base
        if execution.meshes is not None:
            state.meshes = execution.meshes
        if execution.released is None or (
            execution.released and not state.release(execution.released)
        ):
            state.forget_default()
        state.blocks = (*state.blocks, *execution.entered)
        return execution.result


def _whatever_meshes(key: CallKey) -> CallKey:
    """Return what an execution is kept by that does not ask which meshes are in force."""
    return (*key[:3], None, *key[4:])


def _is_known(contexts: dict[CallKey, list[Execution]], key: CallKey) -> bool:
    """Return whether a function was executed for such a call."""
    return key in contexts or _whatever_meshes(key) in contexts


def _holder(method: cst.FunctionDef, bindings: dict[str, Value]) -> Instance | None:
    """Return the one object of which a method is called; None where it may be one of several."""
    params = method.params.params
    only = sole(bindings.get(params[0].name.value, UNKNOWN)) if params else None
    return only if isinstance(only, Instance) else None


def _kinds(given: Iterable[Value]) -> Kinds:
    """Return what each argument of a call is."""
    return tuple(
        "numpy" if _is_numpy(held) else "arrays" if any(arrays(held)) else "other" for held in given
    )


def _is_numpy(held: Value) -> bool:
    return bool(held) and all(isinstance(atom, Host) for atom in held)


def _write_objects(execution: Execution, inner: list[Execution], state: State) -> None:
    """Note what calls of a function from inside of itself did to objects, as to those of a tree.

    Which of them it did so to is not known: nothing is, of an attribute that is another one then.
    """
    for each in inner:
        for name, held in each.writes.items():
            if isinstance(name[0], Instance) and state.variables.get(name) != held:
                execution.writes.setdefault(name, join(held, UNKNOWN))


def _for_all_data(held: Value) -> Value:
    """Return what stands for all data such as this: NumPy's arrays stay what they are."""
    if not is_data(held):
        return held
    tensors = {atom.is_tensor if isinstance(atom, Host) else None for atom in held}
    (is_tensor,) = tensors if len(tensors) == 1 else {None}
    return UNKNOWN if is_tensor is None else frozenset({Host(is_tensor=is_tensor)})


def _given_again(executions: list[Execution]) -> Value | None:
    """Return what a call of a function from inside of itself gives, by what others have given.

    None where that is not known, or no placed array is in it or in what they write.
    """
    found = frozenset(atom for each in executions for atom in each.result) - DOUBTFUL
    written = (held for each in executions for held in each.writes.values())
    if not any(is_placed(array) for held in (found, *written) for array in arrays(held)):
        return None
    leaves = frozenset(atom for leaf in leaves_of(found) for atom in leaf) - DOUBTFUL
    if not all(isinstance(atom, Array) for atom in leaves):
        return None
    is_tree = any(isinstance(atom, Container | AnyTree) for atom in found)
    return tree_of(leaves) if is_tree and leaves else found
