"""What creators make that follow an array: `jnp.zeros_like(x)`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import committed_to, map_arrays
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.values import DOUBTFUL, Anything, AnyTree, Array, Value, join

if TYPE_CHECKING:
    from placement_lint.placement.overlays.registry import LibraryCall


def made_like(call: LibraryCall, made: Value, held: Value, *, keeps_type: bool) -> Value:
    """Return what a creator makes that follows a committed array to its device."""
    if call.on.supposed is not None:
        causes = call.on.supposed.followed(held, call.state.default.devices, copied=True)
        if causes:
            own = frozenset(a for a in held if not isinstance(a, Array) or not a.supposed)
            there = {a.device for a in held if isinstance(a, Array) and a.supposed}
            followed = map_arrays(
                committed_to(made, there), lambda a: replace(a, origin=None, supposed=causes)
            )
            return join(followed, _made_like(call, made, own, keeps_type=keeps_type))
    return _made_like(call, made, held, keeps_type=keeps_type)


def _made_like(call: LibraryCall, made: Value, held: Value, *, keeps_type: bool) -> Value:
    """Return what is made as things are, whatever is supposed."""
    found = [a for a in held if isinstance(a, Array) and a.committed]
    if _has_shape(call) and any(array.sharding is not None for array in found):
        # To a mesh it follows only where its shape is the same.
        return join(made, DOUBTFUL)
    if keeps_type and any(array.is_weak for array in found):
        weak = map_arrays(made, lambda array: replace(array, is_weak=True))
        return join(weak, *(_beside(weak, array) for array in found))
    if found and len(found) == len(held):
        return join(*(_beside(made, array) for array in found))
    if found or any(isinstance(a, Anything | AnyTree | External) for a in held):
        return join(made, DOUBTFUL)
    return made


def _beside(made: Value, array: Array) -> Value:
    """Return what is made where a committed array is: on a mesh split as that."""
    sharding = array.sharding
    is_alike = sharding is not None and sharding.is_named and not sharding.is_of_host
    return committed_to(made, {array.device}, sharding=sharding if is_alike else None)


def _has_shape(call: LibraryCall) -> bool:
    position = 3 if call.name.endswith(".full_like") else 2
    return call.arguments.get(position, "shape") is not None
