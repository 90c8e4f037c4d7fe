"""Where the results of a function are that `jax.jit` compiled with shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.contents import leaves_of
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Array,
    Sequence,
    join,
    sole,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.traced_calls import Trace

Places: TypeAlias = "Value | tuple[Places, ...]"
"""What an array of the result is, wherever in it; or for each item of a tuple."""


def places_of(shardings: tuple[Value, ...]) -> Places | None:
    """Return where results are committed; None where that is not known.

    `shardings`: those of the arguments and those of the results. Where no sharding is said for a
    result, it is on the mesh of the arguments, split as the compiler decides.
    """
    if len(shardings) != 2:
        return None
    given, wanted = shardings
    places = _places(wanted, _mesh_of(given, wanted))
    return None if places == UNKNOWN else places


def _places(wanted: Value, on_mesh: Sharding | None) -> Places:
    only = sole(wanted)
    if wanted == NONE and on_mesh is not None:
        return _on(on_mesh)
    shardings = [atom for atom in wanted if isinstance(atom, Sharding)]
    if wanted and len(shardings) == len(wanted):
        # Of several, the leaves of a tree have each one of them.
        is_known = all(each.is_named and each.mesh is not None for each in shardings)
        return join(*map(_on, shardings)) if is_known else UNKNOWN
    if isinstance(only, Sequence) and only.items:
        return tuple(_places(item, on_mesh) for item in only.items)
    return UNKNOWN


def _on(sharding: Sharding) -> Value:
    return value(Array(None, committed=True, sharding=sharding))


def _mesh_of(given: Value, wanted: Value) -> Sharding | None:
    """Return a sharding over the one mesh that arguments and results are put to."""
    found = [atom for each in (given, wanted) for leaf in leaves_of(each) for atom in leaf]
    known = {atom.mesh for atom in found if isinstance(atom, Sharding) and atom.is_named}
    if len(known) != 1 or None in known or not all(isinstance(a, Sharding) for a in found):
        return None
    return Sharding(mesh=known.pop(), is_named=True)


def placed_results(trace: Trace, made: Value, places: Places) -> Value:
    """Return what a function gives, of what it gave for tracers."""
    if isinstance(places, frozenset):
        return UNKNOWN if places == UNKNOWN else trace.given(made, places)
    only = sole(made)
    has_items = isinstance(only, Sequence) and only.items and len(only.items) == len(places)
    parts = only.items if isinstance(only, Sequence) and has_items and only.items else ()
    every = parts or [trace.unknown_tree] * len(places)
    items = tuple(map(placed_results, [trace] * len(places), every, places))
    return value(Sequence(items, join(*items) if items else NOTHING))
