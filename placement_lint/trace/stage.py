"""The stage: on a machine with only a CPU, virtual CPU devices play an accelerator and a host.

There `jax.devices("cpu")[0]` *is* the default device, and nothing that is traced here ever moves.
With twice as many virtual CPU devices as the program expects (two, if it does not say), the first
half plays accelerators, the second half hosts; the public functions that would give the game away
answer as on a machine with a GPU. Arrays, commitment, contexts and copies are JAX's own. Where JAX
finds a real accelerator nothing is replaced.

What is played: `jax.devices`, `jax.local_devices`, `jax.device_count`, `jax.local_device_count`,
for everyone but JAX; `jax.default_backend()` and `device.platform`, which say "gpu" to the user's
own files only, since libraries choose kernels by them; "cpu" and "gpu" in `jax.default_device` and
`jax.config.update("jax_default_device", …)`.

Not played: `jax.jit(f, backend="cpu")`, the text of a device, memory kinds, memory statistics, and
what only a GPU has (kernels of its own, its speed). A program that pins itself to the CPU, by
`jax_platforms`, `jax_platform_name` or JAX_PLATFORMS, is left there, where nothing moves.

Runs in the traced process.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.trace.frames import Frames

PLAYED = "gpu"
_ACCELERATORS = frozenset({"gpu", "cuda", "rocm", "tpu"})
_PIN = "cpu"
_PLATFORMS = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
_COUNT = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
_BEHIND = frozenset({"jax", "jaxlib"})
"""Packages that must see the devices as they are."""


def device_name(device: Any) -> str:
    """`cpu:1`: what a device really is, also on the stage."""
    return f"{real_platform(device)}:{device.id}"


def default_device() -> Any:
    """Give JAX's own default device: what is used outside of every `jax.default_device`."""
    import jax

    local: Callable[[], list[Any]] = getattr(jax.local_devices, "__wrapped__", jax.local_devices)
    return local()[0]


def virtual_environment(environment: dict[str, str]) -> dict[str, str]:
    """Give the environment of a program that is to run on virtual devices."""
    kept = {name: value for name, value in environment.items() if name not in _PLATFORMS}
    flags = kept.get("XLA_FLAGS", "")
    found = _COUNT.search(flags)
    expected = int(found[1]) if found else 1
    wanted = f"--xla_force_host_platform_device_count={2 * expected}"
    kept["XLA_FLAGS"] = _COUNT.sub(wanted, flags) if found else f"{flags} {wanted}".strip()
    return kept


def expected_devices(environment: dict[str, str]) -> int:
    """Give how many devices of each sort there are to be, from such an environment."""
    found = _COUNT.search(environment.get("XLA_FLAGS", ""))
    return int(found[1]) // 2 if found else 1


