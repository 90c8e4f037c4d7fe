"""Models of optax: the state of an optimizer, and what it makes of gradients."""

from __future__ import annotations

from placement_lint.placement.domain.values import (
    UNKNOWN,
    Array,
    Optimizer,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.parameters import is_open, replaced, several
from placement_lint.placement.overlays.registry import ObjectCall, objects


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
    committed = frozenset(
        Array(atom.device, committed=True, via=atom.via, supposed=atom.supposed)
        for atom in leaves
        if isinstance(atom, Array) and atom.committed
    )
    uncommitted = any(not isinstance(atom, Array) or not atom.committed for atom in leaves)
    made = call.created() if uncommitted or not committed else frozenset[Array]()
    return tree_of(join(committed | made, counters))


@objects("optax.GradientTransformation.update")
def updates_of(call: ObjectCall) -> Value:
    """`tx.update(grads, state, params)`: updates like the gradients, and another state."""
    grads, state = call.argument(0, "updates", "grads"), call.argument(1, "state", "opt_state")
    if grads is None or state is None:
        call.escapes(*(held for _, held in call.operands))
        return UNKNOWN
    updates = replaced(call, grads, call.operands)
    leaves = call.arrays_of(state)
    if not leaves or is_open(leaves):
        return several(updates, UNKNOWN)
    moved = call.computed([operand for operand in call.operands if operand[1] == state])
    return several(updates, tree_of(join(moved, call.created(is_small=True))))


def initialised(call: ObjectCall, optimizer: Value, params: Value) -> Value:
    """Return the state that an optimizer begins with."""
    init = call.program.classes.attribute(optimizer, "init", call.state)
    return call.called(init, params) if init else UNKNOWN


__all__ = ["initialised", "state_of", "updates_of", "value"]
