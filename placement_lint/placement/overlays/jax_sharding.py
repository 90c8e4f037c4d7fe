"""Evaluation of calls that make meshes, specs and shardings."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS, SHARD_MAPS
from placement_lint.placement.domain.contents import arrays, committed_to
from placement_lint.placement.domain.mesh_contexts import (
    ANY_CHANGE,
    MeshChange,
    MeshSource,
    either,
)
from placement_lint.placement.domain.mesh_devices import MeshDevices
from placement_lint.placement.domain.sharding import (
    UNKNOWN_PART,
    AxisType,
    DeviceGrid,
    Memory,
    Mesh,
    Part,
    Sharding,
    Spec,
)
from placement_lint.placement.domain.state import ANY_DEVICE
from placement_lint.placement.domain.values import (
    MAX_ALTERNATIVES,
    NONE,
    UNKNOWN,
    Array,
    DefaultDeviceContext,
    Host,
    Mapping,
    Plain,
    PlainContext,
    Sequence,
    Value,
    sole,
    value,
)
from placement_lint.placement.engine.meshes import (
    axis_type,
    grid_of,
    memory_of,
    reshaped,
    shape_of,
)
from placement_lint.placement.engine.operations import is_on_host
from placement_lint.placement.overlays.registry import LibraryCall, models

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import CallArguments, Operand

ASSEMBLING = {
    "jax.make_array_from_callback": 1,
    "jax.make_array_from_process_local_data": 0,
    "jax.make_array_from_single_device_arrays": 1,
}
"""Calls that make one array of the parts that processes or devices have: where the sharding is."""
_OF_SHARD_MAP = ("mesh", "in_specs", "out_specs")


@models("jax.P", "jax.sharding.PartitionSpec")
def partition_spec(call: LibraryCall) -> Value:
    """`PartitionSpec("data", None)`: without an axis in it nothing is split."""
    call.program.reach.touches()
    passed = _passed(call)
    if passed.rest is None:
        return value(Spec(tuple(map(_part, passed.positional)), call.place))
    return value(_with_a_rest(call))


def _with_a_rest(call: LibraryCall) -> Spec:
    """Return a spec of so many parts as the array has dimensions.

    None at its end says nothing: `P("data", *[None] * (x.ndim - 1))` is `P("data")` for each number
    of them. Of any other rest, the axes that are named beside it are known.
    """
    found: list[Part] = []
    is_known = True
    left = [(each.star, each.value) for each in reversed(call.node.args)]
    while left:
        star, node = left.pop()
        node = _sum_of(node, call) if star else node
        if star and isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            left += [(star, node.right), (star, node.left)]
            continue
        held = call.evaluate(node)
        if not star:
            found.append(_part(held))
            continue
        only = sole(held)
        if isinstance(only, Sequence) and only.items is not None:
            found += map(_part, only.items)
        elif left or not isinstance(only, Sequence) or only.element != NONE:
            is_known = False
    if is_known:
        return Spec(tuple(found), call.place)
    named = (part if isinstance(part, tuple) else (part,) for part in found)
    axes = tuple(axis for part in named for axis in part if isinstance(axis, str))
    return Spec(None, call.place, axes)


def _sum_of(node: cst.BaseExpression, call: LibraryCall) -> cst.BaseExpression:
    """Return the sum that a name stands for which nothing but stars read; else the node itself.

    `parts = ["data"] + [None] * n`, and `P(*parts)`: nothing has changed the list by then.
    """
    names, tree = call.on.names, call.on.tree
    written = names.sole_value(node) if isinstance(node, cst.Name) else None
    if not isinstance(node, cst.Name) or not isinstance(written, cst.BinaryOperation):
        return node
    scope = names.scope(node)
    if names.scope(written) is not scope:
        return node
    uses = [tree.parent(use) for use in names.uses(node.value, scope)]
    is_read = all(isinstance(use, cst.AssignTarget) or getattr(use, "star", "") for use in uses)
    is_same = all(len(names.bindings(each)) <= 1 for each in tree.every(cst.Name, below=written))
    return written if is_read and is_same else node


def _part(held: Value) -> Part:
    """Return the axes that one argument of a spec names."""
    only = sole(held)
    if held == NONE:
        return None
    text = _text(held)
    if text is not None:
        return text or None
    if isinstance(only, Sequence) and only.items is not None:
        texts = [_text(item) for item in only.items]
        known = tuple(text for text in texts if text is not None)
        return known if len(known) == len(texts) else UNKNOWN_PART
    return UNKNOWN_PART


def _text(held: Value) -> str | None:
    only = sole(held)
    if not isinstance(only, Plain):
        return None
    # An axis may be the member of an enumeration of strings.
    return only.text if only.member is None else only.member.text


@models(*NAMED_SHARDINGS)
def named_sharding(call: LibraryCall) -> Value:
    """`NamedSharding(mesh, spec)`, which may name another memory than that of the devices."""
    return _named_sharding(call, _passed(call))


def _named_sharding(call: LibraryCall, passed: CallArguments) -> Value:
    call.program.reach.touches()
    mesh, spec = _argument(passed, 0, "mesh"), _argument(passed, 1, "spec")
    call.saw_sharded(mesh, spec)
    memory = None
    if passed.more is None:
        memory = memory_of(passed.keywords.get("memory_kind", NONE))
    in_memory = memory is Memory.DEVICE
    made = [
        Sharding(
            replicated=in_memory and isinstance(two, Spec) and two.is_whole,
            mesh=one if isinstance(one, Mesh) else None,
            spec=two if isinstance(two, Spec) else None,
            is_named=in_memory,
            memory=memory,
        )
        for one, two in itertools.product(mesh or UNKNOWN, spec or UNKNOWN)
    ]
    some = Sharding(is_named=in_memory, memory=memory)
    return value(*made) if len(made) <= MAX_ALTERNATIVES else value(some)


@models("jax.experimental.multihost_utils.host_local_array_to_global_array")
def made_global(call: LibraryCall) -> Value:
    """`host_local_array_to_global_array(tree, mesh, spec)`: the parts of all processes as one."""
    passed = _passed(call)
    held = _argument(passed, 0, "local_inputs")
    mesh, spec = sole(_argument(passed, 1, "global_mesh")), sole(_argument(passed, 2, "pspecs"))
    if not isinstance(mesh, Mesh) or not isinstance(spec, Spec):
        return UNKNOWN
    sharding = Sharding(spec.is_whole, mesh, spec, is_named=True, memory=Memory.DEVICE)
    return call.program.trees.rebuilt(
        held,
        lambda leaf: committed_to(leaf, {None}, sharding=sharding),
        call.place,
        call.state,
        is_put=True,
    )


@models("jax.set_mesh", "jax.sharding.set_mesh")
def set_mesh(call: LibraryCall) -> Value:
    """`jax.set_mesh(mesh)`: sets it when it is called; as a context manager it also restores."""
    call.program.reach.touches()
    call.program.reach.asks_meshes()
    change = _change(call)
    call.state.meshes = change.applied(call.state.meshes)
    if not isinstance(call.on.tree.parent(call.node), cst.WithItem):
        call.state.forget_default()
    return value(DefaultDeviceContext(ANY_DEVICE, None, meshes=change))


@models("jax.sharding.use_mesh")
def use_mesh(call: LibraryCall) -> Value:
    """`with jax.sharding.use_mesh(mesh):`, which acts only inside."""
    call.program.reach.touches()
    return value(DefaultDeviceContext(ANY_DEVICE, None, meshes=_change(call)))


@models("jax.sharding.use_abstract_mesh")
def use_abstract_mesh(call: LibraryCall) -> Value:
    """`with jax.sharding.use_abstract_mesh(mesh):`, in which no array need be on the mesh."""
    call.operands()
    return value(PlainContext(meshes=ANY_CHANGE))


def _change(call: LibraryCall) -> MeshChange:
    """Return what setting the mesh that a call is given changes."""
    held = _argument(_passed(call), 0, "mesh")
    meshes = (atom if isinstance(atom, Mesh) else MeshSource.UNKNOWN for atom in held)
    return MeshChange(by_set=either(frozenset(meshes)))


@models("jax.sharding.Mesh")
def mesh(call: LibraryCall) -> Value:
    """`Mesh(devices, ("data", "model"))`, whose axes are Auto unless it says otherwise."""
    call.program.reach.touches()
    passed = _passed(call)
    names = _names(_argument(passed, 1, "axis_names"), call)
    types = _types(passed, AxisType.AUTO)
    grid = grid_of(_argument(passed, 0, "devices"))
    if grid is None:
        return value(Mesh(names, None, types, call.place))
    sizes = grid.shape if names is not None and len(grid.shape or ()) == len(names) else None
    return value(Mesh(names, sizes, types, call.place, grid.devices))


@models("jax.sharding.AbstractMesh")
def abstract_mesh(call: LibraryCall) -> Value:
    """`AbstractMesh((4, 2), ("data", "model"))`: a mesh without devices.

    Until JAX 0.5 it takes pairs of names and sizes.
    """
    call.program.reach.touches()
    passed = _passed(call)
    names = _names(_argument(passed, 1, "axis_names"), call)
    sizes = _sizes(call.arguments.get(0, "axis_sizes"), names, call)
    return value(Mesh(names, sizes, _types(passed, AxisType.AUTO, 2), call.place))


@models("jax.make_mesh")
def made_mesh(call: LibraryCall) -> Value:
    """`jax.make_mesh((4, 2), ("data", "model"))`, whose default types depend on the version."""
    call.program.reach.touches()
    passed = _passed(call)
    names = _names(_argument(passed, 1, "axis_names"), call)
    sizes = _sizes(call.arguments.get(0, "axis_shapes", "axis_sizes"), names, call)
    types = _types(passed, AxisType.BY_VERSION, 2)
    made = Mesh(names, sizes, types, call.place)
    given = passed.keywords.get("devices")
    every = DeviceGrid(MeshDevices()) if given is None or given == NONE else grid_of(given)
    if every is None or every.devices is None or passed.more is not None:
        return value(made)
    number = made.number if every.devices.number is None else every.devices.number
    devices = replace(every.devices, is_arranged=True, number=number, arranged_as=made.sizes)
    return value(replace(made, devices=devices))


@models("jax.experimental.mesh_utils.create_device_mesh")
def device_mesh(call: LibraryCall) -> Value:
    """`create_device_mesh((4, 2))`: an array of all devices, or of those that it is given."""
    call.program.reach.touches()
    passed = _passed(call)
    given = _argument(passed, 1, "devices")
    is_given = "devices" in passed.keywords or len(passed.positional) > 1
    every = grid_of(given) if is_given and given != NONE else DeviceGrid(MeshDevices())
    shape = call.arguments.get(0, "mesh_shape")
    sizes = None if shape is None else shape_of([shape], call.on.names, call.evaluate)
    if every is None or every.devices is None or call.arguments.is_open:
        return value(DeviceGrid(None, sizes))
    devices = replace(every.devices, is_arranged=True, arranged_as=sizes)
    return value(reshaped(DeviceGrid(devices), sizes))


@models("jax.experimental.mesh_utils.create_hybrid_device_mesh")
def hybrid_device_mesh(call: LibraryCall) -> Value:
    """`create_hybrid_device_mesh((1, 4), (2, 1))`: all devices, or those that it is given.

    Their order is that of no other mesh: it depends on the hosts, or slices, as well.
    """
    call.program.reach.touches()
    passed = _passed(call)
    given = passed.keywords.get("devices", NONE)
    if call.arguments.is_open:
        return value(DeviceGrid(None))
    if len(passed.positional) > 2:
        given = passed.positional[2]
    every = DeviceGrid(MeshDevices()) if given == NONE else grid_of(given)
    parts = [
        None if each is None else shape_of([each], call.on.names, call.evaluate)
        for each in (call.arguments.get(0, "mesh_shape"), call.arguments.get(1, "dcn_mesh_shape"))
    ]
    inside, across = parts
    sizes = None
    if inside is not None and across is not None and len(inside) == len(across):
        sizes = tuple(
            None if one is None or other is None else one * other
            for one, other in zip(inside, across, strict=True)
        )
    if every is None or every.devices is None:
        return value(DeviceGrid(None, sizes))
    return value(reshaped(DeviceGrid(replace(every.devices, is_arranged=True)), sizes))


def array_of_devices(call: LibraryCall, operands: list[Operand]) -> Value | None:
    """`np.array(jax.devices())`: None where something else is in it."""
    first = call.arguments.get(0, "object", "a")
    if first is None or not operands:
        return None
    if not isinstance(first, cst.List | cst.Tuple):
        grid = grid_of(operands[0][1])
    elif any(isinstance(element, cst.StarredElement) for element in first.elements):
        return None
    else:
        rows = tuple(held for _, held in operands[: len(first.elements)])
        grid = grid_of(value(Sequence(rows, UNKNOWN)))
    return None if grid is None else value(grid)


def devices_reshaped(call: LibraryCall, operands: list[Operand]) -> Value | None:
    """`np.reshape(jax.devices(), (2, -1))`: None where something else is in it."""
    made = array_of_devices(call, operands)
    grid = None if made is None else grid_of(made)
    if grid is None:
        return None
    shape = call.arguments.get(1, "shape", "newshape")
    known = None if shape is None else shape_of([shape], call.on.names, call.evaluate)
    return value(reshaped(grid, known))


def _sizes(
    shape: cst.BaseExpression | None, names: tuple[str | None, ...] | None, call: LibraryCall
) -> tuple[int | None, ...] | None:
    """Return the sizes of the axes of a mesh, as many as it has names."""
    if shape is None or names is None:
        return None
    sizes = shape_of([shape], call.on.names, call.evaluate)
    return sizes if sizes is not None and len(sizes) == len(names) else None


def _names(held: Value, call: LibraryCall) -> tuple[str | None, ...] | None:
    """Return the names of the axes of a mesh: a tuple of them, a dict, or the one name itself."""
    text = _text(held)
    if text is not None:
        return (text,)
    only = sole(call.on.iteration.listed(held, call.state))
    if isinstance(only, Sequence) and only.items is not None:
        return tuple(map(_text, only.items))
    return None


def _types(
    passed: CallArguments, default: AxisType, position: int | None = None
) -> tuple[AxisType | None, ...] | AxisType | None:
    """Return the types of the axes of a mesh; None where they are not known."""
    given = passed.keywords.get("axis_types")
    if given is None and position is not None and position < len(passed.positional):
        given = passed.positional[position]
    if given is None:
        is_open = passed.more is not None or (position is not None and passed.rest is not None)
        return None if is_open else default
    if given == NONE:
        return default
    only = sole(given)
    if isinstance(only, Sequence) and only.items is not None:
        return tuple(axis_type(sole(item)) for item in only.items)
    return axis_type(sole(only.element)) if isinstance(only, Sequence) else None


def _argument(passed: CallArguments, position: int, keyword: str) -> Value:
    """Return an argument; unknown where it is not passed, as far as anyone can see."""
    if keyword in passed.keywords:
        return passed.keywords[keyword]
    return passed.positional[position] if position < len(passed.positional) else UNKNOWN


def _passed(call: LibraryCall) -> CallArguments:
    """Evaluate the arguments of a call that keeps what it is given."""
    passed = call.passed()
    for held in (*passed.positional, *passed.keywords.values(), passed.rest, passed.more):
        if held is not None:
            call.escapes(held)
    return passed


def saw_specs(call: LibraryCall) -> None:
    """Remember the mesh and the specs that `shard_map` is given."""
    if call.name not in SHARD_MAPS:
        return
    spread: dict[object, Value] = {}
    for argument in call.node.args:
        only = sole(call.evaluate(argument.value)) if argument.star == "**" else None
        if isinstance(only, Mapping):
            spread.update(only.items)
    names = _OF_SHARD_MAP
    written = [call.arguments.get(place, name) for place, name in enumerate(names, 1)]
    held = [
        spread.get(name, UNKNOWN) if node is None else call.evaluate(node)
        for name, node in zip(names, written, strict=True)
    ]
    if held[0] != UNKNOWN:
        call.saw_sharded(*held)


def saw_bound_specs(call: LibraryCall, name: str, passed: CallArguments) -> None:
    """Remember the mesh and the specs of `partial(shard_map, mesh=…, in_specs=…)`.

    `passed`: what it binds, without the function.
    """
    if "mesh" in passed.keywords and name in SHARD_MAPS:
        call.saw_sharded(*(passed.keywords.get(each, UNKNOWN) for each in _OF_SHARD_MAP))


def made_by_bound(call: LibraryCall, name: str, passed: CallArguments) -> Value:
    """Call `NamedSharding`, or `shard_map`, with arguments some of which were bound before."""
    for held in passed.every():
        call.escapes(held)
    if name in NAMED_SHARDINGS:
        return _named_sharding(call, passed)
    given = [_argument(passed, place, each) for place, each in enumerate(_OF_SHARD_MAP, 1)]
    if given[0] != UNKNOWN:
        call.saw_sharded(*given)
    return UNKNOWN


def saw_target(
    call: LibraryCall, target: cst.BaseExpression | None, put: Value = UNKNOWN
) -> Sharding | None:
    """Remember where a call puts an array, or what it constrains it to.

    Returns the sharding over a mesh, or the memory, that this surely is. What is taken
    out of the host's memory is put to another one, whatever the sharding says of its axes.
    """
    if target is None:
        return None
    held = call.evaluate(target)
    given = UNKNOWN if is_on_host([(0, put)]) else held
    call.saw_sharded(given, is_on_device=bool(put) and all(map(_is_in_own_memory, put)))
    return place_of(held) or _on_mesh_in_force(call, held)


def _is_in_own_memory(atom: Atom) -> bool:
    """Return whether something is an array in the own memory of devices, or will be put there."""
    if not isinstance(atom, Array):
        return isinstance(atom, Host)
    if atom.sharding is not None:
        return atom.sharding.is_named
    return not atom.committed or atom.device is not None


def _on_mesh_in_force(call: LibraryCall, held: Value) -> Sharding | None:
    """Return the sharding that a bare spec is where one mesh surely is set."""
    spec, meshes = sole(held), [*call.state.meshes.by_set]
    if not isinstance(spec, Spec):
        return None
    call.program.reach.asks_meshes()
    mesh = meshes[0] if len(meshes) == 1 else None
    if not isinstance(mesh, Mesh):
        return None
    made = Sharding(mesh=mesh, spec=spec, is_named=True, memory=Memory.DEVICE)
    return made.in_memory(Memory.DEVICE)


def place_of(held: Value) -> Sharding | None:
    """Return the sharding over a mesh, or the memory, that a value surely is."""
    only = sole(held)
    is_known = isinstance(only, Sharding) and (only.is_named or only.memory is not None)
    return only if is_known and isinstance(only, Sharding) else None


def assembled(name: str, given: CallArguments) -> Value:
    """Return the array that a function of `ASSEMBLING` makes of arguments that are evaluated."""
    position = ASSEMBLING[name]
    is_positional = position < len(given.positional)
    whole = given.positional[position] if is_positional else given.keywords.get("sharding")
    sharding = None if whole is None else place_of(whole)
    return frozenset({Array(None, committed=True, sharding=sharding)})


def saw_put(call: LibraryCall, held: Value) -> None:
    """Note that arrays were put somewhere by name."""
    call.on.record.put.update(
        array.origin.created for array in arrays(held) if array.origin is not None
    )


def put_to(
    call: LibraryCall, held: Value, devices: Iterable[Device | None], sharding: Sharding | None
) -> Value:
    """Return a value after a call put it on one of the devices, or on a mesh by a sharding."""
    by = frozenset({call.place})
    return call.program.trees.rebuilt(
        held,
        lambda leaf: committed_to(leaf, devices, by, sharding),
        call.place,
        call.state,
        is_put=True,
    )
