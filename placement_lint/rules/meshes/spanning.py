"""What rules ask about programs of several processes: which arrays no process has all of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.mesh_devices import EVERY
from placement_lint.rules.devices.processes import INITIALIZE
from placement_lint.rules.meshes.shardings import leaves, says
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    failure_is_expected,
    is_in_test,
    names_a_word,
    passed_exits,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.mesh_devices import MeshDevices
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_TELLING = (INITIALIZE, "jax.process_index", "jax.process_count")
_ONE_CONTROLLER = (b"pathways", b"Pathways")
_WORDS = ("process_count", "host_count", "addressable", "replicated", "num_process", "world_size",
          "multihost", "multi_host", "distributed", "n_process", "single")  # fmt: skip


def says_it_has_several_processes(ctx: Context) -> bool:
    """Return whether a program is one of several processes: by what it asks JAX, or starts.

    Under Pathways one process has the devices of all.
    """
    return ctx.module.fact(_says_it) and not says(ctx, *_ONE_CONTROLLER)


def _says_it(facts: ModuleFacts) -> bool:
    from placement_lint.semantic.file_view import FileView

    return any(map(FileView(facts).program_calls, _TELLING))


def is_excused(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether code may run in one process only: a test, or by what it asks before.

    That is how many processes there are, or which part of an array this one has. Which of them
    this is says nothing: process 0 has no more than the others.
    """
    if is_in_test(node, ctx) or failure_is_expected(node, ctx):
        return True
    for child, ancestor in ancestors_in_function(node, ctx):
        if (
            isinstance(ancestor, cst.If | cst.IfExp | cst.While)
            and child is not ancestor.test
            and names_a_word(ancestor.test, _WORDS, ctx)
        ):
            return True
    return any(names_a_word(each.test, _WORDS, ctx) for each in passed_exits(node, ctx))


def spans_processes(sharding: Sharding | None) -> bool:
    """Return whether a sharding surely leaves each of several processes with a part only."""
    if sharding is None or sharding.mesh is None or sharding.spec is None:
        return False
    mesh, named = sharding.mesh, [*sharding.spec.axes()]
    if mesh.devices is None or not is_of_all(mesh.devices) or mesh.axes is None or not named:
        return False
    if {*named} >= {*mesh.axes}:
        return True
    # Along one of several axes there may be a single device.
    sizes = dict(zip(mesh.axes, mesh.sizes or (), strict=False))
    return any((sizes.get(axis) or 1) > 1 for axis in named)


def replicates_over_processes(sharding: Sharding | None) -> bool:
    """Return whether a sharding surely is replicated over the devices of all processes."""
    return (
        sharding is not None
        and sharding.spec is not None
        and sharding.spec.is_whole
        and sharding.mesh is not None
        and sharding.mesh.devices is not None
        and is_of_all(sharding.mesh.devices)
    )


def is_of_all(devices: MeshDevices) -> bool:
    """Return whether a mesh is of `jax.devices()`, all of them."""
    return devices.part == EVERY and devices.listed is None and not devices.is_local


def held_in_part(held: Value) -> Sharding | None:
    """Return how the arrays in a value are split over processes; None where one may not be."""
    from placement_lint.placement.domain.values import Array

    shardings = [atom.sharding if isinstance(atom, Array) else None for atom in leaves(held)]
    if not shardings or not all(map(spans_processes, shardings)):
        return None
    return min((each for each in shardings if each is not None), key=str)


def target_of(node: cst.BaseExpression | None, ctx: Context) -> Sharding | None:
    """Return the sharding that an expression surely is."""
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import sole

    only = None if node is None else sole(ctx.flow.value(node))
    return only if isinstance(only, Sharding) else None
