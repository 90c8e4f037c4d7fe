"""What rules ask about programs of several processes: which arrays no process has all of."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.findings import Confidence
from placement_lint.placement.domain.mesh_devices import EVERY
from placement_lint.rules.devices.processes import INITIALIZE, has_one_device, has_several_processes
from placement_lint.rules.meshes.shardings import leaves, may_know_meshes, may_split, says
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    failure_is_expected,
    is_caught,
    is_in_test,
    mentions_word,
    passed_asserts,
    passed_checks,
    passed_exits,
)
from placement_lint.semantic.followed import followed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.mesh_devices import MeshDevices
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_MOST_CALLS = 16
_MOST_NESTED = 4
"""Calls of one function that may all be excused."""
_INDEX = "jax.process_index"
_OF_ARRAYS = frozenset({"is_fully_addressable", "is_fully_replicated"})
_TELLING = (INITIALIZE, "jax.process_count")
_JOINING = (
    "jax.make_array_from_process_local_data",
    *(
        f"jax.experimental.multihost_utils.{name}"
        for name in (
            "broadcast_one_to_all", "global_array_to_host_local_array",
            "host_local_array_to_global_array", "process_allgather", "sync_global_devices",
        )
    ),
)  # fmt: skip
"""Functions that all processes call together."""
_MAKERS = frozenset({
    "jax.experimental.multihost_utils.host_local_array_to_global_array",
    "jax.make_array_from_process_local_data",
})  # fmt: skip
"""What makes an array of parts that the processes have: then it is split over these."""
ITERATING = frozenset(
    f"builtins.{name}" for name in "enumerate iter list map reversed sorted sum tuple zip".split()
)
"""Functions that iterate over their arguments."""
FAILURES = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.RuntimeError"})
"""What to read an array raises that this process has a part of, and what is above it."""
_ONE_CONTROLLER = b"pathwaysutils"
"""What starts Pathways, under which one process has the devices of all."""
_OF_ONE_CONTROLLER = ("pathways", "proxy", "controller")
_WORDS = (
    *_OF_ONE_CONTROLLER, "process_count", "host_count", "addressable", "replicated", "num_process",
    "world_size", "multihost", "multi_host", "distributed", "n_process", "single",
)  # fmt: skip


def says_it_has_several_processes(ctx: Context) -> bool:
    """Return whether a program is one of several processes: by what it asks JAX, or starts.

    Not code for Pathways, where one process has the devices of all. What only asks whether it runs
    under it also runs without.
    """
    if not ctx.module.fact(_says_it) or says(ctx, _ONE_CONTROLLER):
        return False
    return _OF_ONE_CONTROLLER[0] not in ctx.module.path.lower()


def _says_it(facts: ModuleFacts) -> bool:
    from placement_lint.semantic.file_view import FileView

    return any(map(FileView(facts).program_calls, (*_TELLING, _INDEX)))


def works_with_other_processes(ctx: Context) -> bool:
    """Return whether a program is one of several processes by more than that process 0 prints.

    That comes with templates, and is true of an only process as well.
    """
    return says_it_has_several_processes(ctx) and ctx.module.fact(_works_with_others)


def _works_with_others(facts: ModuleFacts) -> bool:
    from placement_lint.semantic.file_view import FileView

    view = FileView(facts)
    asking = (cst.ComparisonTarget, cst.Comparison, cst.If, cst.IfExp, cst.UnaryOperation)
    return any(map(view.program_calls, (*_TELLING, *_JOINING))) or any(
        not isinstance(facts.tree.parent(call), asking) for call in view.calls_of(_INDEX)
    )


def is_excused(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether code may run in one process only: a test, or by what it asks before.

    That is how many processes there are, or which part of an array this one has. Which of them
    this is says nothing: process 0 has no more than the others.
    """
    if is_in_test(node, ctx) or failure_is_expected(node, ctx) or _is_for_one(node, ctx):
        return True
    if has_one_device(node, ctx) or _is_decorated_for_one(node, ctx):
        return True
    for child, ancestor in ancestors_in_function(node, ctx):
        if (
            isinstance(ancestor, cst.If | cst.IfExp | cst.While)
            and child is not ancestor.test
            and _excuses(ancestor.test, ctx, truth=child is ancestor.body)
        ):
            return True
    if any(_excuses(each.test, ctx, truth=False) for each in passed_exits(node, ctx)):
        return True
    if any(_excuses(each.test, ctx, truth=True) for each in passed_asserts(node, ctx)):
        return True
    return any(_excuses(each, ctx, truth=True) for each in passed_checks(node, ctx))


