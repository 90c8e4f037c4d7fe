"""The names that JAX gives to platforms, and those that it never gives.

`jax.default_backend()` and `device.platform` are "cpu", "gpu" or "tpu", or the name that a plug-in
registers ("METAL", "neuron"). Both CUDA and ROCm are "gpu": jaxlib maps the two raw names to it
(`jaxlib/py_client.h`, `PyClient::platform_name`; `jaxlib/py_device.cc`, `PyDevice::platform`).
"cuda" and "rocm" are names to ask by, as in `jax.devices("cuda")`, not names that are answered.
"""

from __future__ import annotations

import re

PLATFORMS = frozenset({"cpu", "gpu", "tpu"})
"""The platforms that JAX itself has."""

PLACED_BY: dict[str, tuple[int | None, str]] = {
    "jax.default_device": (0, "new_val"),
    "jax.device_put": (1, "device"),
    "jax.jit": (None, "device"),
    "jax.sharding.SingleDeviceSharding": (0, "device"),
}
"""Calls of which an argument says where arrays go: its position and name."""

_MEANT = {"cuda": "gpu", "rocm": "gpu", "hip": "gpu", "nvidia": "gpu"}
_NUMBERED = re.compile(r"(?P<name>[A-Za-z]+):\d+")


def meant_platform(text: str) -> str | None:
    """Return the platform that is meant by a name that no platform ever has.

    None for the name of a platform, and for whatever a plug-in may be called.
    """
    numbered = _NUMBERED.fullmatch(text)
    name = (numbered["name"] if numbered else text).lower()
    platform = _MEANT.get(name, name)
    if platform not in PLATFORMS or platform == text:
        return None
    return platform
