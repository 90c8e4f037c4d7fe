"""The constraints of a program, and the meshes that they are on."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.mesh_contexts import MeshSource, is_none
from placement_lint.placement.domain.sharding import Mesh, Sharding
from placement_lint.rules.meshes.shardings import axes_of, leaves
from placement_lint.semantic.enclosing import conditions, is_conditional, mentions_word
from placement_lint.syntax.set_meshes import MeshSetting, mesh_setting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from placement_lint.placement.domain.mesh_contexts import Meshes
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.sharding import AxisType
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_MOST_CALLERS = 3
"""Functions that call one another, up from a constraint."""
_MOST_CALLS = 16
_CHOOSING = ("auto", "axis_type", "constrain", "explicit", "mesh", "shard", "version")
"""Words of a condition that may be about the axes of a mesh."""
CONSTRAINT = "jax.lax.with_sharding_constraint"
_NOT_KNOWN = frozenset({MeshSource.OUTSIDE, MeshSource.LEFT})


def constraints_in(facts: ModuleFacts) -> dict[cst.CSTNode, set[ShardedCall]]:
    """Return the calls of a file that constrain an array, with every execution of each."""
    module = facts.flow.module
    seen = module.record.sharded_calls.seen
    calls = ((module.tree.nodes[place], seen[place]) for place in sorted(seen))
    return {
        node: every
        for node, every in calls
        if isinstance(node, cst.Call) and module.names.qualified(node.func) == CONSTRAINT
    }


def constrained_meshes(calls: Iterable[ShardedCall], axis_type: AxisType) -> frozenset[Mesh]:
    """Return the meshes of a constraint that always is along an axis of this type; else none."""
    each = [frozenset(_meshes(call.given[0], axis_type)) for call in calls]
    return frozenset[Mesh]().union(*each) if all(each) else frozenset()


def meshes_of_some(
    node: cst.CSTNode, calls: Collection[ShardedCall], axis_type: AxisType, ctx: Context
) -> frozenset[Mesh]:
    """Return the meshes of those executions of a constraint that surely are along an axis of this
    type: objects of one class, or callers of one function, may be given other meshes.

    None of them where some are not, and a condition may choose which.
    """
    found = [constrained_meshes([call], axis_type) for call in calls]
    if not all(found) and (is_conditional(node, ctx) or _is_chosen_by_mesh(node, ctx)):
        return frozenset()
    return frozenset[Mesh]().union(*found)


def _is_chosen_by_mesh(node: cst.CSTNode, ctx: Context, steps: int = _MOST_CALLERS) -> bool:
    """Return whether what calls the function around a node may ask which mesh there is."""
    from placement_lint.rules.commitment.mixtures import calls_by_name

    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef) or not steps:
        return False
    every = [*itertools.islice(calls_by_name(function.name.value, ctx), _MOST_CALLS + 1)]
    return len(every) > _MOST_CALLS or any(
        any(mentions_word(test, _CHOOSING, there) for test, _ in conditions(call, there))
        or _is_chosen_by_mesh(call, there, steps - 1)
        for call, there in every
    )


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


def names_set_mesh(ctx: Context) -> bool:
    """Return whether the code of a file of the program names what sets a mesh."""
    return (
        ctx.module.fact(_mesh_setting) is not MeshSetting.NEVER
        or ctx.module.run.mesh_setting(ctx.module.path) is not MeshSetting.NEVER
    )


def may_be_set(calls: Collection[ShardedCall], ctx: Context) -> bool:
    """Return whether one of some executions may be under a mesh that `jax.set_mesh` has set.

    Where nothing leads to them, or they are called from outside, any word of it counts.
    """
    return _may_be_set([call.meshes.by_set for call in calls], ctx)


def may_be_set_around(node: cst.Call, ctx: Context) -> bool:
    """Return whether a mesh may be set where a compiled function is called on arrays on a mesh."""
    every = ctx.flow.record.sharded_calls.in_force.get(ctx.tree.index(node), set())
    return _may_be_set([meshes.by_set for meshes in every], ctx)


def _may_be_set(every: Collection[Meshes], ctx: Context) -> bool:
    if any(not meshes <= _NOT_KNOWN and not is_none(meshes) for meshes in every):
        return True
    if every and all(is_none(meshes) for meshes in every) and not sets_for_good(ctx):
        return False
    return names_set_mesh(ctx)


def sets_for_good(ctx: Context) -> bool:
    """Return whether a mesh may be set that stays set, where nothing led to it."""
    if ctx.module.run.mesh_setting(ctx.module.path) is MeshSetting.FOR_GOOD:
        return True
    every = (facts.fact(_mesh_setting) for facts in ctx.module.siblings.values())
    return MeshSetting.FOR_GOOD in every


def _mesh_setting(facts: ModuleFacts) -> MeshSetting:
    return mesh_setting(facts.text)
