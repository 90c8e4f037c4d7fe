"""Models of flax.nnx: layers and variables, and modules that are split, merged and trained."""

from __future__ import annotations

import libcst as cst

from placement_lint.jaxmodel.libraries.flax import NNX_LAYERS, NNX_VARIABLES, VARIABLE
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AnyTree,
    Array,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of, without_variables
from placement_lint.placement.overlays.optax import initialised
from placement_lint.placement.overlays.parameters import (
    drawn,
    held_by,
    in_an_object,
    is_open,
    of_layer,
    several,
)
from placement_lint.placement.overlays.registry import ObjectCall, objects
from placement_lint.syntax.calls import Arguments

_MODULE = "flax.nnx.Module"
_RNGS = "flax.nnx.Rngs"
_STATE = "flax.nnx.State"
_OPTIMIZER = "flax.nnx.Optimizer"
_OF_TREE = f"{VARIABLE}.of_tree"
"""Here: a variable that holds something other than one array."""


@objects(_RNGS)
def rngs(call: ObjectCall) -> Value:
    """`nnx.Rngs(0)`, `nnx.Rngs(params=key)`: keys, which are where they are given."""
    given = [held for _, held in call.operands]
    keys = join(call.created(is_small=True), *(call.arrays_of(held) for held in given))
    return held_by(_RNGS, keys)


@objects(f"{_RNGS}.__call__")
def key(call: ObjectCall) -> Value:
    """`rngs.params()`: a key."""
    leaves = call.receiver.leaf if isinstance(call.receiver, AnyTree) else UNKNOWN
    return call.computed([(call.on.index(call.node), leaves)])


@objects(*(f"flax.nnx.{name}" for name in NNX_LAYERS))
def layer(call: ObjectCall) -> Value:
    """`nnx.Linear(4, 4, rngs=rngs)`: parameters, keys and statistics."""
    keys = call.argument(None, "rngs")
    if call.name.endswith(".Dropout"):
        return held_by(_MODULE, NOTHING)
    return held_by(_MODULE, in_an_object(drawn(call, keys)))


@objects(*(f"flax.nnx.{name}" for name in NNX_VARIABLES))
def variable(call: ObjectCall) -> Value:
    """`nnx.Param(x)`: holds x."""
    held = call.argument(0, "value")
    if held is None:
        return UNKNOWN
    is_array = all(isinstance(atom, Array) for atom in held)
    return held_by(VARIABLE if is_array else _OF_TREE, call.arrays_of(held))


@objects(f"{VARIABLE}.get_value", f"{VARIABLE}.get_raw_value")
def held_by_variable(call: ObjectCall) -> Value:
    """`variable.get_value()`: what it holds."""
    return UNKNOWN if call.receiver is None else without_variables(value(call.receiver))


@objects("flax.nnx.Sequential")
def layers(call: ObjectCall) -> Value:
    """`nnx.Sequential(first, second)`: the arrays of all of them."""
    leaves = [call.arrays_of(held) for _, held in call.operands]
    return held_by(_MODULE, join(*leaves) if leaves else NOTHING)


@objects("flax.nnx.Dict", "flax.nnx.List", "flax.nnx.data")
def container(call: ObjectCall) -> Value:
    """`nnx.List(layers)`: a container of the same modules."""
    return call.argument(0, "it", "value") or UNKNOWN


@objects(f"{_MODULE}.__call__")
def called(call: ObjectCall) -> Value:
    """`layer(x)`: computes with its parameters."""
    return of_layer(call)


@objects("flax.nnx.split")
def split(call: ObjectCall) -> Value:
    """`nnx.split(module, *filters)`: what it is made of, and a state for each filter."""
    return several(PLAIN, *_states(call))


@objects("flax.nnx.state")
def state(call: ObjectCall) -> Value:
    """`nnx.state(module, *filters)`: a state, or one for each of several filters."""
    states = _states(call)
    return several(*states) if len(states) > 1 else states[0]


