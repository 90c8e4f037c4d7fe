"""The oracle for programs with meshes: JAX on nine virtual devices, of which one is the host.

It also sees where each array is that an expression gives: on which mesh, split how.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.differential.oracle import SCHEME, Observer, Oracle, serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.instrument import Place, Program

ACCELERATORS = 8
_EXPLICIT = frozenset({
    "_batched_device_put_impl", "_device_put_impl", "_device_put_sharding_impl", "device_put",
    "with_sharding_constraint",
})  # fmt: skip
"""Functions of JAX by which programs copy on purpose."""


class MeshObserver(Observer):
    """Sees one execution, and the place of each array."""

    def __init__(self, programs: dict[str, Program], array_type: type[Any], library: str) -> None:
        """Watch these modules."""
        super().__init__(programs, array_type, library)
        self.seats: dict[str, tuple[str, Place, dict[str, Any]]] = {}

    def executed(self, buffers: Sequence[Any], shardings: Sequence[Any]) -> None:
        """Note what JAX executes a computation with; not where it puts an array as it is asked."""
        frame: Any = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(SCHEME):
            if frame.f_code.co_name in _EXPLICIT:
                return
            frame = frame.f_back
        super().executed(buffers, shardings)

    def gave(self, module: str, place: Place, arrays: list[Any]) -> None:
        """Note where the arrays are that an expression gave."""
        for array in arrays:
            seat = _seat(array)
            self.seats.setdefault(f"{module} {place} {seat}", (module, place, seat))

    def encoded(self) -> dict[str, Any]:
        """Give what was seen, as JSON takes it."""
        return {**super().encoded(), "seats": list(self.seats.values())}


def _seat(array: Any) -> dict[str, Any]:
    if array.is_deleted():
        return {}
    devices = sorted(device.id for device in array.sharding.device_set)
    if len(devices) == 1:
        return {"device": devices[0], "committed": array.committed}
    mesh = getattr(array.sharding, "mesh", None)
    spec = getattr(array.sharding, "spec", None)
    if mesh is None or spec is None:
        return {"axes": None, "spec": None}
    parts = [
        [] if part is None else [part] if isinstance(part, str) else list(part) for part in spec
    ]
    while parts and not parts[-1]:
        parts.pop()
    return {"axes": list(mesh.shape.items()), "spec": parts}


class MeshOracle(Oracle):
    """Runs programs with meshes."""

    accelerators = ACCELERATORS

    def observe(self, programs: dict[str, Program]) -> Observer:
        """Give what is to see one run of a program."""
        return MeshObserver(programs, self.array_type, str(Path(self.jax.__file__).parent))


if __name__ == "__main__":
    serve(MeshOracle)