def _is_decorated_for_one(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a decorator of the program asks how many processes there are."""
    # Only what may have something to report needs it.
    from placement_lint.semantic.elsewhere import questions_of_function

    function = ctx.function(node)
    decorators = function.decorators if isinstance(function, cst.FunctionDef) else ()
    return any(
        not {*_TELLING, *_OF_ARRAYS}.isdisjoint(questions_of_function(each.decorator, ctx))
        for each in decorators
    )


def _is_for_one(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a function or a class around a node says that it is for Pathways."""
    return any(
        _OF_ONE_CONTROLLER[0] in f"{each.name.value} {each.get_docstring() or ''}".lower()
        for each in ctx.tree.ancestors(node)
        if isinstance(each, cst.ClassDef | cst.FunctionDef)
    )


def _excuses(test: cst.BaseExpression, ctx: Context, *, truth: bool) -> bool:
    """Return whether there may be one process only where a test is true, or false, by its words,
    or by what the functions of the program ask that it calls.

    To be behind `jax.process_count() > 1` is no excuse.
    """
    # Only what may have something to report needs it.
    from placement_lint.semantic.elsewhere import asks, questions_of

    parts = [(test, truth)]
    while parts:
        part, is_true = parts.pop()
        if isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.Not):
            parts.append((part.expression, not is_true))
        elif isinstance(part, cst.BooleanOperation) and (
            isinstance(part.operator, cst.And) is is_true
        ):
            parts += [(part.left, is_true), (part.right, is_true)]
        else:
            said = followed(part, ctx)
            is_about_processes = any(
                mentions_word(each, _WORDS, ctx) or asks(each, ctx, _TELLING)
                for each in (part, said)
            ) or not {*_TELLING, *_OF_ARRAYS}.isdisjoint(questions_of(part, ctx))
            if is_about_processes and not has_several_processes(said, ctx, truth=is_true):
                return True
    return False


def spans_processes(sharding: Sharding | None, ctx: Context) -> bool:
    """Return whether a sharding surely leaves each of several processes with a part only."""
    return sharding is not None and _sure_span(sharding, ctx) is Confidence.LIKELY


def _sure_span(sharding: Sharding, ctx: Context) -> Confidence | None:
    """Return how sure it is that a sharding leaves each of several processes with a part only.

    Possible: along one of several axes there may be a single device.
    """
    if not is_over_all(sharding) or sharding.spec is None or sharding.mesh is None:
        return None
    mesh, named = sharding.mesh, [*sharding.spec.axes()]
    if not named:
        return None
    if mesh.axes is None:
        return Confidence.POSSIBLE
    if {*named} >= {*mesh.axes}:
        return Confidence.LIKELY
    # Only what may have something to report needs it.
    from placement_lint.rules.meshes.mesh_sizes import with_known_sizes

    mesh = with_known_sizes(mesh, ctx)
    sizes = dict(zip(mesh.axes or (), mesh.sizes or (), strict=False))
    known = [sizes.get(axis) for axis in named]
    if any((size or 1) > 1 for size in known):
        return Confidence.LIKELY
    return None if all(size == 1 for size in known) else Confidence.POSSIBLE


def replicates_over_processes(sharding: Sharding | None) -> bool:
    """Return whether a sharding surely is replicated over the devices of all processes."""
    return sharding is not None and is_over_all(sharding) and is_whole(sharding)


def is_whole(sharding: Sharding) -> bool:
    """Return whether a sharding surely splits nothing."""
    return sharding.spec is not None and sharding.spec.is_whole


def is_over_all(sharding: Sharding) -> bool:
    """Return whether a sharding is over the devices of all processes, split or replicated."""
    mesh = sharding.mesh
    return mesh is not None and mesh.devices is not None and is_of_all(mesh.devices)


def is_of_all(devices: MeshDevices) -> bool:
    """Return whether a mesh is of `jax.devices()`, all of them."""
    return devices.part == EVERY and devices.listed is None and not devices.is_local


class Split(NamedTuple):
    """How arrays are split over processes, and how sure that is."""

    sharding: Sharding
    confidence: Confidence


