"""Arrays that are put to a tree of shardings: `jax.device_put(params, shardings)`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import committed_to, leaves_of
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.placement.domain.values import (
    MAX_ALTERNATIVES,
    NOTHING,
    Mapping,
    Sequence,
    join,
    limited,
    sole,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.overlays.registry import LibraryCall

_NO_DEVICE = (None,)


def put_to_each(call: LibraryCall, held: Value, wanted: Value) -> Value | None:
    """Return a tree of which each leaf was put to the sharding in the same place of another tree.

    Where the two are not known to be alike, each leaf is put to any of the shardings. None where
    something else than shardings over meshes is in that tree, or only one sharding.
    """
    if isinstance(sole(wanted), Sharding) or _shardings(wanted) is None:
        return None
    return _put(call, held, wanted)


def _put(call: LibraryCall, held: Value, wanted: Value) -> Value:
    tree, targets = sole(held), sole(wanted)
    if isinstance(tree, Mapping) and isinstance(targets, Mapping):
        known = dict(targets.items)
        every = join(*targets.parts())
        pairs = tuple((key, _put(call, each, known.get(key, every))) for key, each in tree.items)
        return frozenset({Mapping(pairs, _put(call, tree.element, every))})
    if (
        isinstance(tree, Sequence)
        and isinstance(targets, Sequence)
        and tree.items is not None
        and targets.items is not None
        and len(tree.items) == len(targets.items)
    ):
        items = tuple(map(_put, [call] * len(tree.items), tree.items, targets.items))
        element = join(*items) if items else NOTHING
        return frozenset({replace(tree, items=items, element=element, site=None)})
    found = _shardings(wanted) or frozenset()

    def change(leaf: Value) -> Value:
        placed = (committed_to(leaf, _NO_DEVICE, sharding=sharding) for sharding in found)
        return limited(join(*placed))

    return call.program.trees.rebuilt(held, change, call.place, call.state, is_put=True)


def _shardings(wanted: Value) -> frozenset[Sharding | None] | None:
    """Return all shardings in a tree; None where something else is in it.

    Of too many nothing is known: then it is None alone.
    """
    found = [atom for leaf in leaves_of(wanted) for atom in leaf]
    known = frozenset(atom for atom in found if isinstance(atom, Sharding) and atom.is_named)
    if not found or not all(atom in known for atom in found):
        return None
    return known if len(known) <= MAX_ALTERNATIVES // 2 else frozenset({None})
