"""Evaluation of `jax.lax.scan` and its like: loops and branches that JAX compiles.

Measured on JAX 0.4.30, 0.6.2 and 0.10.2: what they give is where the whole computation runs. From
0.6.2 on, not so what comes out as it came in, such as a part of the carry that the body hands on:
that is the array itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS
from placement_lint.placement.domain.contents import arrays, element_of
from placement_lint.placement.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Container,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.operand_layouts import LaidOut, assembled
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.engine.traced_calls import Trace, computed, is_worth_following, pair
from placement_lint.placement.overlays.registry import LibraryCall, models

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.operand_layouts import Layout


@models("jax.lax.scan")
def scan(call: LibraryCall) -> Value:
    """`jax.lax.scan(f, init, xs)`: a pair of the carry, and of what f gives, stacked."""
    traced = _Tracing(call)
    init, rows = traced.given(1, "init"), traced.given(2, "xs") or NONE
    made = traced.call(0, "f", [init, rows])
    carried = traced.carried(init, element_of(made, 0) or UNKNOWN)
    outputs = traced.stacked(rows, element_of(made, 1) or UNKNOWN)
    return traced.result(None if init is None else pair(carried, outputs))


@models("jax.lax.while_loop")
def while_loop(call: LibraryCall) -> Value:
    """`jax.lax.while_loop(cond, body, init)`: a carry like the first one.

    All of it is taken (measured on 0.7.2 and 0.10.2), also what the body hands on. That is given
    back as it was unless the condition reads it. A loop that does nothing is dropped whole.
    """
    traced = _Tracing(call)
    init = traced.given(2, "init_val")
    traced.call(0, "cond_fun", [init])
    read = set() if init is None else traced.touched(init)
    made = traced.call(1, "body_fun", [init])
    if init is None:
        return traced.result(None)
    if read or traced.is_changed(init, made):
        traced.is_used(init)
    return traced.result(traced.carried(init, made, read))


@models("jax.lax.fori_loop")
def fori_loop(call: LibraryCall) -> Value:
    """`jax.lax.fori_loop(lower, upper, body, init)`: a carry like the first one."""
    traced = _Tracing(call)
    traced.is_scalar(0, "lower")
    traced.is_scalar(1, "upper")
    init = traced.given(3, "init_val")
    made = traced.call(2, "body_fun", [PLAIN, init])
    return traced.result(None if init is None else traced.carried(init, made))


@models("jax.lax.cond")
def cond(call: LibraryCall) -> Value:
    """`jax.lax.cond(test, f, g, *operands)`: what one of the functions gives."""
    traced = _Tracing(call)
    traced.is_scalar(0, "pred")
    operands = traced.rest(3, "operand")
    made = [traced.call(1, "true_fun", operands), traced.call(2, "false_fun", operands)]
    return traced.result(traced.met(made))


@models("jax.lax.switch")
def switch(call: LibraryCall) -> Value:
    """`jax.lax.switch(index, functions, *operands)`: what one of the functions gives."""
    traced = _Tracing(call)
    branches = traced.plain(1, "branches")
    only = sole(branches)
    if not isinstance(only, Sequence) or not only.items:
        return traced.result(None)
    traced.is_scalar(0, "index")
    operands = traced.rest(2, "operand")
    return traced.result(traced.met([traced.called(each, operands) for each in only.items]))


@models("jax.lax.map")
def map_(call: LibraryCall) -> Value:
    """`jax.lax.map(f, xs)`: what f gives of each, stacked."""
    traced = _Tracing(call)
    rows = traced.given(1, "xs")
    made = traced.call(0, "f", [rows])
    return traced.result(None if rows is None else traced.stacked(rows, made))


@models("jax.lax.associative_scan")
def associative_scan(call: LibraryCall) -> Value:
    """`jax.lax.associative_scan(f, xs)`: a tree like the one that it is given, all computed."""
    traced = _Tracing(call)
    elements = traced.given(1, "elems")
    if elements is None:
        return traced.result(None)
    traced.is_used(elements)
    # It slices each element where that is, and computes with the slices.
    return traced.result(traced.trace.rebuilt(elements, computed), certain=False)


@models("jax.jvp", "jax.linearize", "jax.vjp")
def derived(call: LibraryCall) -> Value:
    """`jax.vjp(f, x)`, `jax.linearize(f, x)`: what f gives, and a function.

    Or, of `jax.jvp(f, xs, ts)`, what is derived of it.
    """
    traced = _Tracing(call, is_staged=False)
    is_jvp = call.name == "jax.jvp"
    operands: list[Value | None] | None = traced.rest(1)
    if is_jvp:
        primals = traced.given(1, "primals")
        only = next(iter(primals)) if primals and len(primals) == 1 else None
        operands = list(only.items) if isinstance(only, Sequence) and only.items else None
    has_aux = call.arguments.get(3 if is_jvp else None, "has_aux") is not None
    if operands is None or has_aux:
        return traced.result(None)
    return traced.result(pair(traced.call(0, "fun", operands), UNKNOWN))


class _Tracing:
    """One call that traces the functions that it is given."""

    def __init__(self, call: LibraryCall, *, is_staged: bool = True) -> None:
        on, node, state = call.on, call.node, call.state
        self._on = on
        self._node = node
        self._state = state
        self._is_staged = is_staged
        self._is_open = call.arguments.is_open
        self._laid_out = laid_out = LaidOut(on, node, state)
        self._held = [held for _, held in laid_out.operands]
        self._spread = on.spread(laid_out.operands, state)
        self._closed = [(place, on.closed_over(held, state)) for place, held in laid_out.operands]
        every = [held for _, held in self._spread]
        self._is_followed = (
            on.program.is_tracing
            or on.program.follows_compiled_calls
            or is_worth_following(every, state)
        )
        is_compiled = is_staged and call.name in OVER_WHOLE_ARRAYS
        self.trace = Trace(on, node, state, is_compiled=is_compiled)
        self._tracers = [*map(self.trace.tracers, self._held)] if self._is_followed else self._held
        self._numbers: set[int] = set()
        self._perhaps: set[Array] = set()
        """Tracers that may be handed back: nobody knows what is at their place in the other tree.
        """
        self._is_unknown = False
        """Something in it could not be followed."""

    # -- arguments --------------------------------------------------------------------------------

    def _of(self, position: int | None, *keywords: str) -> Layout | None:
        return None if self._is_open else self._laid_out.of(position, *keywords)

    def given(self, position: int | None, *keywords: str) -> Value | None:
        """Return an argument as tracers; None where it is not known."""
        layout = self._of(position, *keywords)
        return None if layout is None else assembled(layout, self._tracers)

    def plain(self, position: int | None, *keywords: str) -> Value:
        """Return an argument as it is."""
        layout = self._of(position, *keywords)
        return UNKNOWN if layout is None else assembled(layout, self._held)

    def is_scalar(self, position: int, keyword: str) -> None:
        """Note that an argument is a number: one that is not known seldom is an array."""
        layout = self._of(position, keyword)
        if isinstance(layout, int) and not any(True for _ in arrays(self._held[layout])):
            self._numbers.add(layout)

    def rest(self, first: int, *keywords: str) -> list[Value | None]:
        """Return the arguments from a position on, as tracers."""
        found: list[Value | None] = []
        while (held := self.given(first + len(found))) is not None:
            found.append(held)
        named = self.given(None, *keywords) if keywords else None
        return found if named is None else [named]

    # -- functions --------------------------------------------------------------------------------

    def call(self, position: int, keyword: str, operands: list[Value | None]) -> Value:
        """Return what the function at a position gives for tracers."""
        return self.called(self.plain(position, keyword), operands)

    def called(self, function: Value, operands: list[Value | None]) -> Value:
        """Return what a function gives for tracers."""
        if not self._is_followed or self._is_open:
            return UNKNOWN
        passed = CallArguments([UNKNOWN if held is None else held for held in operands])
        made = self.trace.call(function, passed)
        self._is_unknown |= made == UNKNOWN
        return made

    # -- what comes out ---------------------------------------------------------------------------

    def carried(
        self, before: Value | None, after: Value, read: AbstractSet[Array] = frozenset()
    ) -> Value:
        """Return the carry after a loop: of the structure that it had before it.

        `read`: what is never handed back, because the condition reads it.
        """
        if before is None:
            return UNKNOWN
        return self._partly(before, after, read)

    def touched(self, tree: Value) -> set[Array]:
        """Return the tracers of a tree that something was done with."""
        is_touched = self.trace.program.is_touched
        return {
            array
            for leaf in self.trace.leaves(tree)
            for array in arrays(leaf)
            if array.origin is not None and is_touched(array.origin.created)
        }

    def is_changed(self, before: Value, after: Value) -> bool:
        """Return whether a loop may give anything but what it was given."""
        same = self._same(before, after)
        every = {array for leaf in self.trace.leaves(before) for array in arrays(leaf)}
        return not every <= same or bool(self._perhaps) or bool(self._unknown(before))

    def met(self, made: list[Value]) -> Value | None:
        """Return what one of several branches gives: they give the same structure."""
        known = [held for held in made if held != UNKNOWN]
        if not known:
            return None
        result = known[0]
        for other in known[1:]:
            result = self._partly(result, other)
        return self._partly(result, result) if len(known) == 1 else result

    def _partly(self, before: Value, after: Value, read: AbstractSet[Array] = frozenset()) -> Value:
        """Return a tree like the first one, of leaves that are computed.

        Or, where the other tree has the same tracer at the same place, handed back.
        """
        same = self._same(before, after) - read
        perhaps = {array for tree in self._unknown(before) for array in arrays(tree.leaf)}
        # With what becomes another one a loop begins; of branches, one hands it back.
        for leaf in (*self.trace.leaves(before), *self.trace.leaves(after)):
            self.trace.returned_arrays.update(set(arrays(leaf)) - same)

        def kept(leaf: Value) -> Value:
            return computed(leaf) | {
                a for a in leaf if a in same or a in perhaps or isinstance(a, Plain)
            }

        return self.trace.rebuilt(before, kept)

    def _same(self, before: Value, after: Value) -> set[Array]:
        """Return the tracers that are, or may be, at the same place of two trees."""
        trees, state = self.trace.program.trees, self.trace.state
        same: set[Array] = set()
        _collect(trees.spread(before, state), trees.spread(after, state), same, self._perhaps)
        return same

    def _unknown(self, held: Value) -> list[AnyTree]:
        """Return the parts of a tree of which the structure is not known: they may be kept."""
        found: list[AnyTree] = []
        pending = [*self.trace.program.trees.spread(held, self.trace.state)]
        while pending:
            atom = pending.pop()
            if isinstance(atom, AnyTree):
                found.append(atom)
            elif isinstance(atom, Container):
                pending += [each for part in atom.parts() for each in part]
        return found

    def stacked(self, rows: Value | None, made: Value) -> Value:
        """Return what a function gives of each row, stacked: rows that it hands back are all."""
        every: set[Array] = set()
        for leaf in () if rows is None else self.trace.leaves(rows):
            every.update(arrays(leaf))
        for leaf in self.trace.leaves(made):
            self.trace.returned_arrays.update(set(arrays(leaf)) - every)
        return self.trace.rebuilt(
            made, lambda leaf: computed(leaf) | {atom for atom in leaf if atom in every}
        )

    def is_used(self, tree: Value) -> None:
        """Note that all of a tree is taken, whatever the functions do with it."""
        for leaf in self.trace.leaves(tree):
            self.trace.returned_arrays.update(arrays(leaf))

    def result(self, made: Value | None, *, certain: bool = True) -> Value:
        """Return what the call gives, which the functions give for tracers."""
        is_known = self._is_followed and made is not None and not self._is_unknown
        used: list[Operand] = [
            (place, self.trace.used(tracers) if is_known else held)
            for number, ((place, held), tracers) in enumerate(
                zip(self._spread, self._tracers, strict=True)
            )
            if number not in self._numbers
        ]
        if is_known and self._perhaps:
            for (place, held), tracers in zip(self._spread, self._tracers, strict=True):
                unsure = self._perhaps.intersection(arrays(tracers)) - self.trace.returned_arrays
                if unsure:
                    self._on.operations.may_compute(
                        self._on.index(self._node),
                        place,
                        held,
                        self._state,
                        in_loop=self._on.in_loop,
                    )
        closed = [(place, held) for place, held in self._closed if held]
        pins = [(self._on.index(self._node), pin) for pin in self.trace.pins]
        placed = self._on.computed(
            self._node, [*used, *closed, *pins], self._state, certain=certain
        )
        if made is None or not self._is_followed:
            return tree_of(placed) if self._is_staged else UNKNOWN
        return self.trace.given(made, placed)


def _collect(before: Value, after: Value, found: set[Array], perhaps: set[Array]) -> None:
    """Collect the tracers that are, or may be, at the same place of two trees."""
    is_open = any(isinstance(atom, Anything) for atom in after)
    for atom in before:
        if isinstance(atom, Array):
            if is_open or atom in after:
                found.add(atom)
            if is_open:
                perhaps.add(atom)
        elif isinstance(atom, Sequence):
            for position, item in enumerate(atom.items or ()):
                _collect(item, element_of(after, position) or UNKNOWN, found, perhaps)
            if atom.items is None:
                _collect(atom.element, element_of(after) or UNKNOWN, found, perhaps)
        elif isinstance(atom, Mapping):
            for key, item in atom.items:
                _collect(item, _at(after, key), found, perhaps)
            _collect(atom.element, element_of(after) or UNKNOWN, found, perhaps)


def _at(held: Value, key: Key) -> Value:
    """Return what dicts hold at a key, as they know it."""
    found = [dict(a.items).get(key, a.element) for a in held if isinstance(a, Mapping)]
    return join(*found) if found and len(found) == len(held) else UNKNOWN