class Stage:
    """Plays, once JAX is imported, and tells what it does."""

    def __init__(self, frames: Frames, tell: Callable[[str], None], count: int) -> None:
        """`tell` is given sentences for the reader of the report; `count`: devices of a sort."""
        self._frames = frames
        self._tell = tell
        self._count = count
        self._pinned = False
        self._cast: tuple[list[Any], list[Any]] | None = None
        self._decided = False

    def enter(self) -> None:
        """Replace the public functions. JAX has been imported, and has not been used yet."""
        import jax

        self._real_devices = jax.devices
        self._real_local = jax.local_devices
        self._real_backend = jax.default_backend
        self._watch_config()
        for name in _PLATFORMS:
            if os.environ.get(name):
                self._choose(name, os.environ[name])
        if not self._pinned:
            self._real_update("jax_platforms", "cpu")
        self._play_functions()
        self._play_platform()
        self._play_default_device()

    # -- whether to play --------------------------------------------------------------------------

    def _choose(self, name: str, value: object) -> None:
        """Take note of which platforms the program wants."""
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
                    return None  # it asks for an accelerator, and gets the played one
            elif name == "jax_num_cpu_devices" and not self._pinned and not self._decided:
                self._count = max(1, int(value))
                value = 2 * self._count
            elif name == "jax_default_device":
                value = self._device_for(value)
            return real(name, value)

        jax.config.update = update

    def cast(self) -> tuple[list[Any], list[Any]] | None:
        """Give who plays accelerator and who plays host; None: nobody plays. Starts JAX."""
        if not self._decided:
            self._decided = True
            self._cast = self._find_cast()
        return self._cast

    def _find_cast(self) -> tuple[list[Any], list[Any]] | None:
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

    # -- what is played ---------------------------------------------------------------------------

    def _device_for(self, value: Any) -> Any:
        """Give the device that a platform's name stands for; else the value."""
        if isinstance(value, str) and (value == "cpu" or value in _ACCELERATORS):
            cast = self.cast()
            if cast is not None:
                return cast[value == "cpu"][0]
        return value

    def _played(self, backend: Any) -> list[Any] | None:
        if _asking(2).partition(".")[0] in _BEHIND:
            return None
        cast = self.cast()
        if cast is None:
            return None
        if backend is None or backend in _ACCELERATORS:
            return list(cast[0])
        return list(cast[1]) if backend == "cpu" else None

    def _play_functions(self) -> None:
        import jax

        real_devices, real_local, played = self._real_devices, self._real_local, self._played

        def devices(backend: Any = None) -> Any:
            found = played(backend)
            return real_devices(backend) if found is None else found

        def local_devices(
            process_index: Any = None, backend: Any = None, host_id: Any = None
        ) -> Any:
            found = played(backend) if process_index in {None, 0} and host_id is None else None
            return real_local(process_index, backend, host_id) if found is None else found

        def device_count(backend: Any = None) -> int:
            found = played(backend)
            return len(real_devices(backend) if found is None else found)

        def local_device_count(backend: Any = None) -> int:
            found = played(backend)
            return len(real_local(backend=backend) if found is None else found)

        def default_backend() -> Any:
            return PLAYED if self._is_for_user(1) and self.cast() else self._real_backend()

        local_devices.__wrapped__ = real_local  # type: ignore[attr-defined]
        for stand_in in (devices, local_devices, device_count, local_device_count, default_backend):
            setattr(jax, stand_in.__name__, stand_in)

    def _is_for_user(self, depth: int) -> bool:
        """Tell whether it is a file of the user that asks."""
        name = sys._getframe(depth + 1).f_code.co_filename
        return self._frames.user_file(name) is not None

    def _play_platform(self) -> None:
        """Let the user's files read `gpu` where they ask a played accelerator for its platform.

        The property of the compiled class can be replaced (measured on 0.4.30 to 0.12).
        """
        import jax

        real = jax.Device.platform
        stage = self

        def platform(device: Any) -> Any:
            truth = real.__get__(device)
            if stage._cast is None or device not in stage._cast[0] or not stage._is_for_user(1):
                return truth
            return PLAYED

        platform.__wrapped__ = real  # type: ignore[attr-defined]
        jax.Device.platform = property(platform)

    def _play_default_device(self) -> None:
        """Let `jax.default_device("cpu")`, where there is such a thing, mean the played host."""
        import jax

        state = jax.default_device
        kind = type(state)
        real = kind.__call__

        def called(asked: Any, *args: Any, **kw: Any) -> Any:
            if asked is state and args:
                args = (self._device_for(args[0]), *args[1:])
            return real(asked, *args, **kw)

        kind.__call__ = called


def real_platform(device: Any) -> str:
    """Give the platform of a device, also where it plays another."""
    platform = type(device).platform
    real = getattr(getattr(platform, "fget", None), "__wrapped__", None)
    return str(device.platform if real is None else real.__get__(device))


def _asking(depth: int) -> str:
    """Give the name of the module that asks."""
    return str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
