"""The stage: an accelerator beside a host, real or played by virtual CPU devices.

On a machine with only a CPU, `jax.devices("cpu")[0]` *is* the default device, and nothing that
this tool warns of can be seen. With `--xla_force_host_platform_device_count=2` the first CPU
device, JAX's default, plays the accelerator and the second one the host; the few public
functions that would give the game away answer as they do on a machine with a GPU. Arrays,
commitment, contexts and transfers are JAX's own. On a real accelerator nothing is replaced.

Platform names as default devices, `jax.default_device("cpu")`, are played too, from the version of
JAX on that takes them. Not played: `backend=` of `jax.jit` (deprecated), the environment variables
`JAX_PLATFORMS` and `JAX_DEFAULT_DEVICE`, and other functions that resolve names inside JAX. A
proof that used these would not see its hazard, and fail; it must name a device instead.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

_PLAYED = "gpu"
_TAKES_NAMES = (0, 4, 36)
_ALIASES = frozenset({"gpu", "cuda"})
# Code of these packages must see the devices as they are.
_BEHIND_THE_SCENES = frozenset({"jax", "jaxlib", "safetensors", "flax", "placement_lint"})


@dataclass(frozen=True)
class Stage:
    """The two devices of a proof, and what they are in words."""

    accelerator: Any
    host: Any
    note: str


def enter_stage(*, plain: bool, accelerators: int = 1) -> Stage:
    """Set the stage in this process and say what it is; plain: leave JAX untouched, CPU only.

    Of virtual devices the first so many are accelerators, the others hosts.
    """
    devices = jax.devices()
    if plain:
        return Stage(
            devices[0], devices[0], f"plain: JAX untouched, only {device_name(devices[0])}"
        )
    if devices[0].platform != "cpu":
        accelerator, host = devices[0], jax.devices("cpu")[0]
        return Stage(
            accelerator, host, f"{device_name(accelerator)} ({accelerator.device_kind}) beside cpu"
        )
    if len(devices) <= accelerators:
        msg = f"the stage needs {accelerators + 1} virtual CPU devices"
        raise RuntimeError(msg)
    accelerator, host = devices[0], devices[accelerators]
    _play(list(devices[:accelerators]), list(devices[accelerators:]))
    return Stage(
        accelerator,
        host,
        f"virtual: {device_name(accelerator)} stands in for the accelerator, "
        f"{device_name(host)} for the host",
    )


def device_name(device: Any) -> str:
    """`cpu:1`: what the device really is, also on the stage."""
    return f"{device.platform}:{device.id}"


def _play(accelerators: list[Any], hosts: list[Any]) -> None:
    real_devices, real_local_devices = jax.devices, jax.local_devices

    def played(backend: str | None) -> list[Any] | None:
        if backend is None or backend in _ALIASES:
            return list(accelerators)
        return list(hosts) if backend == "cpu" else None

    def devices(backend: str | None = None) -> list[Any]:
        found = played(backend)
        return list(real_devices(backend)) if found is None else found

    def local_devices(
        process_index: int | None = None, backend: str | None = None, host_id: Any = None
    ) -> list[Any]:
        found = played(backend) if process_index in {None, 0} and host_id is None else None
        return list(real_local_devices(process_index, backend)) if found is None else found

    def default_backend() -> str:
        return _PLAYED

    def device_count(backend: str | None = None) -> int:
        return len(devices(backend))

    def local_device_count(backend: str | None = None) -> int:
        return len(local_devices(backend=backend))

    _play_default_device({"cpu": hosts[0], _PLAYED: accelerators[0]})
    for stand_in in (devices, local_devices, default_backend, device_count, local_device_count):
        setattr(jax, stand_in.__name__, stand_in)
    _play_platform(accelerators)


def _play_default_device(by_name: Mapping[str, Any]) -> None:
    """Let the names of platforms, as default devices, mean the devices that play them.

    JAX takes names from 0.4.36 on; before, it goes on refusing them.
    """
    if jax.__version_info__ < _TAKES_NAMES:
        return
    real = jax.default_device
    real_update = jax.config.update

    def played(value: Any) -> Any:
        return by_name.get(value, value) if isinstance(value, str) else value

    class State:
        """What JAX has there, but for the meaning of names."""

        def __call__(self, *value: Any) -> Any:
            return real(*map(played, value))

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    def update(name: str, value: Any) -> None:
        real_update(name, played(value) if name == "jax_default_device" else value)

    jax.default_device = State()
    jax.config.update = update


def _play_platform(accelerators: list[Any]) -> None:
    """Let the user's code read `gpu` where it asks an accelerator for its platform.

    The property of the compiled class can be replaced (measured on jaxlib 0.4.30 and 0.10.2).
    JAX reads it to choose how to compile, so its own modules must go on seeing the truth.
    """
    kind = type(accelerators[0])
    real = kind.platform

    def platform(self: Any) -> str:
        asking = str(sys._getframe(1).f_globals.get("__name__", ""))
        if self in accelerators and asking.partition(".")[0] not in _BEHIND_THE_SCENES:
            return _PLAYED
        return str(real.__get__(self))

    kind.platform = property(platform)
