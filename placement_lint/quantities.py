"""Quantities in words."""

from __future__ import annotations

_UNITS = ("kB", "MB", "GB", "TB", "PB")


def size(count: int) -> str:
    """`3.1 MB`; exact below a thousand bytes."""
    if count < 1000:
        return f"{count} bytes" if count != 1 else "1 byte"
    power = 1
    while count / 1000**power >= 999.95 and power < len(_UNITS):
        power += 1
    return f"{count / 1000**power:.1f} {_UNITS[power - 1]}"
