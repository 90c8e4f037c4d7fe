"""What JAX calls the platforms that it computes on."""

from __future__ import annotations

from dataclasses import dataclass

from placement_lint.placement.domain.values import Plain


@dataclass(frozen=True)
class PlatformName(Plain):
    """A name of a platform that JAX gives: `jax.default_backend()`, `device.platform`."""
