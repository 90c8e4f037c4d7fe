"""Models of optax: the state of an optimizer, and what it makes of gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.libraries.optax import (
    ACCUMULATING,
    COMBINING,
    INJECTING,
    LIBRARY,
    LOSSES,
    WITHOUT_MOMENTS,
    WRAPPING,
)
from placement_lint.placement.domain.contents import MAX_DEPTH
from placement_lint.placement.domain.library_values import Optimizer
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Function
from placement_lint.placement.domain.values import (
    NONE,
    UNKNOWN,
    Array,
    LibraryMethod,
    Mapping,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.operations import is_of_host
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.parameters import constants_like, is_open, replaced, several
from placement_lint.placement.overlays.registry import ObjectCall, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.engine.arguments import Operand


_WITH_MOMENTS = LIBRARY.optimizers_with_moments
_OWN = ("optax.GradientTransformation", "optax.GradientTransformationExtraArgs")
_FUNCTIONS = ("init", "update")
_INJECTED = "optax.InjectedOptimizer.__call__"


# -- what makes optimizers -------------------------------------------------------------------------


@objects(*_WITH_MOMENTS, *WITHOUT_MOMENTS, "optax.sgd")
def made(call: ObjectCall) -> Value:
    """`optax.adam(…)`: an optimizer that keeps moments, or does not."""
    if call.name != "optax.sgd":
        return value(Optimizer(call.name, call.name in _WITH_MOMENTS))
    momentum = call.argument(1, "momentum")
    return value(Optimizer(call.name, keeps_moments=momentum not in {None, NONE}))


@objects(*COMBINING, *WRAPPING, ACCUMULATING)
def combined(call: ObjectCall) -> Value:
    """`optax.chain(…)`, `optax.multi_transform({…}, labels)`: keeps moments if a part does."""
    given = [held for _, held in call.operands if call.name in COMBINING]
    first = call.argument(0, "inner", "opt", "tx")
    given += [] if first is None else [first]
    parts = [each for held in given for each in _optimizers_in(held)]
    own = frozenset(each for held in given for each in _own_in(held))
    if not parts and not own and call.name not in COMBINING:
        return UNKNOWN
    keeping = [part for part in parts if part.keeps_moments]
    if keeping:
        return value(replace(keeping[0], is_init=False)) | own
    return value(Optimizer(call.name, keeps_moments=call.name == ACCUMULATING)) | own


@objects(*_OWN)
def transformation(call: ObjectCall) -> Value:
    """`optax.GradientTransformation(init, update)`: one of the program's own functions."""
    init, update = call.argument(0, "init"), call.argument(1, "update")
    if init is None or update is None:
        return UNKNOWN
    return value(Sequence((init, update), join(init, update), None, _FUNCTIONS))


def _own_in(held: Value, depth: int = MAX_DEPTH) -> Iterator[Sequence]:
    """Yield the transformations that the program itself defines."""
    for atom in in_order(held):
        if isinstance(atom, Sequence) and atom.names == _FUNCTIONS:
            yield atom
        elif isinstance(atom, Mapping | Sequence) and depth:
            for part in atom.parts():
                yield from _own_in(part, depth - 1)


def _optimizers_in(held: Value, depth: int = MAX_DEPTH) -> Iterator[Optimizer]:
    for atom in in_order(held):
        if isinstance(atom, Optimizer):
            yield atom
        elif isinstance(atom, Mapping | Sequence) and depth:
            for part in atom.parts():
                yield from _optimizers_in(part, depth - 1)


@objects(*INJECTING)
def injecting(call: ObjectCall) -> Value:
    """`optax.inject_hyperparams(optax.adam)`: makes such an optimizer once it is called."""
    name = call.named(0, "inner_factory")
    if name in _WITH_MOMENTS:
        return value(LibraryMethod(_INJECTED, Optimizer(name)))
    factory = sole(call.argument(0, "inner_factory") or UNKNOWN)
    if isinstance(factory, Function):
        return value(LibraryMethod(_INJECTED, factory))
    return UNKNOWN


@objects(_INJECTED)
def injected(call: ObjectCall) -> Value:
    """`optax.inject_hyperparams(optax.adam)(learning_rate=0.1)`: an optimizer."""
    if not isinstance(call.receiver, Function):
        return UNKNOWN if call.receiver is None else value(call.receiver)
    # The numbers that it is given become arrays.
    objects_of = call.on.calls.objects
    return objects_of.called_with(call.node, value(call.receiver), call.arguments, call.state)


@objects(*LOSSES)
def loss(call: ObjectCall) -> Value:
    """`optax.losses.huber_loss(a, b)`: computes."""
    return call.computed(call.operands)


# -- what they make --------------------------------------------------------------------------------


@objects("optax.GradientTransformation.init")
def state_of(call: ObjectCall) -> Value:
    """`tx.init(params)`: constants of the shapes of the parameters, and counters.

    They are on the default device; those of a committed parameter are where that is.
    """
    params = call.argument(0, "params")
    if params is None:
        return UNKNOWN
    leaves = call.arrays_of(params)
    counters = call.created(is_small=True)
    keeps = isinstance(call.receiver, Optimizer) and call.receiver.keeps_moments
    if not keeps:
        return tree_of(counters)
    if not leaves or is_open(leaves):
        return UNKNOWN
    return tree_of(join(constants_like(call, leaves), counters))


@objects("optax.GradientTransformation.update")
def updates_of(call: ObjectCall) -> Value:
    """`tx.update(grads, state, params)`: updates like the gradients, and another state."""
    grads, state = call.argument(0, "updates", "grads"), call.argument(1, "state", "opt_state")
    if grads is None or state is None:
        call.escapes(*(held for _, held in call.operands))
        return UNKNOWN
    updates = replaced(call, grads, call.operands)
    leaves = call.arrays_of(state)
    if isinstance(call.receiver, Optimizer) and call.receiver.keeps_moments:
        _saw_memories(call, grads, state)
    if not leaves or is_open(leaves):
        return several(updates, UNKNOWN)
    moved = call.computed([operand for operand in call.operands if operand[1] == state])
    return several(updates, tree_of(join(moved, call.created(is_small=True))))


def _saw_memories(call: ObjectCall, grads: Value, state: Value) -> None:
    """Remember moments in the memory of the host, each of which meets a gradient.

    The counters beside them are scalars, which may be anywhere.
    """
    found: list[Operand] = []
    for given in (grads, state):
        place = next((index for index, held in call.operands if held == given), None)
        leaves = call.arrays_of(given)
        large = frozenset(a for a in leaves if not isinstance(a, Array) or not a.is_small)
        if place is None or not large:
            return
        found.append((place, large))
    if all(isinstance(a, Array) and is_of_host(a) for a in found[1][1]):
        at = call.on.index(call.node)
        call.on.record.sharded_calls.saw_host_memory(at, found)


def initialised(call: ObjectCall, optimizer: Value, params: Value) -> Value:
    """Return the state that an optimizer begins with."""
    init = call.program.classes.attribute(optimizer, "init", call.state)
    return call.called(init, params) if init else UNKNOWN


__all__ = ["initialised", "state_of", "updates_of", "value"]
