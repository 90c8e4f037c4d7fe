"""Models of what reads arrays back: pickles, checkpoints, pretrained models, datasets."""

from __future__ import annotations

import libcst as cst

from placement_lint.jaxmodel.libraries.transformers import FLAX_MODELS
from placement_lint.placement.domain.contents import committed_to
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.library_values import AbstractArray
from placement_lint.placement.domain.state import chosen_defaults
from placement_lint.placement.domain.values import (
    HOST,
    NOTHING,
    UNKNOWN,
    AnyTree,
    Array,
    Host,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.parameters import held_by, in_an_object, several
from placement_lint.placement.overlays.registry import ObjectCall, objects

_STANDARD = "orbax.checkpoint.StandardCheckpointer"
_MANAGER = "orbax.checkpoint.CheckpointManager"
_RESTORED = "orbax.checkpoint.args.StandardRestore"
_PRETRAINED = "transformers.FlaxPreTrainedModel"


# -- pickles ---------------------------------------------------------------------------------------


@objects("cloudpickle.load", "joblib.load", "pickle.load")
def unpickled(call: ObjectCall) -> Value:
    """`pickle.load(file)`: anything; JAX arrays among it are made on the default device.

    Who reads a pickle under another default device has JAX arrays in it, or wants no such thing.
    """
    call.escapes(*(held for _, held in call.operands))
    if not chosen_defaults(call.state) or not call.state.blocks:
        return UNKNOWN
    return held_by("", in_an_object(call.created(certain=False)))


# -- checkpoints -----------------------------------------------------------------------------------


@objects(_STANDARD, _MANAGER)
def checkpointer(call: ObjectCall) -> Value:
    """`ocp.StandardCheckpointer()`, `ocp.CheckpointManager(path)`."""
    call.escapes(*(held for _, held in call.operands))
    return value(AnyTree(NOTHING, call.name))


@objects(_RESTORED)
def wanted(call: ObjectCall) -> Value:
    """`ocp.args.StandardRestore(target)`."""
    item = call.argument(0, "item")
    return UNKNOWN if item is None else value(Sequence((item,), item, None, ("item",)))


@objects(f"{_STANDARD}.restore")
def restored(call: ObjectCall) -> Value:
    """`checkpointer.restore(path, target)`: each array committed to where that of the target is.

    Without a target, where it was when it was saved: that is not known.
    """
    return _like(call, call.argument(1, "target"))


@objects(f"{_MANAGER}.restore")
def restored_step(call: ObjectCall) -> Value:
    """`manager.restore(step, args=ocp.args.StandardRestore(target))`."""
    args = call.argument(None, "args")
    only = None if args is None else sole(args)
    if isinstance(only, Sequence) and only.names == ("item",):
        return _like(call, only.element)
    return UNKNOWN


def _like(call: ObjectCall, target: Value | None) -> Value:
    if target is None:
        return UNKNOWN
    by = frozenset({call.place})

    def committed(leaf: Value) -> Value:
        found: list[Value] = []
        for atom in leaf:
            if isinstance(atom, Array):
                found.append(committed_to(value(atom), [atom.device], by))
            elif isinstance(atom, AbstractArray):
                found.append(committed_to(HOST, atom.devices, by, atom.sharding))
            else:
                found.append(value(atom) if isinstance(atom, Host | Plain) else UNKNOWN)
        return join(*found) if found else UNKNOWN

    if any(isinstance(atom, AbstractArray) for atom in target):
        # Of shapes of which nothing is known, `jax.eval_shape` gives a tree.
        return tree_of(committed(target))
    return call.rebuilt(target, committed)


# -- pretrained models -----------------------------------------------------------------------------


@objects(*(f"transformers.{name}.from_pretrained" for name in FLAX_MODELS))
def pretrained(call: ObjectCall) -> Value:
    """`FlaxAutoModel.from_pretrained(name)`: with its parameters on the default device.

    With `_do_init=False`, they come beside the model, committed to the host (measured with 4.49).
    """
    given = call.keyword("_do_init")
    if given is None:
        return held_by(_PRETRAINED, in_an_object(call.created()))
    if not isinstance(given, cst.Name) or given.value != "False":
        return UNKNOWN
    params = Array(Device("cpu", 0), committed=True, via=frozenset({call.place}))
    return several(value(AnyTree(NOTHING, _PRETRAINED)), value(AnyTree(value(params))))


# -- datasets --------------------------------------------------------------------------------------


@objects("tensorflow_datasets.as_numpy")
def as_numpy(call: ObjectCall) -> Value:
    """`tfds.as_numpy(dataset)`: gives dicts of NumPy arrays, however often it is iterated over."""
    call.escapes(*(held for _, held in call.operands))
    return value(Sequence(None, value(AnyTree(HOST))))
