"""The accelerator that a traced program sees on a machine with only a CPU.

The program runs with twice as many virtual CPU devices as it expects (two, if it does not say): the
first half stand in for accelerators, the second half for hosts (`simulated_devices`). Where JAX
finds a real accelerator nothing is replaced.

`jax.devices` and its like answer so to everyone but JAX; `jax.default_backend()` and
`device.platform` say "gpu" to the user's own files only, since libraries choose kernels by them;
"cpu" and "gpu" are names of the stand-ins in `jax.default_device` and
`jax.config.update("jax_default_device", …)`. A program that pins itself to the CPU, by
`jax_platforms`, `jax_platform_name` or JAX_PLATFORMS, is left there, where nothing moves.

Runs in the traced process.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from placement_lint.simulated_devices import (
    ACCELERATOR_NAMES,
    PLATFORM,
    device_name,
    package_asking,
    replace_default_device,
    replace_functions,
    replace_platform,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.trace.frames import Frames

_PIN = "cpu"
_PLATFORMS = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
_COUNT = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
_BEHIND = frozenset({"jax", "jaxlib"})
"""Packages that must see the devices as they are."""


def default_device() -> Any:
    """Return JAX's own default device: what is used outside of every `jax.default_device`."""
    import jax

    local: Callable[[], list[Any]] = getattr(jax.local_devices, "__wrapped__", jax.local_devices)
    return local()[0]


def virtual_environment(environment: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if name not in _PLATFORMS}
    flags = kept.get("XLA_FLAGS", "")
    found = _COUNT.search(flags)
    expected = int(found[1]) if found else 1
    wanted = f"--xla_force_host_platform_device_count={2 * expected}"
    kept["XLA_FLAGS"] = _COUNT.sub(wanted, flags) if found else f"{flags} {wanted}".strip()
    return kept


def expected_devices(environment: dict[str, str]) -> int:
    """Return how many devices of each sort there are to be, from such an environment."""
    found = _COUNT.search(environment.get("XLA_FLAGS", ""))
    return int(found[1]) // 2 if found else 1


class Emulation:
    """Replaces public functions once JAX is imported, and reports which devices stand in."""

    def __init__(self, frames: Frames, tell: Callable[[str], None], count: int) -> None:
        """`tell` is given sentences for the reader of the report; `count`: devices of a sort."""
        self._frames = frames
        self._tell = tell
        self._count = count
        self._pinned = False
        self._groups: tuple[list[Any], list[Any]] | None = None
        self._decided = False

    def enter(self) -> None:
        """Replace the public functions. JAX has been imported, and has not been used yet."""
        import jax

        self._real_devices = jax.devices
        self._real_backend = jax.default_backend
        self._watch_config()
        for name in _PLATFORMS:
            if os.environ.get(name):
                self._choose(name, os.environ[name])
        if not self._pinned:
            self._real_update("jax_platforms", "cpu")
        replace_functions(self._group)
        jax.default_backend = self._default_backend
        replace_platform(self._is_accelerator)
        replace_default_device(self._device_for)

    # -- whether devices stand in -----------------------------------------------------------------

    def _choose(self, name: str, value: object) -> None:
        if self._decided:
            return  # JAX takes no notice any more either
        if value == _PIN and not self._pinned:
            self._pinned = True
            self._tell(f"the program pins itself to the CPU ({name}): nothing can move there")

    def _watch_config(self) -> None:
        import jax

        real = self._real_update = jax.config.update

        def update(name: str, value: Any) -> Any:
            if name in {"jax_platforms", "jax_platform_name"} and not self._pinned:
                self._choose(name, value)
                if not self._pinned:
                    return None  # it asks for an accelerator, and gets the simulated one
            elif name == "jax_num_cpu_devices" and not self._pinned and not self._decided:
                self._count = max(1, int(value))
                value = 2 * self._count
            elif name == "jax_default_device":
                value = self._device_for(value)
            return real(name, value)

        jax.config.update = update

    def groups(self) -> tuple[list[Any], list[Any]] | None:
        """Return the devices that stand in for accelerators and for hosts. Starts JAX.

        None if none do.
        """
        if not self._decided:
            self._decided = True
            self._groups = self._find_groups()
        return self._groups

    def _find_groups(self) -> tuple[list[Any], list[Any]] | None:
        import jax

        if self._pinned:
            return None
        devices = list(self._real_devices())
        if jax.process_count() > 1:
            self._tell("several processes: no accelerator is emulated, nothing can move")
        elif devices[0].platform == "cpu" and len(devices) == 2 * self._count:
            names = [device_name(device) for device in devices]
            half = self._count
            verb = "stands" if half == 1 else "stand"
            self._tell(f"{', '.join(names[:half])} {verb} in for the accelerator")
            self._tell(f"{', '.join(names[half:])} {verb} in for the host")
            return devices[:half], devices[half:]
        else:
            self._tell(
                f"the program chose its own devices ({len(devices)} of {devices[0].platform}): "
                "they stand in for no accelerator"
            )
        return None

    # -- what they answer -------------------------------------------------------------------------

    def _device_for(self, value: Any) -> Any:
        """Return the device that a platform's name stands for; else the value."""
        if isinstance(value, str) and (value == "cpu" or value in ACCELERATOR_NAMES):
            groups = self.groups()
            if groups is not None:
                return groups[value == "cpu"][0]
        return value

    def _group(self, backend: Any) -> list[Any] | None:
        if package_asking(2) in _BEHIND:
            return None
        groups = self.groups()
        if groups is None:
            return None
        if backend is None or backend in ACCELERATOR_NAMES:
            return list(groups[0])
        return list(groups[1]) if backend == "cpu" else None

    def _is_for_user(self, depth: int) -> bool:
        name = sys._getframe(depth + 1).f_code.co_filename
        return self._frames.user_file(name) is not None

    def _default_backend(self) -> Any:
        return PLATFORM if self._is_for_user(1) and self.groups() else self._real_backend()

    def _is_accelerator(self, device: Any) -> bool:
        """Whether a device is to have the platform of an accelerator for the file that asks."""
        return self._groups is not None and device in self._groups[0] and self._is_for_user(2)
