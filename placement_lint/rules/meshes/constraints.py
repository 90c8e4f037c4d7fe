"""The constraints of a program, and the meshes that they are on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.sharding import Mesh, Sharding
from placement_lint.rules.meshes.shardings import axes_of, leaves, says

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.sharding import AxisType
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

CONSTRAINT = "jax.lax.with_sharding_constraint"


def constraints_in(facts: ModuleFacts) -> dict[cst.CSTNode, list[Value]]:
    """Return the calls of a file that constrain an array, with what each was given as sharding."""
    module = facts.flow.module
    seen = module.record.sharded_calls.seen
    calls = ((module.tree.nodes[place], seen[place]) for place in sorted(seen))
    return {
        node: [call.given[0] for call in every]
        for node, every in calls
        if isinstance(node, cst.Call) and module.names.qualified(node.func) == CONSTRAINT
    }


def constrained_meshes(given: list[Value], axis_type: AxisType) -> frozenset[Mesh]:
    """Return the meshes of a constraint that always is along an axis of this type; else none."""
    each = [frozenset(_meshes(held, axis_type)) for held in given]
    return frozenset[Mesh]().union(*each) if all(each) else frozenset()


def _meshes(held: Value, axis_type: AxisType) -> Iterator[Mesh]:
    """Yield the meshes of shardings along axes of a type; none where it may be another one."""
    every = list(leaves(held))
    bad = [
        atom.mesh
        for atom in every
        if isinstance(atom, Sharding)
        and atom.is_named
        and atom.mesh is not None
        and any(atom.mesh.type_of(axis) is axis_type for axis in axes_of(atom))
    ]
    # Of a tree one is enough, of alternatives all have to be such.
    if bad and (len(held) == 1 or len(bad) == len(every)):
        yield from bad


def sets_mesh(ctx: Context) -> bool:
    """Return whether a mesh may be set, by which a constraint becomes an assertion."""
    words = (b"set_mesh", b"use_mesh")
    return says(ctx, *words) or ctx.module.run.mentions(ctx.module.path, *words)
