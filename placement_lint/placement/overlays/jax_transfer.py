"""Evaluation of calls by the transfer table: one method for each effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import jax_random, transfer
from placement_lint.jaxmodel.libraries import libraries
from placement_lint.jaxmodel.sharded import UNCOMMITTED
from placement_lint.jaxmodel.sharded_operations import SPLIT_ALIKE
from placement_lint.jaxmodel.structures import SEQUENCES, SEQUENCES_UNASKED
from placement_lint.jaxmodel.transfer import Effect, Gives
from placement_lint.placement.domain.containers import anonymous
from placement_lint.placement.domain.contents import arrays, committed_to
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.library_values import Pickled
from placement_lint.placement.domain.places import ArrayOrigin
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.state import SYSTEM
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Container,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.operand_layouts import LaidOut, assembled
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.engine.split_alike import split_alike
from placement_lint.placement.overlays.jax_devices import devices_of
from placement_lint.placement.overlays.jax_sharding import (
    ASSEMBLING,
    place_of,
    put_to,
    saw_put,
    saw_target,
)
from placement_lint.placement.overlays.like_creators import made_like
from placement_lint.placement.overlays.methods import is_own, ready_pieces
from placement_lint.placement.overlays.registry import LibraryCall, applies, models
from placement_lint.placement.overlays.trees_of_shardings import put_to_each
from placement_lint.syntax.calls import Arguments, is_none

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Operand

_TAKING_APART = frozenset[str]().union(*(library.taking_apart for library in libraries()))
_IMPORTS_FROM_DLPACK = frozenset({"jax.dlpack.from_dlpack", "jax.numpy.from_dlpack"})
"""From the host they give arrays committed there, whatever the default device (measured)."""
_NAMING_THE_DEVICE = _IMPORTS_FROM_DLPACK | {"jax.device_put"}
"""Calls that take the device as the second argument."""
_PUTTING = frozenset({"jax.device_put", "jax.lax.with_sharding_constraint"})
"""Calls that take a sharding as the second argument."""
_PIECE_BY_PIECE = frozenset({"jax.numpy.dstack", "jax.numpy.hstack", "jax.numpy.vstack"})
"""Operations that take uncommitted arrays to the default device first, one by one: by
`jnp.atleast_1d` and its like, which compute also where there is nothing to do (all versions)."""
_OF_ONE_TYPE = frozenset({
    "jax.numpy.column_stack", "jax.numpy.concat", "jax.numpy.concatenate", "jax.numpy.stack",
})  # fmt: skip
"""Operations that first convert, one by one, those of another type: weak ones beside others."""


def _result_on_device(
    call: LibraryCall, made: Value, device: cst.BaseExpression | None, names_one: bool | None
) -> Value:
    """Commit what was made to the `device=` argument, where that names one."""
    sharding = saw_target(call, device)
    is_ignored = call.name in UNCOMMITTED and call.program.running is Running.COMPILED
    if names_one is False or (is_ignored and sharding is not None):
        return made
    by = frozenset({call.place})
    placed = committed_to(made, devices_of(call, device), by, sharding)
    return placed if names_one else join(made, placed)


def _names_device(call: LibraryCall, node: cst.BaseExpression | None) -> bool | None:
    """Return whether an argument names a device; None: or it is None, which names none."""
    if node is None or is_none(node):
        return False
    held = call.evaluate(node)
    return False if held == NONE else None if held & NONE else True


@applies(Effect.CREATE)
def create(call: LibraryCall) -> Value:
    """Apply a creator: its arguments are shapes and values."""
    device = call.arguments.get(None, "device")
    first = call.arguments.get(0, "a", "x", "array")
    held = call.argument(first)
    for argument in call.node.args:
        if argument.value is not first and argument.value is not device:
            call.evaluate(argument.value)
    weak = call.name == "jax.numpy.full" and call.arguments.get(2, "dtype") is None
    weak = weak and _is_number(call, call.arguments.get(1, "fill_value"))
    made = call.created(is_weak=weak)
    names_one = _names_device(call, device)
    if call.name in transfer.LIKE_CREATORS and not names_one:
        keeps_type = call.arguments.get(None, "dtype") is None
        made = made_like(call, made, held, keeps_type=keeps_type)
    return _result_on_device(call, made, device, names_one)


def _is_number(call: LibraryCall, node: cst.BaseExpression | None) -> bool:
    """Return whether an argument may be a Python number."""
    if node is None:
        return False
    held = call.on.record.values.get(call.index(node), UNKNOWN)
    return not all(isinstance(atom, Array | Host) for atom in held)


@applies(Effect.COMPUTE)
def compute(call: LibraryCall) -> Value:
    """Apply an operation to every array among the arguments."""
    if call.name in {"jax.numpy.concatenate", "jax.numpy.concat"} and _has_one_element(
        call.arguments
    ):
        call.operands()
        return UNKNOWN
    operands = call.operands()
    if call.name in _OF_ONE_TYPE or call.name in _PIECE_BY_PIECE:
        # Of no array at all they raise, so what follows had some.
        operands = [(place, _filled(held)) for place, held in operands]
    closed: list[tuple[int, Value]] = []
    for place, held in operands:
        committed = call.on.closed_over(held, call.state)
        if committed:
            closed.append((place, committed))
    equal = call.name in transfer.SHAPE_PRESERVING_WHEN_EQUAL
    if equal and call.arguments.positional and is_own(call.arguments.positional[0], call.node):
        return operands[0][1]
    if call.name in _PIECE_BY_PIECE:
        for operand in operands:
            if any(not array.committed for array in arrays(operand[1])):
                call.computed([operand])
        operands = [(place, ready_pieces(held)) for place, held in operands]
    elif call.name in _OF_ONE_TYPE:
        for operand in operands:
            if any(array.is_weak and not array.committed for array in arrays(operand[1])):
                call.computed([operand], certain=False)
    made = call.computed([*operands, *closed], certain=not equal)
    row = call.row
    if row.gives is Gives.ARRAY:
        is_alike = call.name in SPLIT_ALIKE and call.program.running is Running.EAGERLY
        return split_alike(made, operands) if is_alike else made
    if row.gives is Gives.NOTHING:
        return PLAIN
    is_asked = len(operands) > 1 or bool(call.arguments.keywords) or call.arguments.is_open
    are_listed = call.name in SEQUENCES or (call.name in SEQUENCES_UNASKED and not is_asked)
    return value(Sequence(None, made)) if are_listed else tree_of(made)


def _filled(held: Value) -> Value:
    """Return a value without the sequences that are empty, if it may be anything else."""
    filled = frozenset(
        atom for atom in held if not (isinstance(atom, Sequence) and atom.items == ())
    )
    return filled if any(isinstance(atom, Sequence) for atom in filled) else held


@models("equinox.apply_updates", "optax.apply_updates", "optax.incremental_update")
def updated(call: LibraryCall) -> Value:
    """`optax.apply_updates(params, updates)`: a tree like the first one, computed."""
    laid_out = LaidOut(call.on, call.node, call.state)
    trees = call.program.trees
    made = call.computed(call.on.spread(laid_out.operands, call.state))
    first = laid_out.of(0, "params", "model", "new_tensors")
    if first is None or call.arguments.is_open:
        return tree_of(made)
    like = assembled(first, [held for _, held in laid_out.operands])
    at = call.place
    return trees.rebuilt(like, lambda _: made, at, call.state, is_given=True)


@models(*_TAKING_APART)
def taken_apart(call: LibraryCall) -> Value:
    """`nnx.split(module)`, `eqx.partition(tree, test)`: the arrays of a tree, in others."""
    for argument in call.node.args:
        held = call.argument(argument.value)
        call.escapes(held)
        call.program.objects.take_apart(held, call.state)
    return UNKNOWN


@applies(Effect.IDENTITY)
def identity(call: LibraryCall) -> Value:
    """Hand back the first argument."""
    operands = call.values()
    return operands[0] if operands else UNKNOWN


@applies(Effect.CONVERT)
def convert(call: LibraryCall) -> Value:
    """`jnp.asarray(x)`: the same array, or a new one on the default device."""
    first = call.arguments.get(0, "a")
    held = _as_arrays(call.argument(first))
    dtype = call.arguments.get(1, "dtype")
    device = call.arguments.get(None, "device")
    if dtype is not None:
        call.evaluate(dtype)
    if any(isinstance(atom, Array) for atom in held):
        if dtype is not None and first is not None:
            call.computed([(call.index(first), held)], certain=False)
            return join(held, call.created())
        if device is None:
            return held
        # Refused once the array is committed elsewhere.
        if call.on.supposed is not None:
            call.on.supposed.refused(held)
        call.escapes(held)
        return UNKNOWN
    certain = not any(isinstance(atom, Anything | External) for atom in held)
    made = call.created(certain=certain, is_small=_is_scalar(first))
    names_one = _names_device(call, device)
    return _result_on_device(call, made, device, names_one)


@models("jax.numpy.array")
def array(call: LibraryCall) -> Value:
    """`jnp.array(x)`, which copies unless `copy=False`."""
    copying = call.arguments.get(2, "copy")
    if isinstance(copying, cst.Name) and copying.value == "False":
        return convert(call)
    return copy(call)


@applies(Effect.COPY)
def copy(call: LibraryCall) -> Value:
    """`jnp.array(x)`, `jnp.float32(x)`: a new array, on the default device."""
    first = call.arguments.get(0, "object", "x")
    device = call.arguments.get(None, "device")
    operands = [] if first is None else call.operands_in(first)
    for argument in call.node.args:
        if argument.value is not first and argument.value is not device:
            call.evaluate(argument.value)
    if device is not None and not is_none(device):
        if call.on.supposed is not None:
            for _, held in operands:
                call.on.supposed.refused(held)
        made = call.created()
        names_one = _names_device(call, device)
        return _result_on_device(call, made, device, names_one)
    if any(True for _, held in operands for _ in arrays(held)):
        return call.computed(operands)
    certain = not any(
        isinstance(atom, Anything | External) for _, held in operands for atom in held
    )
    return call.created(certain=certain, is_small=_is_scalar(first))


@applies(Effect.HOST)
def host(call: LibraryCall) -> Value:
    operands = call.operands()
    if call.name != "jax.device_get":
        return HOST
    for _, held in operands:
        call.program.objects.take_apart(held, call.state)
    read = call.on.read(call.node, operands)
    if len(operands) == 1 and all(isinstance(atom, Container) for atom in operands[0][1]):
        # Of a tree it gives another one.
        return call.program.trees.rebuilt(
            operands[0][1], lambda _: read, call.place, call.state, is_given=True
        )
    return read


@applies(Effect.PLAIN)
def plain(call: LibraryCall) -> Value:
    """Read shapes and types only."""
    call.operands()
    return PLAIN


@applies(Effect.COMMIT)
def commit(call: LibraryCall) -> Value:
    """`jax.device_put(x, d)`; without a device, an array comes back as it is."""
    held = call.argument(call.arguments.get(0, "x", "external_array"))
    call.on.operations.touch(held)
    sharding = None
    if call.name in _PUTTING:
        sharding = saw_target(call, call.arguments.get(1, "device", "shardings"), held)
    elif call.name in ASSEMBLING:
        whole = call.arguments.get(ASSEMBLING[call.name], "sharding")
        sharding = None if whole is None else place_of(call.evaluate(whole))
    target = call.arguments.get(1, "device") if call.name in _NAMING_THE_DEVICE else None
    for argument in call.node.args[1:]:
        if argument.value is not target:
            call.evaluate(argument.value)
    if call.name in _IMPORTS_FROM_DLPACK and target is None and held and not call.arguments.is_open:
        on_host = all(isinstance(atom, Host) for atom in held)
        place = call.place
        origin = ArrayOrigin(place, place, None)
        made = Array(None, committed=True, origin=origin)
        if on_host:
            made = replace(made, device=Device("cpu", 0), via=frozenset({place}))
        return value(made)
    if call.name not in _NAMING_THE_DEVICE:
        call.program.objects.take_apart(held, call.state)
        weak = any(isinstance(atom, Array) and atom.is_weak for atom in held)
        placed = value(Array(None, committed=True, is_weak=weak, sharding=sharding))
        # Of a tree it gives a tree, which has no sharding of its own.
        is_one = sharding is None or all(isinstance(atom, Array | Host) for atom in held)
        is_one |= call.name in ASSEMBLING and not any(isinstance(a, Mapping) for a in held)
        return placed if is_one else placed | DOUBTFUL
    names_one = _names_device(call, target)
    if names_one is False:
        if call.arguments.is_open:
            return UNKNOWN
        return _put_nowhere(call, call.arguments.get(0, "x"), held)
    saw_put(call, held)
    devices = devices_of(call, target)
    wanted = NONE if target is None or sharding is not None else call.evaluate(target)
    placed = put_to_each(call, held, wanted) or put_to(call, held, devices, sharding)
    call.program.objects.supersede(held, placed, call.state)
    if names_one:
        return placed
    return join(placed, _put_nowhere(call, call.arguments.get(0, "x"), held))


def _put_nowhere(call: LibraryCall, given: cst.BaseExpression | None, held: Value) -> Value:
    """`jax.device_put(x)`: what is no array becomes one, on the default device."""
    if call.state.default.devices != SYSTEM:
        held = call.on.calls.objects.read(given, held, call.state)
    trees = call.program.trees
    if given is not None:
        parts = trees.spread(held, call.state)
        if parts is not held:
            call.on.record.saw_tree(call.index(given), parts)

    def put(leaf: Value) -> Value:
        kept = frozenset(atom for atom in leaf if isinstance(atom, Array | Anything))
        return kept if len(kept) == len(leaf) else kept | call.created()

    if any(isinstance(atom, Container | Instance) for atom in held):
        placed = trees.rebuilt(held, put, call.place, call.state, is_put=True)
        call.program.objects.supersede(held, placed, call.state)
        return placed
    kept = frozenset(atom for atom in held if isinstance(atom, Array | AnyTree | Anything))
    if len(kept) == len(held):
        return held
    made = call.created()
    return join(kept, made) if kept else made


@models("equinox.tree_deserialise_leaves", "pickle.loads")
def remade(call: LibraryCall) -> Value:
    """`pickle.loads(pickle.dumps(x))`, `equinox.tree_deserialise_leaves(path, x)`.

    The arrays are new ones on the default device, uncommitted, wherever those of x are.
    """
    held = call.values()
    like = held[1] if len(held) > 1 else _pickled(call, *held)
    made = call.created()
    if len(made) != 1:
        return UNKNOWN
    if call.name.startswith("equinox.") and _is_abstract(like):
        return tree_of(made)
    trees = call.program.trees
    return trees.rebuilt(
        anonymous(like),
        lambda leaf: made if any(isinstance(a, Array) for a in leaf) else leaf,
        call.place,
        call.state,
        is_given=True,
    )


def _is_abstract(like: Value) -> bool:
    """Return whether a tree is of shapes and types only, as `eqx.filter_eval_shape` gives it."""
    return bool(like) and all(isinstance(atom, Plain) for atom in like)


@models("pickle.dumps")
def pickled(call: LibraryCall) -> Value:
    held = call.values()
    pickled = call.arguments.get(0, "obj")
    for each in held:
        call.escapes(frozenset(a for a in each if not isinstance(a, Array)))
    return UNKNOWN if pickled is None else value(Pickled(call.on.module.place(pickled)))


def _pickled(call: LibraryCall, data: Value = UNKNOWN) -> Value:
    found = [
        call.program.modules[atom.of.module].record.values.get(atom.of.node, UNKNOWN)
        for atom in data
        if isinstance(atom, Pickled)
    ]
    return join(*found) if found and len(found) == len(data) else UNKNOWN


@applies(Effect.KEY)
def key(call: LibraryCall) -> Value:
    """Make or derive a PRNG key."""
    operands = call.operands()
    committed = [a for _, held in operands for a in arrays(held) if a.committed]
    if committed:
        if call.on.supposed is not None:
            call.on.supposed.followed(frozenset(committed), call.state.default.devices)
        made = value(
            *[
                Array(a.device, committed=True, is_small=True, via=a.via, supposed=a.supposed)
                for a in committed
            ]
        )
    else:
        made = call.created(is_small=True)
    # Rows of a committed array are where it is, however they are taken.
    is_several = call.name.endswith(".split") and not committed
    return value(Sequence(None, made)) | made if is_several else made


@applies(Effect.SAMPLE)
def sample(call: LibraryCall) -> Value:
    """Draw random numbers: where a committed key is, else on the default device."""
    if call.arguments.is_open:
        return call.computed(call.operands())
    options = jax_random.OPTIONS.get(call.name, ())
    operands: list[Operand] = []
    for at, given in enumerate(call.node.args):
        is_option = (
            at in options
            if given.keyword is None
            else given.keyword.value in jax_random.OPTION_NAMES
        )
        found = call.operands_in(given.value)
        # How large it is, and of which type, says nothing of the place.
        operands += [] if is_option else found
    return call.computed(operands)


@applies(Effect.LOAD)
def load(call: LibraryCall) -> Value:
    """Read a file of arrays onto the default device."""
    operands = dict(call.operands())
    made = call.created()
    if call.name == "jax.numpy.load":
        file = call.arguments.get(0, "file")
        given = None if file is None else sole(operands.get(call.index(file), UNKNOWN))
        path = given.text if isinstance(given, Plain) else None
        if path is not None and path.endswith(".npz"):
            return value(Mapping((), HOST))
        return made if path is not None else join(made, DOUBTFUL)
    return value(Mapping((), made))


def _as_arrays(held: Value) -> Value:
    """Return a value with what an unknown tree may be in its place, if it is an array."""
    trees = frozenset(atom for atom in held if isinstance(atom, AnyTree))
    if not trees:
        return held
    leaves = join(*(tree.leaf for tree in trees))
    # Of a list of NumPy arrays it makes one, too; a dict raises.
    is_host = bool(leaves) and all(isinstance(atom, Host) for atom in leaves)
    return (held - trees) | leaves | (NOTHING if is_host else DOUBTFUL)


def _is_scalar(node: cst.BaseExpression | None) -> bool:
    """Return whether an expression is a literal number: an array of it is too small to report."""
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer | cst.Float | cst.Imaginary) or (
        isinstance(node, cst.Name) and node.value in {"True", "False"}
    )


def _has_one_element(arguments: Arguments) -> bool:
    first = arguments.get(0, "arrays")
    return isinstance(first, cst.List | cst.Tuple) and len(first.elements) == 1
