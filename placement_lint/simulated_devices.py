"""Public functions of JAX that answer as if some virtual CPU devices were an accelerator.

On a machine with only a CPU, `jax.devices("cpu")[0]` *is* the default device, and no array ever
moves. Of several virtual CPU devices (`--xla_force_host_platform_device_count`) the first ones
stand in for accelerators, the others for hosts; the few public functions that tell them apart
answer as on a machine with a GPU. Arrays, commitment, contexts and transfers are JAX's own.

`verify` and `trace` decide which devices stand in, and who gets these answers. Not emulated:
`backend=` of `jax.jit` (deprecated), the text of a device, memory kinds and statistics, and what
only a GPU has. Runs in the subprocesses of the two commands, after JAX was imported there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PLATFORM = "gpu"
"""The platform of the accelerators."""
ACCELERATOR_NAMES = frozenset({"gpu", "cuda", "rocm", "tpu"})
"""The platforms that stand for them where a program names one."""


def replace_functions(group: Callable[[Any], list[Any] | None]) -> None:
    """Replace the functions that list and count devices.

    `group` returns the devices of a backend, or of the default one for None; None: JAX answers. It
    is called by the stand-in, which is called by whoever asks.
    """
    import jax

    real_devices, real_local = jax.devices, jax.local_devices

    def devices(backend: Any = None) -> Any:
        found = group(backend)
        return real_devices(backend) if found is None else found

    def local_devices(process_index: Any = None, backend: Any = None, host_id: Any = None) -> Any:
        found = group(backend) if process_index in {None, 0} and host_id is None else None
        return real_local(process_index, backend, host_id) if found is None else found

    def device_count(backend: Any = None) -> int:
        found = group(backend)
        return len(real_devices(backend) if found is None else found)

    def local_device_count(backend: Any = None) -> int:
        found = group(backend)
        return len(real_local(backend=backend) if found is None else found)

    local_devices.__wrapped__ = real_local  # type: ignore[attr-defined]
    for stand_in in (devices, local_devices, device_count, local_device_count):
        setattr(jax, stand_in.__name__, stand_in)


def replace_platform(is_accelerator: Callable[[Any], bool]) -> None:
    """Replace the property `platform` of devices, which is that of a compiled class.

    That it can be replaced is measured on jaxlib 0.4.30 to 0.12. JAX reads it to choose how to
    compile, so `is_accelerator` must leave out JAX's own modules. It is called by the property.
    """
    import jax

    real = jax.Device.platform

    def platform(device: Any) -> Any:
        return PLATFORM if is_accelerator(device) else real.__get__(device)

    platform.__wrapped__ = real  # type: ignore[attr-defined]
    jax.Device.platform = property(platform)


def replace_default_device(device_for: Callable[[Any], Any]) -> None:
    """Replace what `jax.default_device(…)` takes: `device_for` returns the device of a name."""
    import jax

    state = jax.default_device
    kind = type(state)
    real = kind.__call__

    def called(asked: Any, *args: Any, **keywords: Any) -> Any:
        if asked is state and args:
            args = (device_for(args[0]), *args[1:])
        return real(asked, *args, **keywords)

    kind.__call__ = called


def real_platform(device: Any) -> str:
    """Return the platform of a device, also where it stands in for another."""
    platform = type(device).platform
    real = getattr(getattr(platform, "fget", None), "__wrapped__", None)
    return str(device.platform if real is None else real.__get__(device))


def device_name(device: Any) -> str:
    """Return what a device really is: `cpu:1`."""
    return f"{real_platform(device)}:{device.id}"


def package_asking(depth: int) -> str:
    """Return the top-level package of the caller so many frames above the one that asks this."""
    return str(sys._getframe(depth + 1).f_globals.get("__name__", "")).partition(".")[0]
