"""Where the results of a function are that `jax.jit` compiled with shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from placement_lint.jaxmodel.platforms import PLATFORMS
from placement_lint.placement.domain.contents import arrays, leaves_of
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.mesh_contexts import LEFT_BEHIND
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Array,
    Computation,
    Mapping,
    Plain,
    Sequence,
    TheDevice,
    join,
    sole,
    value,
)
from placement_lint.syntax.definitions import applied

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable

    import libcst as cst

    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.placement.engine.traced_calls import Trace
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.calls import Arguments

Places: TypeAlias = "Value | tuple[Places, ...] | dict[Key, Places]"
"""What an array of the result is, wherever in it; or for each item of a tuple, or of a dict."""


def shardings_said(
    calls: abc.Sequence[Arguments], evaluate: Callable[[cst.BaseExpression], Value]
) -> tuple[Value, ...]:
    """Return the `in_shardings` and the `out_shardings` of a `jax.jit`, where it has one of them.

    `calls`: its arguments, and those of the `functools.partial` around it. Not where some of the
    arguments are static, which have none, and others are said to be somewhere. A `device=` and a
    `backend=` commit the results as a sharding of one device does (JAX 0.4.30 to 0.12).
    """
    keywords = {key: node for call in calls for key, node in call.keywords.items()}
    given = [keywords.get(name) for name in ("in_shardings", "out_shardings")]
    is_static = any(name.startswith("static") for name in keywords)
    if any(call.is_open for call in calls):
        return ()
    if not any(given):
        on_device = keywords.get("device") or keywords.get("backend")
        return () if on_device is None else (NONE, _single(evaluate(on_device)))
    if is_static and given[0] is not None:
        return ()
    return tuple(NONE if node is None else evaluate(node) for node in given)


def saw_shardings(
    on: Evaluator, node: cst.CSTNode, atom: Computation, arguments: list[Value], state: State
) -> None:
    """Remember what is given to a computation that says where arguments and results are."""
    given = (*atom.shardings, *arguments)
    if atom.made_under and not state.meshes.is_entered:
        state = state.copy()
        state.meshes = LEFT_BEHIND
    on.record.sharded_calls.saw_compiled(
        on.index(node), on.program.running, on.program.meshes_in(state), *given
    )


def saw_on_mesh(on: Evaluator, node: cst.CSTNode, operands: list[Operand], state: State) -> None:
    """Remember the meshes in force where a compiled function is given arrays on a mesh."""
    if any(array.sharding is not None for _, held in operands for array in arrays(held)):
        on.record.sharded_calls.saw_on_mesh(on.index(node), on.program.meshes_in(state))


def _single(held: Value) -> Value:
    """Return the device that a value names: itself, or the first one of a platform."""
    only = sole(held)
    if isinstance(only, TheDevice):
        return held
    if isinstance(only, Plain) and only.text in PLATFORMS:
        return value(TheDevice(Device(only.text, 0)))
    return UNKNOWN


def of_decorators(module: Module, node: cst.FunctionDef) -> tuple[Value, ...]:
    """Return the same of a function that `jax.jit` decorates, and nothing else.

    Its decorators must have been executed.
    """
    if len(node.decorators) != 1 or not module.traced.is_only_jitted(node):
        return ()
    made, calls = applied(node.decorators[0].decorator, module.names)
    if made is None or module.names.qualified(made) != "jax.jit":
        return ()
    values = module.record.values
    return shardings_said(calls, lambda said: values.get(module.tree.index(said), UNKNOWN))


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
    if isinstance(only, TheDevice) and only.device is not None:
        return value(Array(only.device, committed=True))
    shardings = [atom for atom in wanted if isinstance(atom, Sharding)]
    if wanted and len(shardings) == len(wanted):
        # Of several, the leaves of a tree have each one of them.
        is_known = all(
            each.is_of_host or (each.is_named and each.mesh is not None) for each in shardings
        )
        return join(*map(_on, shardings)) if is_known else UNKNOWN
    if isinstance(only, Sequence) and only.items:
        return tuple(_places(item, on_mesh) for item in only.items)
    if isinstance(only, Mapping) and only.items and not only.element:
        return {key: _places(item, on_mesh) for key, item in only.items}
    return UNKNOWN


def _on(sharding: Sharding) -> Value:
    return value(Array(None, committed=True, sharding=sharding))


def _mesh_of(given: Value, wanted: Value) -> Sharding | None:
    """Return a sharding over the one mesh that arguments and results are put to."""
    found = [atom for each in (given, wanted) for leaf in leaves_of(each) for atom in leaf]
    known = {atom.mesh for atom in found if isinstance(atom, Sharding) and atom.is_named}
    is_open = not all(isinstance(a, Sharding) or a in NONE for a in found)
    if len(known) != 1 or None in known or is_open:
        return None
    return Sharding(mesh=known.pop(), is_named=True)


def placed_results(trace: Trace, made: Value, places: Places) -> Value:
    """Return what a function gives, of what it gave for tracers."""
    if isinstance(places, frozenset):
        return UNKNOWN if places == UNKNOWN else trace.given(made, places)
    only = sole(made)
    if isinstance(places, dict):
        known = dict(only.items) if isinstance(only, Mapping) and not only.element else {}
        if known.keys() != places.keys():
            known = dict.fromkeys(places, trace.unknown_tree)
        mapped = tuple((key, placed_results(trace, known[key], places[key])) for key in places)
        return value(Mapping(mapped, NOTHING))
    has_items = isinstance(only, Sequence) and only.items and len(only.items) == len(places)
    parts = only.items if isinstance(only, Sequence) and has_items and only.items else ()
    every = parts or [trace.unknown_tree] * len(places)
    items = tuple(map(placed_results, [trace] * len(places), every, places))
    return value(Sequence(items, join(*items) if items else NOTHING))
