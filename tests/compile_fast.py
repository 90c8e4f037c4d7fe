"""Flags of XLA for processes in which nobody looks at how fast compiled code computes."""

from __future__ import annotations

import importlib.metadata

_UNFUSED = "--xla_cpu_use_fusion_emitters=false"
_KNOWS_UNFUSED = ((0, 5, 3), (0, 10, 2))
"""The first and the last version of JAX that knows this flag; XLA ends a process for another."""


def unfused(version: str) -> list[str]:
    """Return the flag that halves the time of a compilation, where a version of JAX knows it."""
    first, last = _KNOWS_UNFUSED
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return [_UNFUSED] if first <= numbers <= last else []


def installed(distribution: str) -> str:
    """Return the version of what is installed here; nothing where it is not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


ANY_VERSION = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""For whatever JAX a process has."""
COMPILE_FAST = " ".join([ANY_VERSION, *unfused(installed("jax"))])
"""For the JAX that is installed here."""
