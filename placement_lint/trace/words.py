"""How numbers and arrays are put into words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.quantities import size

if TYPE_CHECKING:
    from placement_lint.trace.record import HostRun, Move, Recompilation

__all__ = ["array", "many", "route", "seconds", "size", "times"]


def seconds(value: float) -> str:
    """`1.2 s`, `34 ms`, `5.6 µs`."""
    if value >= 1:
        return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"
    unit, factor = ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{value * factor:.3g} {unit}"


def times(count: int) -> str:
    """`once`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count) or f"{count:,} times"


def many(count: int, one: str, several: str | None = None) -> str:
    """`1 line`, `2 lines`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def array(move: Move | HostRun | Recompilation) -> str:
    """`uint16[64,6,1024]`."""
    if move.shape is None:
        return "arrays of many shapes"
    return f"{move.dtype}[{','.join(map(str, move.shape))}]"


def route(move: Move) -> str:
    """`cpu:1 to cpu:0`."""
    return f"{_devices(move.source)} to {_devices(move.target)}"


def _devices(names: tuple[str, ...]) -> str:
    if not names:
        return "NumPy"
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} devices"
