"""Specs that no mesh is given with, and the meshes in force that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.placement.domain.mesh_contexts import Source, is_none
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.rules.meshes.constraints import CONSTRAINT, names_set_mesh
from placement_lint.rules.meshes.shardings import calls_at
from placement_lint.semantic.tracing import TracedFunctions

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from placement_lint.placement.domain.mesh_contexts import Meshes
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

PUT = "jax.device_put"
_SHARDED = frozenset({TraceKind.SHARDED})


def calls_with_specs(node: cst.Call, ctx: Context) -> frozenset[ShardedCall]:
    """Return the executions of a call that may be given specs without a mesh.

    What it is given for the placement of arguments and results is in `ShardedCall.given`, of what
    `jax.jit` made in the first two.
    """
    if ctx.is_call(node, CONSTRAINT, PUT):
        # In the body of a shard_map a spec is for axes that are not manual there.
        in_shard_map = ctx.module.fact(TracedFunctions).around(node, _SHARDED) is not None
        return frozenset() if in_shard_map else calls_at(node, ctx)
    return frozenset(ctx.flow.record.sharded_calls.compiled.get(ctx.tree.index(node), ()))


def bare_specs(call: ShardedCall) -> list[Spec]:
    """Return the specs that an execution surely is given without a mesh, one of each place."""
    return [
        min((atom for atom in held if isinstance(atom, Spec)), key=str)
        for given in call.given[:2]
        for held in each_leaf(given)
        if held and all(isinstance(atom, Spec) for atom in held)
    ]


def each_leaf(held: Value, depth: int = 4) -> Iterator[Value]:
    """Yield what each leaf of a tree of specs and shardings may be."""
    from placement_lint.placement.domain.values import Mapping, Sequence, sole

    only = sole(held)
    if isinstance(only, Sequence) and only.items is not None and depth:
        for item in only.items:
            yield from each_leaf(item, depth - 1)
    elif isinstance(only, Mapping) and depth:
        for _, item in only.items:
            yield from each_leaf(item, depth - 1)
    else:
        yield held


def meshes_for(call: ShardedCall, ctx: Context, *, constrains: bool) -> frozenset[Mesh]:
    """Return the meshes of which one surely is in force for specs; none where that is not known.

    `constrains`: it is a constraint, which takes that of `with mesh:` where none is set.
    """
    by_set = call.meshes.by_set
    if constrains and (is_none(by_set) or _is_unset(by_set, ctx)):
        return _meshes(call.meshes.by_with)
    return _meshes(by_set)


def _is_unset(meshes: Meshes, ctx: Context) -> bool:
    """Return whether nothing in the program may have set a mesh."""
    is_outside = meshes <= {Source.OUTSIDE, Source.LEFT, Source.NOWHERE}
    return is_outside and not names_set_mesh(ctx)


def _meshes(meshes: Meshes) -> frozenset[Mesh]:
    known = frozenset(atom for atom in meshes if isinstance(atom, Mesh))
    return known if len(known) == len(meshes) else frozenset()
