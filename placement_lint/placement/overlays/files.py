"""Models of what reads arrays back: pickles, checkpoints, pretrained models, datasets."""

from __future__ import annotations

import libcst as cst

from placement_lint.jaxmodel.libraries.transformers import FLAX_MODELS, PRETRAINED
from placement_lint.placement.domain.contents import committed_to
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.library_values import AbstractArray
from placement_lint.placement.domain.program_values import Instance
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
from placement_lint.placement.overlays.jax_devices import described
from placement_lint.placement.overlays.namespaces import namespace_of
from placement_lint.placement.overlays.parameters import held_by, in_an_object, several
from placement_lint.placement.overlays.registry import ObjectCall, objects

_STANDARD = "orbax.checkpoint.StandardCheckpointer"
_MANAGER = "orbax.checkpoint.CheckpointManager"
_CHECKPOINTERS = tuple(
    f"orbax.checkpoint.{name}"
    for name in ("AsyncCheckpointer", "Checkpointer", "PyTreeCheckpointer")
)


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


@objects(_STANDARD, _MANAGER, *_CHECKPOINTERS)
def checkpointer(call: ObjectCall) -> Value:
    """`ocp.StandardCheckpointer()`, `ocp.CheckpointManager(path)`."""
    call.escapes(*(held for _, held in call.operands))
    return value(AnyTree(NOTHING, call.name))


@objects("orbax.checkpoint.ArrayRestoreArgs")
def array_wanted(call: ObjectCall) -> Value:
    """`ocp.ArrayRestoreArgs(sharding=s)`."""
    sharding = call.argument(None, "sharding")
    return (NOTHING if sharding is None else described(sharding)) or UNKNOWN


@objects("orbax.checkpoint.checkpoint_utils.construct_restore_args")
def arrays_wanted(call: ObjectCall) -> Value:
    """`ocp.checkpoint_utils.construct_restore_args(target)`: to where the arrays of that are."""
    target = call.argument(0, "target")
    shardings = call.argument(1, "sharding_tree")
    return target if target is not None and shardings is None else UNKNOWN


@objects("orbax.checkpoint.args.StandardRestore")
def wanted(call: ObjectCall) -> Value:
    """`ocp.args.StandardRestore(target)`."""
    return _wanted(call.argument(0, "item"))


@objects("orbax.checkpoint.args.PyTreeRestore")
def tree_wanted(call: ObjectCall) -> Value:
    """`ocp.args.PyTreeRestore(target, restore_args=args)`: the arguments say where."""
    return _wanted(call.argument(None, "restore_args"))


def _wanted(item: Value | None) -> Value:
    return UNKNOWN if item is None else value(Sequence((item,), item, None, ("item",)))


@objects(f"{_STANDARD}.restore")
def restored(call: ObjectCall) -> Value:
    """`checkpointer.restore(path, target)`: each array committed to where that of the target is.

    Without a target, where it was when it was saved: that is not known.
    """
    return _like(call, call.argument(1, "target"))


@objects(*(f"{each}.restore" for each in (_MANAGER, *_CHECKPOINTERS)))
def restored_step(call: ObjectCall) -> Value:
    """`manager.restore(step, args=ocp.args.StandardRestore(target))`.

    Or `ocp.PyTreeCheckpointer().restore(path, restore_args=args)`.
    """
    args = call.argument(None, "args")
    if args is None:
        return _like(call, call.argument(None, "restore_args"))
    only = sole(args)
    if isinstance(only, Instance) and call.program.classes.is_namespace(only):
        # Of several: `ocp.args.Composite(state=…, step=…)`.
        items = call.program.trees.fields(only, call.state)
        return namespace_of(call, {name: _restored(call, held) for name, held in items.items()})
    return _restored(call, args)


def _restored(call: ObjectCall, args: Value) -> Value:
    only = sole(args)
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
        return held_by(PRETRAINED, in_an_object(call.created()))
    if not isinstance(given, cst.Name) or given.value != "False":
        return UNKNOWN
    params = Array(Device("cpu", 0), committed=True, via=frozenset({call.place}))
    return several(value(AnyTree(NOTHING, PRETRAINED)), value(AnyTree(value(params))))


# -- datasets --------------------------------------------------------------------------------------


@objects("tensorflow_datasets.as_numpy")
def as_numpy(call: ObjectCall) -> Value:
    """`tfds.as_numpy(dataset)`: gives dicts of NumPy arrays, however often it is iterated over."""
    call.escapes(*(held for _, held in call.operands))
    return value(Sequence(None, value(AnyTree(HOST))))
