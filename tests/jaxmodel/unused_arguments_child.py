"""Calls jitted functions with an array on another device, and tells which calls move it.

Run by test_unused_arguments.py with any JAX. Prints JSON.
"""

# ruff: noqa: ARG005 - that they are not used is what is looked at
from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Make each call under a guard that refuses what is moved from device to device."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax
    import jax.numpy as jnp

    _, other = jax.devices()
    with jax.default_device(other):
        away = jnp.ones(3)
    here = jnp.ones(3)
    calls: dict[str, Callable[[], object]] = {
        "a parameter": lambda: jax.jit(lambda x, y: x + 1)(here, away),
        "by keyword only": lambda: jax.jit(lambda x, *, y: x + 1)(here, y=away),
        "collected by *": lambda: jax.jit(lambda x, *rest: x + 1)(here, away),
        "collected by **": lambda: jax.jit(lambda x, **more: x + 1)(here, y=away),
        "of what * collects": lambda: jax.jit(lambda x, *rest: x + rest[0])(here, here, away),
        "used": lambda: jax.jit(lambda x, y: x + y)(here, away),
        "used of *": lambda: jax.jit(lambda x, *rest: x + rest[0])(here, away),
        "kept": lambda: jax.jit(lambda x, *rest: x + 1, keep_unused=True)(here, away),
    }
    moved = []
    for name, call in calls.items():
        try:
            with jax.transfer_guard_device_to_device("disallow"):
                call()
        except Exception as error:  # JAX's own type of it has changed
            if "Disallowed device-to-device transfer" not in str(error):
                raise
            moved.append(name)
    json.dump({"called": [*calls], "moved": moved}, sys.stdout)


if __name__ == "__main__":
    main()
