"""Sizes as people write them: `64MB`, `1.5 GiB`, `4096`."""

import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Bytes meant by text; units are powers of 1024 (`MB` and `MiB` mean the same).

    Raises ValueError with a message for the user when text is no size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        msg = f"{text!r} is not a size; write it like 64MB or 1GB"
        raise ValueError(msg)
    number, unit = match.groups()
    return int(float(number) * _UNITS[unit.upper()])


def format_size(count: int) -> str:
    """Return count bytes in the unit that a person would choose: `256 MB`, `2.5 GB`, `12 B`."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TB"


def format_seconds(seconds: float) -> str:
    """Return seconds with a unit that keeps the number readable: `112 ms`, `48 µs`, `2.1 s`."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"
