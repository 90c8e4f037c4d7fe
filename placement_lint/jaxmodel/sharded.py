"""What the calls that take a sharding do with it: outside of compiled code, and inside.

Measured on JAX 0.4.30 to 0.12.0.1 (nine versions), on eight virtual devices, with a mesh whose axes
are Auto: each row is executed by `tests/jaxmodel/test_sharded.py`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Spread(enum.Enum):
    """How much of an array each device has."""

    SPLIT = enum.auto()
    """A part, as the sharding says."""
    WHOLE = enum.auto()
    """All of it, though it is on all devices."""
    ALONE = enum.auto()
    """All of it, on the default device only, uncommitted."""


@dataclass(frozen=True)
class ShardingRow:
    """One function that takes a sharding, by its qualified name, in versions before `until`."""

    name: str
    call: str
    """A call of it, with an array `x` of 8 rows and a sharding `s` that splits these."""
    compiled: Spread
    """What becomes of it in compiled code. Outside it is always split."""
    since: tuple[int, ...] = (0, 4, 30)
    until: tuple[int, ...] | None = None


def _rows(
    names: str,
    call: str,
    compiled: Spread,
    since: tuple[int, ...] = (0, 4, 30),
    until: tuple[int, ...] | None = None,
) -> list[ShardingRow]:
    return [
        ShardingRow(f"jax.numpy.{name}", f"{name}({call}, device=s)", compiled, since, until)
        for name in names.split()
    ]


_DEVICES = (0, 4, 31)
"""Since then these functions take a device."""


SHARDING_ROWS = (
    ShardingRow("jax.device_put", "device_put(x, s)", Spread.ALONE, until=(0, 4, 35)),
    ShardingRow("jax.device_put", "device_put(x, s)", Spread.WHOLE, since=(0, 4, 35)),
    ShardingRow("jax.lax.with_sharding_constraint", "with_sharding_constraint(x, s)", Spread.SPLIT),
    *_rows("empty", "(8, 4)", Spread.ALONE, until=(0, 12)),
    *_rows("empty", "(8, 4)", Spread.WHOLE, since=(0, 12)),
    *_rows("ones zeros", "(8, 4)", Spread.ALONE),
    *_rows("full", "(8, 4), 1.0", Spread.ALONE),
    *_rows("ones_like zeros_like", "x", Spread.ALONE),
    *_rows("full_like", "x, 1.0", Spread.ALONE),
    *_rows("arange eye", "8", Spread.WHOLE, since=_DEVICES),
    *_rows("linspace", "0, 1, 8", Spread.SPLIT, since=_DEVICES),
    *_rows("array asarray", "y", Spread.SPLIT, since=_DEVICES),
)

IGNORING = frozenset(each.name for each in SHARDING_ROWS if each.compiled is not Spread.SPLIT)
"""The functions that do not split an array where they are compiled, whatever the sharding says."""

UNCOMMITTED = IGNORING - {
    each.name
    for each in SHARDING_ROWS
    if each.compiled is not Spread.ALONE and each.name != "jax.numpy.empty"
}
"""Those of them that do not even put it on the devices of the mesh: since 0.12 `jax.numpy.empty`
does (0.11 was not tried)."""
