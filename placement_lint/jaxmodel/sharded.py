"""What the calls that take a sharding do with it: outside of compiled code, and inside.

Measured on JAX 0.5.3, 0.7.2 and 0.10.2, on eight virtual devices, with a mesh whose axes are Auto:
each row is executed by `tests/jaxmodel/test_sharded.py`.
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
    """One function that takes a sharding, by its qualified name."""

    name: str
    call: str
    """A call of it, with an array `x` of 8 rows and a sharding `s` that splits these."""
    compiled: Spread
    """What becomes of it in compiled code. Outside it is always split."""


def _rows(names: str, call: str, compiled: Spread) -> list[ShardingRow]:
    return [
        ShardingRow(f"jax.numpy.{name}", f"{name}({call}, device=s)", compiled)
        for name in names.split()
    ]


SHARDING_ROWS = (
    ShardingRow("jax.device_put", "device_put(x, s)", Spread.WHOLE),
    ShardingRow("jax.lax.with_sharding_constraint", "with_sharding_constraint(x, s)", Spread.SPLIT),
    *_rows("empty ones zeros", "(8, 4)", Spread.ALONE),
    *_rows("full", "(8, 4), 1.0", Spread.ALONE),
    *_rows("ones_like zeros_like", "x", Spread.ALONE),
    *_rows("full_like", "x, 1.0", Spread.ALONE),
    *_rows("arange eye", "8", Spread.WHOLE),
    *_rows("linspace", "0, 1, 8", Spread.SPLIT),
    *_rows("array asarray", "y", Spread.SPLIT),
)

IGNORING = frozenset(each.name for each in SHARDING_ROWS if each.compiled is not Spread.SPLIT)
"""The functions that do not split an array where they are compiled, whatever the sharding says."""

UNCOMMITTED = frozenset(each.name for each in SHARDING_ROWS if each.compiled is Spread.ALONE)
"""Those of them that do not even put it on the devices of the mesh."""