def held_in_part(held: Value, ctx: Context, *, in_trees: bool = True) -> Split | None:
    """Return how the arrays in a value are split over processes; None where one may not be.

    `in_trees`: also those in something that may be a tree of arrays, or one array.
    """
    from placement_lint.placement.domain.values import Mapping, Sequence

    if not in_trees and any(isinstance(atom, Mapping | Sequence) for atom in held):
        # To iterate over a container does not read the arrays in it.
        return None
    found = []
    for leaf in _every_leaf(held):
        for sharding in shardings_in(leaf, in_trees=in_trees):
            confidence = None if sharding is None else _sure_span(sharding, ctx)
            if sharding is None or confidence is None:
                return None
            found.append(Split(sharding, confidence))
    if not found:
        return None
    # As sure as the least sure one.
    least = max((each.confidence for each in found), key=[*Confidence].index)
    return Split(min((each.sharding for each in found), key=str), least)


def read_in_part(array: cst.BaseExpression, ctx: Context, *, in_trees: bool = True) -> Split | None:
    """Return how an array is split over the processes of a program, each of which has a part of it;
    None where one process may have all of it.
    """
    if not may_split(ctx) or not may_know_meshes(ctx):
        return None
    # Most programs have one process: then nobody has to know where this array is. To find out takes
    # the files that say so, which is more than to look up what is known already.
    if not ctx.module.is_executed and not says_it_has_several_processes(ctx):
        return None
    held = ctx.flow.value(array)
    split = held_in_part(held, ctx, in_trees=in_trees) if held else None
    if split is None or not works_with_other_processes(ctx):
        return None
    is_made_of_parts = ctx.called(followed(array, ctx)) in _MAKERS
    return split._replace(confidence=Confidence.LIKELY) if is_made_of_parts else split


def _every_leaf(held: Value, depth: int = _MOST_NESTED) -> Iterator[Value]:
    """Yield what each leaf of a tree may be, but for numbers and NumPy arrays beside arrays."""
    from placement_lint.placement.domain.values import Host, Mapping, Plain, Sequence, sole

    only = sole(held)
    parts: list[Value] | None = None
    if isinstance(only, Mapping):
        parts = [*(part for _, part in only.items), only.element]
    elif isinstance(only, Sequence) and only.items is not None:
        parts = [*only.items]
    if parts is None or not depth:
        yield held
        return
    for part in parts:
        if not (part and all(isinstance(atom, Host | Plain) for atom in part)):
            yield from _every_leaf(part, depth - 1)


def shardings_in(held: Value, *, in_trees: bool = True) -> Iterator[Sharding | None]:
    """Yield how each array in a value is spread; None for what is no array on a mesh."""
    from placement_lint.placement.domain.values import AnyTree, Array

    for atom in leaves(held):
        if isinstance(atom, AnyTree) and in_trees:
            yield from shardings_in(atom.leaf)
        else:
            yield atom.sharding if isinstance(atom, Array) else None


def target_of(node: cst.BaseExpression | None, ctx: Context) -> Sharding | None:
    """Return the sharding that an expression surely is."""
    from placement_lint.placement.domain.sharding import Sharding
    from placement_lint.placement.domain.values import sole

    only = None if node is None else sole(ctx.flow.value(node))
    return only if isinstance(only, Sharding) else None


def is_silent_at(
    node: cst.CSTNode, at: cst.CSTNode, ctx: Context, failures: frozenset[str]
) -> bool:
    """Return whether an error between processes is none at a node: it is traced, runs in one
    process, or is caught there. `at`: what the finding is reported at.
    """
    return ctx.flow.is_traced(node) or _is_none(at, ctx, failures, set())


def _is_none(node: cst.CSTNode, ctx: Context, failures: frozenset[str], seen: set[int]) -> bool:
    """Return whether an error is none here, or in all that calls the function around, but tests."""
    if is_excused(node, ctx) or is_caught(node, ctx, failures):
        return True
    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef) or id(function) in seen:
        return False
    # Only what has something to report needs it.
    from placement_lint.rules.commitment.mixtures import calls_by_name

    seen.add(id(function))
    every = itertools.islice(calls_by_name(function.name.value, ctx), _MOST_CALLS + 1)
    calls = [(call, there) for call, there in every if not is_in_test(call, there)]
    return 0 < len(calls) <= _MOST_CALLS and all(
        _is_none(call, there, failures, seen) for call, there in calls
    )
