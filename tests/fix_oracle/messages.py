"""What an unsafe fix says in its message of what it may change."""

from __future__ import annotations

import re

_MOVES = re.compile(r"\bcomput\w+\b.*\b(?:moves?|runs?)\b(?P<where>.*)", re.IGNORECASE)
_COMPUTED_THERE = re.compile(r"\bhosts?\b.*\bcompute[ds]?\b.*\bthere\b", re.IGNORECASE)
_PLACES = {
    True: re.compile(r"\bhosts?\b|\bcpu\b", re.IGNORECASE),
    False: re.compile(r"\bdefault device\b|\baccelerators?\b|\bdevices\(\)", re.IGNORECASE),
}
"""What means a host in a message, and what an accelerator."""
_BOTH = frozenset({True, False})
_OTHER_TYPE = re.compile(r"\b(d?type|types)\b", re.IGNORECASE)
_TO_DEFAULT = re.compile(r"\bon the default device\b", re.IGNORECASE)


def goes_to(message: str) -> frozenset[bool]:
    """Give where an unsafe fix says that computations go: to hosts (True), to accelerators.

    A device that it gives by a name may be either.
    """
    moves = _MOVES.search(message)
    if moves is not None:
        named = {host for host, pattern in _PLACES.items() if pattern.search(moves["where"])}
        return frozenset(named) or _BOTH
    if _COMPUTED_THERE.search(message):
        return frozenset({True})
    return frozenset({False} if _TO_DEFAULT.search(message) else ())


def changes_types(message: str) -> bool:
    """Tell whether an unsafe fix says that arrays may have another type."""
    return _OTHER_TYPE.search(message) is not None
