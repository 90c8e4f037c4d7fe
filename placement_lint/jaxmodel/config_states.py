"""JAX's configuration contexts: the objects that act as context managers, and the option of each.

`jax.default_device` and its like are objects that make a context manager when they are called.
Neither calling one in a statement nor assigning to it changes anything; `jax.config.update` of its
option does what a `with` block of it does, for the whole process.

Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.8.0 and 0.10.2: inside `with context(value)`, and
after `jax.config.update(option, value)`, the option reads the same.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ContextKind(enum.Enum):
    """What such an attribute is made of, which decides what a dropped `__enter__()` does."""

    STATE = enum.auto()
    """A State object. A dropped `__enter__()` has no effect up to 0.5.1, and stays in force for
    good from 0.5.3 on."""
    GENERATOR = enum.auto()
    """A `@contextmanager` function: the dropped generator is closed at once, which undoes it."""
    PRESET = enum.auto()
    """A State or a function whose value is fixed: calling it takes no argument."""


@dataclass(frozen=True)
class ConfigContext:
    """One attribute of JAX that is a configuration context."""

    name: str
    """Its qualified name."""
    option: str
    """What `jax.config.update` takes for the same effect."""
    kind: ContextKind = ContextKind.STATE
    default: str | None = None
    """Source text of the value that a call without argument sets; None: it needs one."""
    takes_none: bool = True
    """Whether the option can be set to None, which booleans read as False."""
    parameter: str | None = "new_val"
    """The name of the parameter."""
    since: str | None = None
    """The oldest of the measured versions that has it; None: all have."""
    until: str | None = None
    """The newest of the measured versions that has it; None: the newest still has."""


def _rows(
    names: str,
    *,
    default: str | None = None,
    takes_none: bool = True,
    since: str | None = None,
    until: str | None = None,
) -> list[ConfigContext]:
    return [
        ConfigContext(
            f"jax.{name}",
            f"jax_{name}",
            default=default,
            takes_none=takes_none,
            since=since,
            until=until,
        )
        for name in names.split()
    ]


_GENERATOR, _PRESET = ContextKind.GENERATOR, ContextKind.PRESET

_ALL = [
    # Switches: called without argument they set True.
    *_rows(
        "check_tracer_leaks debug_infs debug_key_reuse debug_nans enable_checks enable_custom_prng "
        "log_compiles softmax_custom_jvp threefry_partitionable",
        default="True",
    ),
    *_rows("enable_custom_vjp_by_custom_transpose", default="True", until="0.8.0"),
    *_rows("explain_cache_misses no_tracing", default="True", since="0.5.3"),
    *_rows("no_execution remove_size_one_mesh_axis_from_type", default="True", since="0.7.2"),
    *_rows("enable_x64", default="True", since="0.8.0"),
    *_rows("allow_f16_reductions auto_pcast thread_guard", default="True", since="0.10.2"),
    # The one option without the prefix.
    ConfigContext(
        "jax.jax2tf_associative_scan_reductions",
        "jax2tf_associative_scan_reductions",
        default="True",
    ),
    # Those that need a value, and for which None is one.
    *_rows(
        "default_device default_matmul_precision transfer_guard_device_to_device "
        "transfer_guard_device_to_host transfer_guard_host_to_device"
    ),
    *_rows("array_garbage_collection_guard", since="0.10.2"),
    # Those that need one of a few strings.
    *_rows(
        "default_prng_impl legacy_prng_key numpy_dtype_promotion numpy_rank_promotion",
        takes_none=False,
    ),
    *_rows("spmd_mode", takes_none=False, until="0.5.3"),
    # Functions.
    ConfigContext(
        "jax.disable_jit", "jax_disable_jit", _GENERATOR, default="True", parameter="disable"
    ),
    ConfigContext("jax.transfer_guard", "jax_transfer_guard", _GENERATOR),
    ConfigContext(
        "jax.checking_leaks", "jax_check_tracer_leaks", _PRESET, default="True", parameter=None
    ),
    ConfigContext(
        "jax.experimental.enable_x64", "jax_enable_x64", _GENERATOR, default="True", until="0.8.0"
    ),
    ConfigContext(
        "jax.experimental.disable_x64",
        "jax_enable_x64",
        _PRESET,
        default="False",
        parameter=None,
        until="0.8.0",
    ),
]

CONFIG_CONTEXTS: dict[str, ConfigContext] = {context.name: context for context in _ALL}
"""Every configuration context, by its qualified name.

Left out are context managers that set no option (`jax.named_scope`, `jax.make_user_context`,
`jax.ensure_compile_time_eval`), and `jax.set_mesh`, which acts when it is called.
"""

CONFIG_CONTEXT_WORDS: tuple[bytes, ...] = tuple(
    sorted({name.rpartition(".")[2].encode() for name in CONFIG_CONTEXTS})
)
"""The last parts of their names, one of which a file must hold to use any of them."""

MAY_RAISE: frozenset[str] = frozenset(
    f"jax_{name}"
    for name in (
        *("array_garbage_collection_guard", "check_tracer_leaks", "debug_infs", "debug_key_reuse"),
        *("debug_nans", "enable_checks", "legacy_prng_key", "no_execution", "no_tracing"),
        *("numpy_dtype_promotion", "numpy_rank_promotion", "thread_guard", "transfer_guard"),
        *("transfer_guard_device_to_device", "transfer_guard_device_to_host"),
        "transfer_guard_host_to_device",
    )
)
"""Options under which JAX raises for what it does without them."""

HARMLESS_VALUES: frozenset[str] = frozenset({
    "False", "None", "allow", "log", "log_explicit", "standard", "warn",
})  # fmt: skip
"""Values of these under which it raises nothing, as they are written in Python or in a string."""

INERT_WHEN_TRACED: frozenset[str] = frozenset({
    "jax.debug_infs", "jax.debug_nans", "jax.default_device", "jax.log_compiles",
    "jax.transfer_guard", "jax.transfer_guard_device_to_device",
    "jax.transfer_guard_device_to_host", "jax.transfer_guard_host_to_device",
})  # fmt: skip
"""Contexts that have no effect inside of a function that JAX compiles.

Measured in `jax.jit` on 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1. The others do have one: JAX reads the
precision, the promotion, the random generator, `enable_x64` and `disable_jit` while it traces.
"""
