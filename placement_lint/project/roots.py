"""The packages whose names the rules know: names of files of a run lead to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOTS = frozenset({"jax", "safetensors"})
"""Packages whose names the rules know. They are never looked into, even where they are part of
the run: `jax.numpy.load` is itself, and not the private function that it comes from."""

_MENTIONS = tuple(root.encode() for root in sorted(ROOTS))


def mentions_roots(data: bytes) -> bool:
    """Return whether the bytes of a file hold the name of a package that the rules know."""
    return any(root in data for root in _MENTIONS)


def outside_of_roots(names: Iterable[str]) -> frozenset[str]:
    """Return the qualified names that are not below one of these packages."""
    return frozenset(name for name in names if name.partition(".")[0] not in ROOTS)
