"""What a context manager does to the default device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.environment import DefaultDevice
from placement_lint.placement.values import (
    Array,
    Context,
    DefaultDeviceContext,
    Device,
    ExitStack,
    Host,
    Place,
    Plain,
    TensorFile,
    Value,
)

if TYPE_CHECKING:
    from placement_lint.placement.environment import State
    from placement_lint.placement.module import Module

_NEUTRAL = (Context, ExitStack, Plain, Host, Array, TensorFile)
"""What changes no default device where it is entered."""

_NEUTRAL_PACKAGES = frozenset(sys.stdlib_module_names) | {
    "builtins", "h5py", "numpy", "pytest", "rich", "safetensors", "torch", "tqdm", "wandb",
}  # fmt: skip
_NEUTRAL_JAX = frozenset({
    "jax.named_scope", "jax.profiler", "jax.debug_nans", "jax.debug_infs", "jax.disable_jit",
    "jax.enable_x64", "jax.log_compiles", "jax.checking_leaks", "jax.check_tracer_leaks",
    "jax.default_matmul_precision", "jax.transfer_guard", "jax.transfer_guard_device_to_device",
    "jax.transfer_guard_device_to_host", "jax.transfer_guard_host_to_device",
    "jax.numpy_rank_promotion", "jax.numpy_dtype_promotion", "jax.default_prng_impl",
    "jax.ensure_compile_time_eval", "jax.experimental.enable_x64",
})  # fmt: skip


def is_neutral_context(module: Module, node: cst.BaseExpression) -> bool:
    """Tell whether a context manager that is not followed leaves the default device alone."""
    function = node.func if isinstance(node, cst.Call) else node
    name = module.names.qualified(function)
    if name is None:
        return False
    if name.partition(".")[0] in _NEUTRAL_PACKAGES:
        return True
    return any(name == known or name.startswith(known + ".") for known in _NEUTRAL_JAX)


def entered_default(held: Value, state: State) -> DefaultDevice | None:
    """Give the default device inside a `with` of a value; None where it certainly stays."""
    devices: set[Device | None] = set()
    expressions: set[Place | None] = set()
    inherited = False
    for atom in held:
        if isinstance(atom, DefaultDeviceContext):
            devices |= atom.devices
            expressions.add(atom.expression)
            inherited |= atom.inherited
        elif isinstance(atom, _NEUTRAL):
            devices |= state.default.devices
            expressions.add(state.default.expression)
        else:
            devices.add(None)
            expressions.add(None)
    if all(isinstance(atom, _NEUTRAL) for atom in held):
        return None
    if len(devices) > 1:
        # Chosen at run time: it may be the accelerator's own.
        devices = {None}
    named = expressions - {None}
    expression = named.pop() if len(named) == 1 else None
    return DefaultDevice(frozenset(devices), expression, inherited)
