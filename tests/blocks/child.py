"""Runs programs that assign to `jax.default_device`, and what fixing makes of them.

Run as a program: `python -m tests.blocks.child`, with JSON on standard input: pairs of texts. Each
is run as it is read: the first one on a stand-in for JAX on which the assignment does what its
author meant, the second one on JAX itself. It prints for each pair what both have noted: where the
arrays were that they made, and what their strings and names held.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable

_MEANT = {
    "default_device": "jax_default_device",
    "default_matmul_precision": "jax_default_matmul_precision",
}


class AsMeant:
    """JAX, if its contexts were the settings that people take them for."""

    def __getattr__(self, name: str) -> Any:
        if name in _MEANT:
            return getattr(jax.config, _MEANT[name])
        return getattr(jax, name)

    def __setattr__(self, name: str, value: Any) -> None:
        jax.config.update(_MEANT[name], value)


def run(text: str, module: Any) -> list[object]:
    """Run a program; give what it noted, and what was in force behind it."""
    noted: list[object] = []

    def note(value: object) -> object:
        noted.append(value)
        return value

    def where(label: str) -> int:
        device: int = jnp.zeros(3).devices().pop().id
        precision = str(jax.config.jax_default_matmul_precision)
        noted.append([label, device, precision])
        return device

    for option in _MEANT.values():
        jax.config.update(option, None)
    names: dict[str, Any] = {"note": note, "where": where, "d": jax.devices(), "jax": module}
    try:
        exec(compile(text.replace("import jax\n", "\n", 1), "program", "exec"), names)  # noqa: S102
    except ArithmeticError as error:
        noted.append(["raised", str(error)])
    where("end")
    return noted


def main(read: Callable[[], str]) -> list[tuple[list[object], list[object]]]:
    """Run every pair."""
    return [(run(first, AsMeant()), run(second, jax)) for first, second in json.loads(read())]


if __name__ == "__main__":
    print(json.dumps(main(sys.stdin.read)))
