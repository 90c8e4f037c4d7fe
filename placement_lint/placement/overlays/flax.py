"""Models of flax: Linen modules, which make parameters, and training states, which hold them."""

from __future__ import annotations

from placement_lint.jaxmodel.libraries.flax import FLATTENING, FREEZING, LINEN_LAYERS
from placement_lint.jaxmodel.libraries.transformers import PRETRAINED
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import (
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AnyTree,
    Mapping,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.pytrees import named_tree_of, tree_of
from placement_lint.placement.overlays.optax import initialised
from placement_lint.placement.overlays.parameters import (
    applied,
    drawn,
    is_open,
    of_layer,
    receiver_place,
    replaced,
    several,
)
from placement_lint.placement.overlays.registry import ObjectCall, objects

_MODULE = "flax.linen.Module"
_STATE = "flax.training.train_state.TrainState"


# -- Linen -----------------------------------------------------------------------------------------


@objects(*(f"flax.linen.{name}" for name in LINEN_LAYERS))
def layer(call: ObjectCall) -> Value:
    """`nn.Dense(4)`: a module without parameters."""
    call.escapes(*(held for _, held in call.operands))
    return value(AnyTree(NOTHING, _MODULE))


@objects(f"{_MODULE}.init", f"{_MODULE}.lazy_init", f"{_MODULE}.init_with_output")
def init(call: ObjectCall) -> Value:
    """`model.init(key, x)`: a dict of parameters; the module runs once, on what it is given."""
    keys = call.argument(0, "rngs")
    call.escapes(*(held for _, held in call.operands[1:]))
    made = named_tree_of(drawn(call, keys))
    return several(UNKNOWN, made) if call.name.endswith("with_output") else made


@objects(f"{_MODULE}.apply")
def apply(call: ObjectCall) -> Value:
    """`model.apply(variables, x)`: computes with all of them."""
    return applied(call)


@objects(f"{_MODULE}.bind")
def bind(call: ObjectCall) -> Value:
    """`model.bind(variables)`: a module that has parameters."""
    variables = call.argument(0, "variables") or UNKNOWN
    leaves = call.arrays_of(variables)
    made = tree_of(leaves) if leaves else UNKNOWN
    return frozenset(
        AnyTree(atom.leaf, _MODULE) if isinstance(atom, AnyTree) else atom for atom in made
    )


@objects(f"{PRETRAINED}.__call__", f"{PRETRAINED}.generate")
def pretrained(call: ObjectCall) -> Value:
    """`model(**tokens, params=params)`: computes with these parameters, else with its own.

    `tokens` are what a tokenizer gives, without parameters among them.
    """
    if call.keyword("params") is not None:
        return applied(call)
    return of_layer(call)


@objects(f"{_MODULE}.__call__")
def called(call: ObjectCall) -> Value:
    """`module(x)`: computes with its parameters, if it is bound to any."""
    return of_layer(call)


# -- trees of parameters ---------------------------------------------------------------------------


@objects(*FREEZING)
def frozen(call: ObjectCall) -> Value:
    """`freeze(params)`: a tree of the same arrays."""
    held = call.argument(0, "x", "xs")
    return UNKNOWN if held is None else call.rebuilt(held, lambda leaf: leaf)


@objects("flax.serialization.to_state_dict", *FLATTENING)
def regrouped(call: ObjectCall) -> Value:
    """`flatten_dict(params)`: the same arrays, in another tree; of one level, where it flattens."""
    held = call.argument(0, "xs", "target") or UNKNOWN
    call.program.objects.take_apart(held, call.state)
    leaves = call.arrays_of(held)
    if not leaves or is_open(leaves):
        return UNKNOWN
    is_flat = call.name.endswith(".flatten_dict")
    return value(Mapping((), leaves)) if is_flat else named_tree_of(leaves)


@objects("flax.traverse_util.path_aware_map")
def mapped_by_path(call: ObjectCall) -> Value:
    """`path_aware_map(f, params)`: f is given the path of each leaf, and the leaf."""
    function, tree = call.argument(0, "f"), call.argument(1, "nested_dict")
    if function is None or tree is None:
        return UNKNOWN
    known: dict[Value, Value] = {}

    def called(leaf: Value) -> Value:
        if leaf not in known:
            known[leaf] = call.called(function, PLAIN, leaf)
        return known[leaf]

    return call.rebuilt(tree, called)


@objects("flax.core.pop", "flax.core.frozen_dict.pop")
def popped(call: ObjectCall) -> Value:
    """`flax.core.pop(variables, "params")`: the others, and these."""
    leaves = call.arrays_of(call.argument(0, "x") or UNKNOWN)
    if not leaves or is_open(leaves):
        return UNKNOWN
    return several(named_tree_of(leaves), named_tree_of(leaves))


@objects("flax.core.copy", "flax.core.frozen_dict.copy")
def copied(call: ObjectCall) -> Value:
    """`flax.core.copy(variables, {"params": p})`: the same arrays, and others in their place."""
    given = [call.argument(0, "x"), call.argument(1, "add_or_replace")]
    leaves = join(*(call.arrays_of(held) for held in given if held is not None))
    return named_tree_of(leaves) if leaves and not is_open(leaves) else UNKNOWN


@objects("flax.serialization.from_state_dict")
def restored(call: ObjectCall) -> Value:
    """`from_state_dict(target, state)`: a tree like the target, of the arrays of the state."""
    target, state = call.argument(0, "target"), call.argument(1, "state")
    if target is None or state is None:
        return UNKNOWN
    leaves = call.arrays_of(state)
    call.program.objects.take_apart(target, call.state)
    if not leaves or is_open(leaves):
        return UNKNOWN
    return call.rebuilt(target, lambda _: leaves)


@objects("flax.serialization.from_bytes")
def read_back(call: ObjectCall) -> Value:
    """`from_bytes(target, data)`: a tree like the target, of NumPy arrays."""
    target = call.argument(0, "target")
    if target is None or target <= NONE or not call.arrays_of(target):
        return HOST
    call.program.objects.take_apart(target, call.state)
    return call.rebuilt(target, lambda _: HOST)


# -- training states -------------------------------------------------------------------------------


@objects(f"{_STATE}.create")
def create(call: ObjectCall) -> Value:
    """`TrainState.create(apply_fn=f, params=p, tx=optimizer)`: with the state of the optimizer."""
    given = call.arguments.keywords
    params, tx = given.get("params", UNKNOWN), given.get("tx", UNKNOWN)
    fields = {
        "step": PLAIN,
        "apply_fn": given.get("apply_fn", UNKNOWN),
        "params": params,
        "tx": tx,
        "opt_state": initialised(call, tx, params),
    }
    others = {name: held for name, held in given.items() if name not in fields}
    if isinstance(call.receiver, Class):
        made = Instance(call.receiver.place, call.place)
        call.program.trees.make(made, {**fields, **others}, call.state)
        return value(made)
    return _state(fields)


def _state(fields: dict[str, Value]) -> Value:
    every = tuple(fields.values())
    return value(Sequence(every, join(*every), None, tuple(fields), library=_STATE))


def _with_fields(call: ObjectCall, changed: dict[str, Value]) -> Value:
    """Return a training state like the one whose method is called, with some other fields."""
    held = call.receiver
    if isinstance(held, Sequence) and held.items is not None:
        return _state({**dict(zip(held.names, held.items, strict=True)), **changed})
    if isinstance(held, Instance):
        fields = call.program.trees.fields(held, call.state)
        made = Instance(held.cls, held.site, call.place, held.nth)
        call.program.trees.make(made, {**fields, **changed}, call.state)
        return value(made)
    return UNKNOWN


def _field(call: ObjectCall, name: str) -> Value:
    if call.receiver is None:
        return UNKNOWN
    return call.program.classes.attribute(value(call.receiver), name, call.state)


@objects(f"{_STATE}.replace")
def with_others(call: ObjectCall) -> Value:
    """`state.replace(params=p)`: another state."""
    if call.arguments.more is not None:
        call.escapes(*(held for _, held in call.operands))
        return UNKNOWN
    return _with_fields(call, call.arguments.keywords)


@objects(f"{_STATE}.apply_gradients")
def updated(call: ObjectCall) -> Value:
    """`state.apply_gradients(grads=g)`: other parameters, and another state of the optimizer."""
    given = dict(call.arguments.keywords)
    grads = given.pop("grads", UNKNOWN)
    place = receiver_place(call)
    gradients = [operand for operand in call.operands if operand[1] == grads]
    fields = {}
    for name in ("params", "opt_state"):
        held = _field(call, name)
        fields[name] = replaced(call, held, [(place, held), *gradients])
    return _with_fields(call, {"step": PLAIN, **fields, **given})


__all__ = ["apply", "bind", "called", "create", "init", "layer", "updated", "with_others"]
