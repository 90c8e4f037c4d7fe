"""Evaluation of calls that name devices, change the default one, or open what reads them."""

from __future__ import annotations

import libcst as cst

from placement_lint.jaxmodel.libraries.safetensors import (
    JAX_FRAMEWORKS,
    NUMPY_FRAMEWORKS,
    OPENERS,
    TORCH_FRAMEWORKS,
)
from placement_lint.jaxmodel.platforms import PLATFORMS
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.library_values import (
    AbstractArray,
    DeviceList,
    ExitStack,
    TensorFile,
)
from placement_lint.placement.domain.platform_names import PlatformName
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.sharding import Memory, Sharding
from placement_lint.placement.domain.state import ANY_DEVICE, SYSTEM, DefaultDevice, Devices
from placement_lint.placement.domain.values import (
    ANYTHING,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Atom,
    DefaultDeviceContext,
    Host,
    Plain,
    PlainContext,
    TheDevice,
    Value,
    value,
)
from placement_lint.placement.engine.contexts import NEUTRAL_CONTEXTS, chosen_between
from placement_lint.placement.engine.meshes import memory_of
from placement_lint.placement.overlays.jax_sharding import place_of
from placement_lint.placement.overlays.registry import LibraryCall, models
from placement_lint.syntax.calls import is_none, string_value

_DEVICE_CALLS = frozenset({"jax.devices", "jax.local_devices"})


def devices_of(call: LibraryCall, node: cst.BaseExpression | None) -> Devices:
    """Return the devices that an expression names; `None` is the system default."""
    if node is None:
        return ANY_DEVICE
    if isinstance(node, cst.Call) and call.on.names.qualified(node.func) not in _DEVICE_CALLS:
        # A file that gives a device is read for it, though it makes no array.
        for atom in call.evaluate(node.func):
            if isinstance(atom, External):
                call.program.linking.loaded(atom, call.state)
    held = call.evaluate(node)
    if is_none(node):
        return SYSTEM
    held = _loaded(call, held)
    found: set[Device | None] = set()
    for atom in held:
        if isinstance(atom, TheDevice):
            found.add(atom.device)
        elif isinstance(atom, Plain) and atom.text in PLATFORMS:
            found.add(Device(atom.text, 0))
        elif atom in NONE:
            found |= SYSTEM
        else:
            found.add(None)
    return frozenset(found)


def _loaded(call: LibraryCall, held: Value) -> Value:
    """Return a value with what other files define in the place of their names."""
    for atom in held:
        if isinstance(atom, External):
            held = (held - {atom}) | call.program.linking.loaded(atom, call.state)
    return held


@models("jax.default_device")
def default_device(call: LibraryCall) -> Value:
    """`jax.default_device(d)`: a context, not entered yet."""
    expression = call.arguments.get(0, "new_val")
    devices = devices_of(call, expression)
    place = None if expression is None else call.on.module.place(expression)
    is_choice = len(devices) == 2 and devices > SYSTEM
    chosen_by = chosen_between(call.on.module, expression) if is_choice else None
    context = value(DefaultDeviceContext(devices, place, chosen_by=chosen_by))
    call.saw_sharded(context)
    return context


@models("jax.devices")
def devices(call: LibraryCall) -> Value:
    return _device_list(call, call.arguments.get(0, "backend"), is_local=False)


@models("jax.default_backend")
def default_backend(call: LibraryCall) -> Value:
    call.operands()
    return value(PlatformName())


@models("jax.local_devices")
def local_devices(call: LibraryCall) -> Value:
    """`jax.local_devices(backend=platform)`, whose first parameter is a process index."""
    if (
        call.arguments.get(0, "process_index") is not None
        or call.arguments.get(None, "host_id") is not None
    ):
        call.operands()
        return UNKNOWN
    return _device_list(call, call.arguments.get(1, "backend"), is_local=True)


def _device_list(
    call: LibraryCall, platform: cst.BaseExpression | None, *, is_local: bool
) -> Value:
    if call.arguments.is_open:
        return UNKNOWN
    if platform is None or is_none(platform):
        return value(DeviceList(None, is_local=is_local))
    found: set[Atom] = set()
    for atom in _loaded(call, call.evaluate(platform)):
        text = atom.text if isinstance(atom, Plain) else None
        found.add(ANYTHING if text is None else DeviceList(text, is_local=is_local))
    return frozenset(found)


