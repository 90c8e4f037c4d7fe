"""Sizes as people write them: `64MiB`, `1.5 GB`, `4096`."""

import re

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?B)?\s*", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Bytes meant by text: `MiB` and `M` are 1024², `MB` is 1000², and so for the other units.

    Raises ValueError with a message for the user when text is no size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        msg = f"{text!r} is not a size; write it like 64MiB or 1GiB"
        raise ValueError(msg)
    number, unit, byte = match.groups()
    base = 1000 if unit and (byte or "").upper() == "B" else 1024
    return int(float(number) * base ** _POWERS[unit.upper()])


def format_size(count: int) -> str:
    """Return count bytes in the unit that a person would choose: `256 MiB`, `2.5 GiB`, `12 B`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def format_seconds(seconds: float) -> str:
    """Return seconds with a unit that keeps the number readable: `112 ms`, `48 µs`, `2.1 s`."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"
