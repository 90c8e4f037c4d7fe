"""The calls that trace a function they are given, and what is left of placements inside of it.

Measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1, and with equinox 0.13.8 and flax 0.12.12 on
0.12.0.1: a function that enters `jax.default_device(d)`, and one that calls `jax.device_put(x, d)`,
is given to each.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class TraceKind(enum.Enum):
    """What happens to the operations of a traced function."""

    STAGED = enum.auto()
    """They become one compiled program. `jax.default_device` inside has no effect, and
    `jax.device_put` to a device is ignored."""
    SHARDED = enum.auto()
    """As STAGED, for a part of each array on each device; outside of jit, `jax.device_put` to a
    device raises ValueError."""
    REPLAYED = enum.auto()
    """They are recorded, then run one by one: `jax.default_device` inside has no effect on them,
    `jax.device_put` has."""
    EAGER = enum.auto()
    """They run one by one, as the function is called: both have their effect."""
    ABSTRACT = enum.auto()
    """They never run: only shapes and types come out."""
    VARYING = enum.auto()
    """One or the other, by the version of JAX: nothing can be said of it."""


@dataclass(frozen=True)
class Tracing:
    """One call that traces a function."""

    name: str
    """Its qualified name."""
    kind: TraceKind
    parameters: tuple[tuple[int, str], ...]
    """Which of its parameters are functions, or lists of them: position and keyword."""
    since: str | None = None
    """The oldest of the measured versions that has it; None: all have."""

    @property
    def decorates(self) -> bool:
        """Whether it takes its function first, as a decorator does."""
        return self.parameters[0][0] == 0


def _rows(module: str, names: str, kind: TraceKind, *parameters: tuple[int, str]) -> list[Tracing]:
    found = []
    for text in names.split():
        name, _, since = text.partition(">=")
        found.append(Tracing(f"{module}.{name}", kind, parameters, since or None))
    return found


_STAGED, _SHARDED, _REPLAYED = TraceKind.STAGED, TraceKind.SHARDED, TraceKind.REPLAYED
_EAGER, _ABSTRACT = TraceKind.EAGER, TraceKind.ABSTRACT
_FUN, _F = (0, "fun"), (0, "f")
_LOOP = ((0, "cond_fun"), (1, "body_fun"))
_BRANCHES = ((1, "true_fun"), (2, "false_fun"))

SHARD_MAPS = ("jax.shard_map", "jax.experimental.shard_map.shard_map")
"""Functions that run another one on the shards of what it is given."""
NAMED_SHARDINGS = ("jax.NamedSharding", "jax.sharding.NamedSharding")
"""What takes a mesh and a spec for its axes, as those do."""

_JAX = [
    *_rows("jax", "jit pmap", _STAGED, _FUN),
    *_rows("jax.experimental.pjit", "pjit", _STAGED, _FUN),
    *_rows("jax.lax", "scan map", _STAGED, _F),
    *_rows("jax.lax", "fori_loop", _STAGED, (2, "body_fun")),
    *_rows("jax.lax", "while_loop", _STAGED, *_LOOP),
    *_rows("jax.lax", "cond", _STAGED, *_BRANCHES),
    *_rows("jax.lax", "switch", _STAGED, (1, "branches")),
    # EAGER on 0.4.30, STAGED on 0.10.2.
    *_rows("jax.numpy", "frompyfunc", TraceKind.VARYING, (0, "func")),
    *_rows("jax.experimental.pallas", "pallas_call", _STAGED, (0, "kernel")),
    *_rows("jax", "shard_map>=0.6.2", _SHARDED, _F),
    *_rows("jax.experimental.shard_map", "shard_map", _SHARDED, _F),
    *_rows("jax", "checkpoint remat closure_convert", _REPLAYED, _FUN),
    *_rows("jax.experimental.checkify", "checkify", _REPLAYED, _F),
    *_rows("jax.experimental.sparse", "sparsify", _REPLAYED, _F),
    *_rows("jax.lax", "custom_linear_solve", _REPLAYED, (0, "matvec"), (2, "solve")),
    *_rows("jax", "grad hessian jacfwd jacobian jacrev value_and_grad vmap", _EAGER, _FUN),
    *_rows("jax", "jvp linearize linear_transpose vjp", _EAGER, _FUN),
    *_rows("jax", "custom_gradient custom_jvp custom_vjp named_call", _EAGER, _FUN),
    *_rows("jax.numpy", "vectorize", _EAGER, (0, "pyfunc")),
    *_rows("jax.lax", "associative_scan", _EAGER, (0, "fn")),
    *_rows("jax", "eval_shape make_jaxpr", _ABSTRACT, _FUN),
]
_EQUINOX = [
    *_rows("equinox", "filter_jit filter_pmap", _STAGED, _FUN),
    *_rows("equinox", "filter_checkpoint", _REPLAYED, _FUN),
    *_rows(
        "equinox",
        "filter_grad filter_hessian filter_jacfwd filter_jacrev filter_jvp filter_value_and_grad "
        "filter_vjp filter_vmap",
        _EAGER,
        _FUN,
    ),
    *_rows("equinox", "filter_eval_shape filter_make_jaxpr", _ABSTRACT, _FUN),
]
_FLAX = [
    *_rows("flax.nnx", "jit", _STAGED, _FUN),
    *_rows("flax.nnx", "pmap scan", _STAGED, _F),
    *_rows("flax.nnx", "fori_loop", _STAGED, (2, "body_fun")),
    *_rows("flax.nnx", "while_loop", _STAGED, *_LOOP),
    *_rows("flax.nnx", "cond", _STAGED, *_BRANCHES),
    *_rows("flax.nnx", "switch", _STAGED, (1, "branches")),
    *_rows("flax.nnx", "shard_map", _SHARDED, _F),
    *_rows("flax.nnx", "remat", _REPLAYED, _F),
    *_rows("flax.nnx", "grad value_and_grad vmap", _EAGER, _F),
    *_rows("flax.nnx", "eval_shape", _ABSTRACT, _F),
]

TRACINGS: dict[str, Tracing] = {row.name: row for row in (*_JAX, *_EQUINOX, *_FLAX)}
"""Every call that traces a function, by its qualified name."""

LIFTING: dict[str, Tracing] = {
    row.name: row
    for row in (
        *_rows("flax.linen", "checkpoint remat", _REPLAYED, (0, "target")),
        *_rows("flax.linen", "jit scan", _STAGED, (0, "target")),
    )
}
"""What traces the method `__call__` of the class of a module that it is given, or a method that it
decorates (measured with flax 0.12.8 on 0.10.2)."""

COMPILING = frozenset({TraceKind.STAGED, TraceKind.SHARDED})
"""What ends as a compiled program."""

PER_DEVICE = frozenset({
    "equinox.filter_pmap", "flax.nnx.pmap", "jax.experimental.pallas.pallas_call", "jax.pmap",
})  # fmt: skip
"""Those of the kind STAGED whose functions see a part of an array, that of one device."""

OVER_WHOLE_ARRAYS = frozenset(
    row.name for row in TRACINGS.values() if row.kind is TraceKind.STAGED
) - PER_DEVICE  # fmt: skip
"""What compiles a program over whole arrays: in it `jax.device_put` to a sharding on Auto axes does
not split (measured on JAX 0.4.30 to 0.12.0.1; with Explicit axes it does from 0.9.0 on)."""


def _words(kinds: frozenset[TraceKind]) -> tuple[bytes, ...]:
    rows = (*TRACINGS.values(), *LIFTING.values())
    names = (row.name for row in rows if row.kind in kinds)
    return tuple(sorted({name.rpartition(".")[2].encode() for name in names}))


COMPILING_WORDS = _words(COMPILING)
"""The last parts of the names of the calls that compile a function."""
TRACING_WORDS = _words(COMPILING | {TraceKind.REPLAYED})
"""Those, and of the calls that record one."""