@models("jax.sharding.SingleDeviceSharding")
def single_device_sharding(call: LibraryCall) -> Value:
    """`SingleDeviceSharding(d)`: commits to one device, or to one of its memories."""
    devices = devices_of(call, call.arguments.get(0, "device"))
    kind = call.arguments.get(None, "memory_kind")
    memory = Memory.DEVICE if kind is None else memory_of(call.evaluate(kind))
    if memory is not Memory.DEVICE:
        return value(Sharding(memory=memory))
    return value(*[TheDevice(device) for device in devices])


@models("jax.ShapeDtypeStruct")
def abstract_array(call: LibraryCall) -> Value:
    """`jax.ShapeDtypeStruct(shape, dtype, sharding=s)`: what is restored like it is there."""
    held = call.values()
    if call.arguments.is_open or len(held) != len(call.node.args):
        return PLAIN
    given = call.arguments.get(None, "sharding")
    if given is None:
        return PLAIN
    target = next(
        each for each, node in zip(held, call.node.args, strict=True) if node.value is given
    )
    return described(target) or PLAIN


def described(target: Value) -> Value:
    """Return the description of an array that is put on a sharding; nothing: not known where."""
    sharding = place_of(target)
    if sharding is not None:
        return value(AbstractArray(frozenset({None}), sharding))
    devices = frozenset(atom.device for atom in target if isinstance(atom, TheDevice))
    if None in devices or len(devices) != len(target):
        return NOTHING
    return value(AbstractArray(devices))


@models("contextlib.nullcontext")
def null_context(call: LibraryCall) -> Value:
    """`contextlib.nullcontext(x)`, which gives x."""
    given = call.arguments.get(0, "enter_result")
    if call.arguments.is_open:
        return value(PlainContext(UNKNOWN))
    return value(PlainContext(NONE if given is None else call.argument(given)))


@models(*sorted(NEUTRAL_CONTEXTS))
def neutral_context(call: LibraryCall) -> Value:
    """`jax.default_matmul_precision("float32")`: a context without an effect on placements."""
    call.operands()
    return value(PlainContext())


@models("contextlib.AsyncExitStack", "contextlib.ExitStack")
def exit_stack(call: LibraryCall) -> Value:
    return value(ExitStack(call.place))


@models("h5py.File")
def host_file(call: LibraryCall) -> Value:
    """`h5py.File(path)`, whose items are read as NumPy arrays."""
    call.operands()
    return value(Host(from_file=True, is_archive=True))


@models(*OPENERS)
def safe_open(call: LibraryCall) -> Value:
    """`safetensors.safe_open(path, framework)`: makes its arrays when they are asked for."""
    call.operands()
    framework = call.arguments.get(1, "framework")
    held = UNKNOWN if framework is None else call.evaluate(framework)
    texts = {atom.text if isinstance(atom, Plain) else None for atom in held}
    if not texts:
        return UNKNOWN
    if texts <= JAX_FRAMEWORKS:
        return value(TensorFile(call.place))
    device = call.arguments.get(2, "device")
    is_of_host = device is None or string_value(device) == "cpu"
    is_torch = texts <= TORCH_FRAMEWORKS and is_of_host
    is_known = is_torch or texts <= NUMPY_FRAMEWORKS
    return value(TensorFile(call.place, is_torch)) if is_known else UNKNOWN


@models("jax.config.update")
def config_update(call: LibraryCall) -> Value:
    """`jax.config.update("jax_default_device", d)`: the default outside of every block."""
    name = string_value(call.arguments.get(0, "name"))
    new = call.arguments.get(1, "val")
    if name == "jax_default_device":
        devices = devices_of(call, new)
        place = None
        if new is not None and not is_none(new):
            held = call.on.record.values.get(call.index(new), UNKNOWN)
            place = None if held == NONE else call.on.module.place(new)
        call.state.base = DefaultDevice(devices, place)
    elif new is not None:
        call.evaluate(new)
    return PLAIN
