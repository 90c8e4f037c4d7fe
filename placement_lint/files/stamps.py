"""By what it is known that a file is what it was: its stamp, its digest.

BLAKE2 and the comparison of secrets are taken from where they are made: `hashlib` and `hmac` load
OpenSSL, which takes a quarter of the time in which Python starts.
"""

from __future__ import annotations

from _operator import _compare_digest as are_equal
from operator import attrgetter

try:
    from _blake2 import blake2b
except ImportError:  # a Python that has no implementation but that of OpenSSL
    from hashlib import blake2b

TYPE_CHECKING = False

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["Stamp", "are_equal", "blake2b", "stamp_of"]

Stamp = tuple[int, int, int, int]
"""Of a file: size, inode, and when it and its status changed, in nanoseconds. Zeros: not known."""

stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_size", "st_ino", "st_mtime_ns", "st_ctime_ns"
)
