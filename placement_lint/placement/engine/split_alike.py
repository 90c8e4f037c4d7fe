"""How what is computed of an array on a mesh is split, where no compiler chooses it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.values import Array, Atom, Plain, Value, sole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.placement.engine.arguments import Operand


def split_alike(made: Value, operands: Sequence[Operand]) -> Value:
    """Return what is computed element by element of one array and numbers, split as that is.

    Measured on all versions, outside of compiled code: what is compiled as a whole is split as the
    compiler chooses, and so is what is computed of several arrays.
    """
    given = [held for _, held in operands if not all(map(_is_number, held))]
    array = sole(given[0]) if len(given) == 1 else None
    sharding = array.sharding if isinstance(array, Array) else None
    if sharding is None or not sharding.is_named or sharding.spec is None:
        return made
    return frozenset(
        replace(atom, sharding=sharding)
        if isinstance(atom, Array)
        and atom.sharding is not None
        and atom.sharding.mesh == sharding.mesh
        else atom
        for atom in made
    )


def _is_number(atom: Atom) -> bool:
    if isinstance(atom, Array):
        return atom.is_small and atom.sharding is None
    return isinstance(atom, Plain)
