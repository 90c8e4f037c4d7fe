"""What a function gives that JAX traces: its body executed on tracers, of which nothing is seen.

A tracer stands for one array of the arguments, which distinguishes what the function hands back
from what it computes. Of a compiled program every array is where the program runs; where the
operations run one by one, each result is where they put it, and what is handed back stays where it
was (measured on JAX 0.4.30, 0.6.2 and 0.10.2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.structures import Structure
from placement_lint.placement.domain.containers import anonymous
from placement_lint.placement.domain.contents import (
    MAX_DEPTH,
    arrays,
    element_of,
    is_placed,
    map_arrays,
)
from placement_lint.placement.domain.devices import SYSTEM_DEFAULT
from placement_lint.placement.domain.places import MADE_ON_TRACERS, ArrayOrigin, Place
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.placement.domain.state import SYSTEM
from placement_lint.placement.domain.values import (
    ANYTHING,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Computation,
    Container,
    Host,
    Plain,
    Sequence,
    join,
    limited,
    value,
)
from placement_lint.placement.engine.operations import is_of_host

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.transformations import Step
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.placement.engine.pytrees import Change

_MARKERS = f"{MADE_ON_TRACERS}marker"


def _marker(number: int, *, is_small: bool = False) -> Array:
    place = Place(_MARKERS, number)
    return Array(None, committed=False, origin=ArrayOrigin(place, place, None), is_small=is_small)


COMPUTED = _marker(0)
"""What the whole computation gives."""
NUMBER = _marker(0, is_small=True)
"""A scalar, or a key, that it gives."""
_GRADIENT = _marker(1)
"""A derivative: that of what is linear may be on the default device, whatever is committed."""
_CREATED = _marker(2)
"""What is made where the computation is called, of nothing that is committed."""


class Trace:
    """One call of what JAX traces."""

    def __init__(
        self,
        on: Evaluator,
        node: cst.CSTNode,
        state: State,
        *,
        is_compiled: bool = False,
        is_at_once: bool = False,
    ) -> None:
        """`is_compiled`: what it traces becomes a part of a program over whole arrays.

        `is_at_once`: called as it is, it runs operation by operation.
        """
        self.on = on
        self.is_at_once = is_at_once
        self.is_compiled = is_compiled
        self.program = on.program
        self.node = node
        self.at = on.module.place(node)
        self.state = state.copy()
        """What holds in the traced code."""
        self.begun = state
        self._place = f"{MADE_ON_TRACERS}{self.at.module}:{self.at.node}"
        self.is_followed = False
        """What the function does with its arguments is known."""
        self._is_placed = False
        """The call that compiles it says where its arguments or its results are."""
        self._trees = 0
        """How many trees were made of others: the objects in them differ."""
        self._originals: dict[Array, Atom] = {}
        self.pins: list[Value] = []
        """What stands for the meshes that the body holds the compiled program on."""
        self.returned_arrays: set[Array] = set()
        """Tracers that come out of a compiled program as results of it."""

    # -- tracers ----------------------------------------------------------------------------------

    def tracers(self, held: Value) -> Value:
        """Return an argument with a tracer in the place of each array."""
        if not _has_leaf(held):
            return held
        return self.rebuilt(anonymous(held), self._tracer)

    def _tracer(self, leaf: Value) -> Value:
        return frozenset(self._tracer_of(atom) for atom in leaf)

    def _tracer_of(self, atom: Atom) -> Atom:
        if not isinstance(atom, Array | Host):
            return atom
        place = Place(self._place, len(self._originals))
        if isinstance(atom, Array):
            device = None if atom.origin is None else atom.origin.device
            tracer = atom.made_at(ArrayOrigin(place, place, device))
        else:
            tracer = Array(None, committed=False, origin=ArrayOrigin(place, place, None))
        self._originals[tracer] = atom
        return tracer

    def call(self, function: Value, passed: CallArguments) -> Value:
        """Return what a function gives for tracers: tracers too."""
        with (
            self.program.at_once(self.is_at_once),
            self.program.on_tracers(),
            self.program.compiling(self.is_compiled),
        ):
            objects = self.program.expressions(self.on.module).calls.objects
            made = objects.called_with(self.node, function, passed, self.state)
            if self.program.running is Running.COMPILED:
                self.pins += filter(None, map(self._pin, self.leaves(made)))
            return made

    def _pin(self, leaf: Value) -> Value:
        """Return where a leaf holds the program that is there because of the body, not of an
        argument: `jax.lax.with_sharding_constraint(x, sharding)`; nothing of any other leaf.
        """
        given = {a.sharding.mesh for a in self._originals if a.sharding is not None}
        shardings = {a.sharding for a in arrays(leaf) if a.sharding is not None}
        meshes = {each.mesh for each in shardings if each.is_named} - given - {None}
        pins: set[Atom] = {
            Array(None, committed=True, sharding=Sharding(mesh=mesh, is_named=True))
            for mesh in meshes
        }
        if pins and not all(isinstance(a, Array) and a.sharding is not None for a in leaf):
            pins.add(Array(None, committed=False))
        somewhere = Array(None, committed=True)
        bare = {replace(a, is_weak=False) for a in leaf if isinstance(a, Array) and a.committed}
        if somewhere in bare and somewhere not in self._originals:
            # A constraint to a sharding of which no mesh is known: that of another array.
            pins.add(somewhere)
        return frozenset(pins)

    # -- transformations --------------------------------------------------------------------------

    def transformed(self, computation: Computation, passed: CallArguments) -> Value:
        """Return what a transformed function gives for tracers; unknown where that is not known."""
        passed = passed.given_before(computation.bound, computation.bound_by_name)
        made = self.call(computation.of, passed) if computation.of else UNKNOWN
        self.is_followed = made != UNKNOWN
        self._is_placed = computation.places_arguments
        for step in computation.steps:
            made = self._step(step, made, passed)
        return made if computation.steps else UNKNOWN

    def _step(self, step: Step, made: Value, passed: CallArguments) -> Value:
        if step.structure is Structure.GRADIENT:
            grads = self._gradient(step, passed)
            return grads if step.has_aux is False else pair(grads, self._aux(step, made))
        if step.structure is Structure.VALUE_AND_GRADIENT:
            number = value(NUMBER)
            grads = self._gradient(step, passed)
            if step.has_aux is not False:
                known = pair(number, self._aux(step, made))
                number = known if step.has_aux else join(known, UNKNOWN)
            return pair(number, grads)
        if step.structure is Structure.DERIVATIVE:
            return self._derivative(step, made, passed)
        if step.structure is None:
            return value(AnyTree(value(COMPUTED))) if step.is_staged else UNKNOWN
        if step.is_staged:
            every = {a for leaf in self.leaves(made) for a in arrays(leaf)}
            self.returned_arrays.update(every)
            # A program that gives nothing but derivatives may take nothing of what is committed.
            if every == {_GRADIENT}:
                return made
            return self.rebuilt(made, computed if self._is_placed else self._computed)
        if step.structure is Structure.MAPPED:
            return self.rebuilt(made, self._stacked if step.is_plain else self._moved)
        return made

    def _computed(self, leaf: Value) -> Value:
        """Return what a compiled program gives of a leaf: what is in the memory of the host in it
        comes out there.
        """
        put = [a for a in leaf if isinstance(a, Array) and a.committed and is_of_host(a)]
        is_kept = put and len(put) == len(leaf)
        return frozenset(replace(a, origin=None) for a in put) if is_kept else computed(leaf)

    def _aux(self, step: Step, made: Value) -> Value:
        return UNKNOWN if step.has_aux is None else element_of(made, 1) or UNKNOWN

    def _derivative(self, step: Step, made: Value, passed: CallArguments) -> Value:
        is_one = bool(made) and all(isinstance(atom, Array) for atom in made)
        if is_one and step.has_aux is False:
            return self._gradient(step, passed)
        return value(AnyTree(value(_GRADIENT)))

    def _gradient(self, step: Step, passed: CallArguments) -> Value:
        if step.argnums is None or any(n >= len(passed.positional) for n in step.argnums):
            return value(AnyTree(value(_GRADIENT)))
        every = [self.rebuilt(passed.positional[n], _gradient_of) for n in step.argnums]
        return every[0] if step.is_single else value(Sequence(tuple(every), join(*every)))

    def _stacked(self, leaf: Value) -> Value:
        """Return what `vmap` gives of a leaf: a stack, of what is not one a broadcast one."""
        found: set[Atom] = set()
        for atom in leaf:
            is_kept = atom in self._originals or (isinstance(atom, Array) and _is_of_trace(atom))
            if is_kept or isinstance(atom, Anything | External):
                found.add(atom)
            elif isinstance(atom, Array) and atom.committed:
                found.add(replace(atom, origin=None))
            else:
                found.add(_CREATED)
        return frozenset(found)

    def _moved(self, leaf: Value) -> Value:
        """Return what `vmap` gives of a leaf along another axis: computed, where it is none."""
        stacked = self._stacked(leaf)
        return stacked | {COMPUTED} if any(a in self._originals for a in stacked) else stacked

    def rebuilt(self, made: Value, change: Change) -> Value:
        """Return a tree of the same structure, of what becomes of each leaf, in the traced code."""
        self._trees += 1
        at = Place(self._place, -self._trees)
        return self.program.trees.rebuilt(made, change, at, self.state, is_given=True)

    @property
    def unknown_tree(self) -> Value:
        """What the computation gives where nothing but that it computes is known."""
        return value(AnyTree(value(COMPUTED)))

    # -- what comes out ---------------------------------------------------------------------------

    def leaves(self, made: Value) -> list[Value]:
        """Return the leaves of what a function gave for tracers."""
        return list(self.program.trees.leaves(made, self.state))

    def used(self, held: Value) -> Value:
        """Return an argument, of tracers, with the arrays that the function does something with.

        The arrays of objects are in dicts.
        """
        spread = self.program.trees.spread(held, self.state)
        return map_arrays(spread, self._used)

    def _used(self, array: Array) -> Atom:
        known = self._originals.get(array)
        if known is None or array.origin is None:
            return array
        is_used = array in self.returned_arrays or self.program.is_touched(array.origin.created)
        return known if is_used else Plain()

    def given(self, made: Value, placed: Value) -> Value:
        """Return what a function gave for tracers as arrays; what it computes is there, whole."""

        def real(leaf: Value) -> Value:
            found: set[Atom] = set()
            for atom in leaf:
                found |= self._real(atom, placed)
            return limited(frozenset(found))

        held = self.program.trees.rebuilt(
            made, real, self.at, self.state, is_given=True, into=self.begun
        )
        # The outermost one has a name as soon as it is bound to one, and those inside by it.
        site = self.on.targets.made(self.node)
        return frozenset(
            replace(atom, site=site) if isinstance(atom, Container) else atom
            for atom in anonymous(held)
        )

    def _real(self, atom: Atom, placed: Value) -> Value:
        if not isinstance(atom, Array):
            return value(atom)
        known = self._originals.get(atom)
        if known is not None:
            return value(known)
        if not _is_of_trace(atom):
            return value(atom)
        if atom.origin is not None and atom.origin.created.module == _MARKERS:
            return self._marked(atom, placed)
        # It is what the call makes, as far as anything outside can see.
        device = None if atom.origin is None else atom.origin.device
        origin = None if atom.committed else ArrayOrigin(self.at, self.at, device)
        return value(replace(atom, origin=origin))

    def _marked(self, marker: Array, placed: Value) -> Value:
        if marker == NUMBER:
            return frozenset(
                replace(a, is_small=True) if isinstance(a, Array) else a for a in placed
            )
        if marker == COMPUTED:
            return placed
        if marker == _GRADIENT and self.program.running is Running.COMPILED:
            return value(marker)
        made = self.on.operations.created(self.on.index(self.node), self.begun)
        if marker == _CREATED:
            return made
        is_pinned = any(isinstance(a, Array) and a.committed for a in placed)
        return placed | made if is_pinned else placed


def is_derivative(computation: Computation) -> bool:
    """Return whether one of the transformations of a function differentiates it."""
    derives = (None, Structure.SAME, Structure.MAPPED)
    return any(step.structure not in derives for step in computation.steps) or any(
        isinstance(atom, Computation) and is_derivative(atom) for atom in computation.of
    )


def is_worth_following(operands: list[Value], state: State) -> bool:
    """Return whether anything is placed, so that it matters what a computation gives."""
    return state.default.devices != SYSTEM or any(
        is_placed(array) or array.device != SYSTEM_DEFAULT
        for held in operands
        for array in arrays(held)
    )


def _is_of_trace(array: Array) -> bool:
    return array.origin is None or array.origin.created.module.startswith(MADE_ON_TRACERS)


def computed(leaf: Value) -> Value:
    """Return what a compiled program gives of a leaf."""
    found: set[Atom] = set()
    for atom in leaf:
        if isinstance(atom, Plain):
            found.add(NUMBER)
        elif isinstance(atom, Array):
            found.add(NUMBER if atom.is_small else COMPUTED)
        elif isinstance(atom, Host):
            found.add(COMPUTED)
        elif isinstance(atom, External) or atom == ANYTHING:
            found.add(AnyTree(value(COMPUTED)))
        elif not isinstance(atom, Anything):
            found.add(atom)
    return frozenset(found)


def _gradient_of(leaf: Value) -> Value:
    """Return the derivative by a leaf."""
    found: set[Atom] = set()
    for atom in leaf:
        if isinstance(atom, External) or atom == ANYTHING:
            found.add(AnyTree(value(_GRADIENT)))
        elif isinstance(atom, Plain):
            found.add(NUMBER)
        elif isinstance(atom, Array | Host):
            found.add(_GRADIENT)
        elif not isinstance(atom, Anything):
            found.add(atom)
    return frozenset(found)


def pair(first: Value, second: Value) -> Value:
    return value(Sequence((first, second), join(first, second)))


def _has_leaf(held: Value, depth: int = MAX_DEPTH) -> bool:
    return any(
        isinstance(atom, Array | Host | Instance | AnyTree)
        or (
            depth > 0
            and isinstance(atom, Container)
            and any(_has_leaf(part, depth - 1) for part in atom.parts())
        )
        for atom in held
    )
