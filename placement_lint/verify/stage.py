"""The two devices of a proof: an accelerator beside a host, real or simulated.

On a real accelerator nothing is replaced. Else the first of the virtual CPU devices, JAX's default,
stands in for it (`simulated_devices`). Platform names as default devices,
`jax.default_device("cpu")`, are emulated from the version of JAX on that takes them; the
environment variables `JAX_PLATFORMS` and `JAX_DEFAULT_DEVICE`, and other functions that resolve
names inside JAX, are not. A proof that used these would not see its hazard, and fail; it must name
a device instead.
"""

from dataclasses import dataclass
from typing import Any

import jax

from placement_lint.simulated_devices import (
    PLATFORM,
    device_name,
    package_asking,
    replace_default_device,
    replace_functions,
    replace_platform,
)

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
    """Choose the devices, simulated where this process has no accelerator.

    With `plain`, JAX stays untouched, on the CPU only. Of virtual devices the first so many are
    accelerators, the others hosts.
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
    _simulate(list(devices[:accelerators]), list(devices[accelerators:]))
    return Stage(
        accelerator,
        host,
        f"virtual: {device_name(accelerator)} stands in for the accelerator, "
        f"{device_name(host)} for the host",
    )


def enter_mesh() -> Stage:
    """Leave JAX as it is, on virtual devices for a mesh."""
    devices = jax.devices()
    return Stage(devices[0], devices[0], f"mesh: JAX untouched, {len(devices)} virtual devices")


def _simulate(accelerators: list[Any], hosts: list[Any]) -> None:
    def group(backend: Any) -> list[Any] | None:
        if backend is None or backend in _ALIASES:
            return list(accelerators)
        return list(hosts) if backend == "cpu" else None

    def is_accelerator(device: Any) -> bool:
        return device in accelerators and package_asking(2) not in _BEHIND_THE_SCENES

    replace_functions(group)
    jax.default_backend = lambda: PLATFORM
    replace_platform(is_accelerator)
    # Before, JAX goes on refusing names.
    if jax.__version_info__ >= _TAKES_NAMES:
        by_name = {"cpu": hosts[0], PLATFORM: accelerators[0]}

        def device_for(value: Any) -> Any:
            return by_name.get(value, value) if isinstance(value, str) else value

        real_update = jax.config.update

        def update(name: str, value: Any) -> None:
            real_update(name, device_for(value) if name == "jax_default_device" else value)

        replace_default_device(device_for)
        jax.config.update = update