def _states(call: ObjectCall) -> list[Value]:
    module = call.argument(0, "node", "graph_node") or UNKNOWN
    filters = len(call.arguments.positional) - 1
    leaves = call.arrays_of(module)
    call.program.objects.take_apart(module, call.state)
    is_known = bool(leaves) and not is_open(leaves) and call.arguments.rest is None
    return [held_by(_STATE, leaves) if is_known else UNKNOWN for _ in range(max(filters, 1))]


@objects("flax.nnx.merge")
def merge(call: ObjectCall) -> Value:
    """`nnx.merge(graphdef, *states)`: a module of the arrays of the states."""
    given = [held for _, held in call.operands[1:]]
    leaves = join(*map(call.arrays_of, given)) if given else UNKNOWN
    is_known = bool(leaves) and call.arguments.rest is None
    return held_by(_MODULE, leaves) if is_known else UNKNOWN


@objects(*(f"{_MODULE}.{name}" for name in ("eval", "set_attributes", "train")))
def switched(call: ObjectCall) -> Value:
    """`module.eval()`: sets a flag of each layer."""
    call.escapes(*(held for _, held in call.operands))
    return PLAIN


@objects("flax.nnx.update")
def given_a_state(call: ObjectCall) -> Value:
    """`nnx.update(module, state)`: gives the module other arrays, perhaps all of them."""
    _changed(call, 0, "node")
    call.escapes(*(held for _, held in call.operands))
    return NONE


def _changed(call: ObjectCall, position: int, *names: str) -> None:
    """Note that an argument is a module whose arrays are others from now on."""
    held = call.argument(position, *names)
    if held is None:
        return
    call.on.targets.spoil(held, call.state, UNKNOWN)
    node = Arguments(call.node).get(position, *names) if isinstance(call.node, cst.Call) else None
    if node is not None and any(isinstance(atom, AnyTree) for atom in held):
        call.on.targets.loosen(node, call.state)


@objects(f"{_STATE}.to_pure_dict")
def as_dicts(call: ObjectCall) -> Value:
    """`state.to_pure_dict()`: dicts of the same arrays."""
    return UNKNOWN if call.receiver is None else tree_of(value(call.receiver))


@objects("flax.nnx.clone", "flax.nnx.to_pure_dict")
def same(call: ObjectCall) -> Value:
    """`nnx.clone(module)`, `nnx.to_pure_dict(state)`: of the same arrays, at least as many."""
    held = call.argument(0, "node", "state")
    if held is None:
        return UNKNOWN
    made = call.rebuilt(held, lambda leaf: leaf)
    return tree_of(made) if call.name.endswith("_dict") else made


@objects("flax.nnx.to_flat_state", f"{_STATE}.flat_state")
def flat(call: ObjectCall) -> Value:
    """`nnx.to_flat_state(state)`: pairs of a path and a variable."""
    held = call.argument(0, "state") if call.receiver is None else value(call.receiver)
    leaves = call.arrays_of(held or UNKNOWN)
    if not leaves or is_open(leaves):
        return UNKNOWN
    return value(Sequence(None, several(PLAIN, held_by(VARIABLE, leaves))))


@objects(_OPTIMIZER, "flax.nnx.ModelAndOptimizer")
def optimizer(call: ObjectCall) -> Value:
    """`nnx.Optimizer(model, tx, wrt=nnx.Param)`: the state of an optimizer."""
    model, tx = call.argument(0, "model"), call.argument(1, "tx")
    if model is None or tx is None:
        return UNKNOWN
    if call.name != _OPTIMIZER or call.argument(2, "wrt") is None:
        # It holds the model, which `update` changes.
        call.on.targets.spoil(model, call.state, UNKNOWN)
    made = initialised(call, tx, model)
    leaves = call.arrays_of(made)
    if not leaves or is_open(leaves):
        return UNKNOWN
    return held_by(_OPTIMIZER, in_an_object(leaves))


@objects(f"{_OPTIMIZER}.update")
def updated(call: ObjectCall) -> Value:
    """`optimizer.update(model, grads)`: gives the model, and itself, other arrays."""
    for position, (_, held) in enumerate(call.operands):
        _changed(call, position)
        call.escapes(held)
    return PLAIN
