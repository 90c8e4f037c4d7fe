"""What creators make that follow an array: `jnp.zeros_like(x)`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import committed_to, map_arrays
from placement_lint.placement.domain.values import DOUBTFUL, Anything, Array, External, Value, join

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
            return join(followed, made_like(call, made, own, keeps_type=keeps_type))
    committed = {a.device for a in held if isinstance(a, Array) and a.committed}
    if keeps_type and any(isinstance(a, Array) and a.committed and a.is_weak for a in held):
        weak = map_arrays(made, lambda array: replace(array, is_weak=True))
        return join(weak, committed_to(weak, committed))
    if committed and all(isinstance(a, Array) and a.committed for a in held):
        return committed_to(made, committed)
    if committed or any(isinstance(a, Anything | External) for a in held):
        return join(made, DOUBTFUL)
    return made
