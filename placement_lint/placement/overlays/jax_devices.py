"""Evaluation of calls that name devices, change the default one, or open what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.state import ANY_DEVICE, SYSTEM, DefaultDevice, Devices, State
from placement_lint.placement.domain.values import (
    ANYTHING,
    NONE,
    PLAIN,
    UNKNOWN,
    Atom,
    Context,
    DefaultDeviceContext,
    DeviceList,
    ExitStack,
    External,
    Host,
    Plain,
    Target,
    TensorFile,
    TheDevice,
    Value,
    value,
)
from placement_lint.syntax.calls import Arguments, is_none, string_value

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator

_DEVICE_CALLS = frozenset({"jax.devices", "jax.local_devices"})
_TEXT_PLATFORMS = frozenset({"cpu", "gpu", "tpu"})


class DeviceCalls:
    """Evaluates `jax.devices`, `jax.default_device`, `jax.config.update` and their like."""

    def __init__(self, expressions: Evaluator) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    def devices_of(self, node: cst.BaseExpression | None, state: State) -> Devices:
        """Give the devices that an expression names; `None` is the system default."""
        if node is None:
            return ANY_DEVICE
        if isinstance(node, cst.Call) and self.names.qualified(node.func) not in _DEVICE_CALLS:
            # A file that gives a device is read for it, though it makes no array.
            for atom in self.on.evaluate(node.func, state):
                if isinstance(atom, External):
                    self.on.program.linking.loaded(atom, state)
        held = self.on.evaluate(node, state)
        if is_none(node):
            return SYSTEM
        for atom in held:
            if isinstance(atom, External):
                held = (held - {atom}) | self.on.program.linking.loaded(atom, state)
        found: set[Device | None] = set()
        for atom in held:
            if isinstance(atom, TheDevice):
                found.add(atom.device)
            elif isinstance(atom, Plain) and atom.text in _TEXT_PLATFORMS:
                found.add(Device(atom.text, 0))
            elif atom in NONE:
                found |= SYSTEM
            else:
                found.add(None)
        return frozenset(found)

    def default_device(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.default_device(d)`: a context, not entered yet."""
        expression = arguments.get(0, "new_val")
        devices = self.devices_of(expression, state)
        place = None if expression is None else self.on.module.place(expression)
        return value(DefaultDeviceContext(devices, place))

    def devices(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.devices(platform)`."""
        return self._device_list(arguments.get(0, "backend"), arguments, state)

    def local_devices(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.local_devices(backend=platform)`, whose first parameter is a process index."""
        if (
            arguments.get(0, "process_index") is not None
            or arguments.get(None, "host_id") is not None
        ):
            self.on.arguments(node, state)
            return UNKNOWN
        return self._device_list(arguments.get(1, "backend"), arguments, state)

    def _device_list(
        self, platform: cst.BaseExpression | None, arguments: Arguments, state: State
    ) -> Value:
        if arguments.is_open:
            return UNKNOWN
        if platform is None or is_none(platform):
            return value(DeviceList(None))
        found: set[Atom] = set()
        for atom in self.on.evaluate(platform, state):
            known = isinstance(atom, Plain) and atom.text is not None
            found.add(DeviceList(atom.text) if known else ANYTHING)  # type: ignore[union-attr]
        return frozenset(found)

    def single_device_sharding(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`SingleDeviceSharding(d)`: commits to one device, or to one of its memories."""
        devices = self.devices_of(arguments.get(0, "device"), state)
        return value(*[TheDevice(device) for device in devices])

    def partition_spec(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`PartitionSpec("data", None)`: without an axis in it nothing is split."""
        parts = self._escaping(node, state)
        is_whole = not arguments.is_open and all(held == NONE for _, held in parts)
        return value(Target(replicated=is_whole))

    def named_sharding(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`NamedSharding(mesh, spec)`, which may name another memory than that of the devices."""
        given = dict(self._escaping(node, state))
        spec = arguments.get(1, "spec")
        held = UNKNOWN if spec is None else given.get(self.on.index(spec), UNKNOWN)
        in_memory = not arguments.may_pass(None, "memory_kind")
        whole = (isinstance(atom, Target) and atom.replicated for atom in held)
        return value(*[Target(replicated=in_memory and each) for each in whole])

    def _escaping(self, node: cst.Call, state: State) -> list[Operand]:
        """Evaluate the arguments of a call that is not followed."""
        operands = self.on.arguments(node, state)
        for _, held in operands:
            self.on.escapes(held, state)
        return operands

    def null_context(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`contextlib.nullcontext(x)`, which gives x."""
        given = arguments.get(0, "enter_result")
        if arguments.is_open:
            return value(Context(UNKNOWN))
        return value(Context(NONE if given is None else self.on.argument(given, state)))

    def exit_stack(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`contextlib.ExitStack()`."""
        return value(ExitStack(self.on.module.place(node)))

    def host_file(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`h5py.File(path)`, whose items are read as NumPy arrays."""
        self.on.arguments(node, state)
        return value(Host(from_file=True))

    def safe_open(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`safetensors.safe_open(path, framework)`: makes its arrays when they are asked for."""
        self.on.arguments(node, state)
        framework = string_value(arguments.get(1, "framework"))
        is_jax = framework in {"flax", "jax"}
        return value(TensorFile(self.on.module.place(node))) if is_jax else UNKNOWN

    def default_in_force(self, state: State) -> Value:
        """`jax.config.jax_default_device`: also what a block around sets (0.4.30 to 0.12)."""
        default = state.default
        if default.expression is None and default.devices == SYSTEM:
            return NONE
        return value(*[TheDevice(device) for device in default.devices])

    def config_update(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.config.update("jax_default_device", d)`: the default outside of every block."""
        name = string_value(arguments.get(0, "name"))
        new = arguments.get(1, "val")
        if name == "jax_default_device":
            devices = self.devices_of(new, state)
            place = None
            if new is not None and not is_none(new):
                held = self.on.record.values.get(self.on.index(new), UNKNOWN)
                place = None if held == NONE else self.on.module.place(new)
            state.base = DefaultDevice(devices, place)
        elif new is not None:
            self.on.evaluate(new, state)
        return PLAIN
