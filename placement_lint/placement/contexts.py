"""Which context managers leave the default device alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.placement.module import Module

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
