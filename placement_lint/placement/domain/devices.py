"""Devices as code names them."""

from __future__ import annotations

from dataclasses import dataclass

from placement_lint.placement.domain.one_of_equal import OneOfEqual


@dataclass(frozen=True, eq=False)
class Device(metaclass=OneOfEqual):
    """A device as code names it: `jax.devices("cpu")[0]` is `Device("cpu", 0)`.

    `platform` None is the default backend, so that `Device(None, 0)` is the system default.
    `index` None is one that is not known.
    """

    platform: str | None
    index: int | None

    def __str__(self) -> str:
        """Write it as code does."""
        argument = "" if self.platform is None else f'"{self.platform}"'
        return f"jax.devices({argument})[{'…' if self.index is None else self.index}]"


SYSTEM_DEFAULT = Device(None, 0)

_GPU_PLATFORMS = frozenset({"cuda", "gpu", "rocm"})


def differ(one: Device | None, other: Device | None, *, accelerator: bool) -> bool | None:
    """Return whether two devices are different ones; None where that cannot be known.

    With an accelerator, the system default is one, and never the CPU; without, it is the CPU.
    """
    if one is None or other is None:
        return None
    platforms = {_kind(one, accelerator=accelerator), _kind(other, accelerator=accelerator)}
    if "cpu" in platforms and len(platforms) == 2:
        return True
    if len(platforms - {None}) == 2:
        return True
    if one.index is None or other.index is None:
        return None
    return one.index != other.index


def is_host(device: Device | None) -> bool:
    """Return whether a device surely is a CPU."""
    return device is not None and device.platform == "cpu"


def _kind(device: Device, *, accelerator: bool) -> str | None:
    if device.platform is None:
        return None if accelerator else "cpu"
    return "gpu" if device.platform in _GPU_PLATFORMS else device.platform
