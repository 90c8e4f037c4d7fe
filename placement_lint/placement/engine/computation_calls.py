"""Calls of computations: what `jax.jit(f)` gives, where it runs, and what calling it copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.mesh_contexts import LEFT_BEHIND
from placement_lint.placement.domain.values import (
    UNKNOWN,
    Array,
    Computation,
    Host,
    Plain,
    Value,
    join,
)
from placement_lint.placement.engine.operand_layouts import GivenArguments, LaidOut
from placement_lint.placement.engine.operations import is_on_host, without_host_memory
from placement_lint.placement.engine.placed_results import (
    placed_results,
    places_of,
    saw_on_mesh,
    saw_shardings,
)
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.engine.traced_calls import Trace, is_derivative, is_worth_following

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.state import (
        State,
    )
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator


@dataclass
class UnusedArguments:
    """The places of the arguments that a computation leaves where they are."""

    surely: set[int] = field(default_factory=set)
    perhaps: set[int] = field(default_factory=set)
    is_certain: bool = True
    """There are no others of which it is not known."""

    @property
    def every(self) -> set[int]:
        """Those that it leaves, and those that it may leave."""
        return self.surely | self.perhaps


def computed(
    on: Evaluator,
    node: cst.CSTNode,
    atom: Computation,
    given: LaidOut | GivenArguments,
    left: UnusedArguments,
    state: State,
) -> Value:
    """Return what a computation gives, and note what calling it copies."""
    operands = given.operands
    if atom.places_arguments:
        return _placed_by_caller(on, node, atom, given, state)
    if atom.is_staged:
        saw_on_mesh(on, node, operands, state)
    closed = _closed(on, node, atom)

    def placed(used: list[Operand], *, certain: bool, pins: Iterable[Value] = ()) -> Value:
        held = [*used, *closed, *((_called_at(on, node), pin) for pin in pins)]
        made = on.computed(node, held, state, certain=certain, is_call=True)
        # Which memory a result is in depends on what the function does with its arguments.
        made = without_host_memory(made)
        if atom.moments is None:
            return made
        # It takes the shapes of the parameters only, which say nothing of where it runs.
        return join(made, on.operations.created(on.index(node), state))

    # What is left aside may be taken after all, and say where it runs.
    is_array = atom.gives_array and (left.is_certain or not left.every)
    is_flat = given.is_flat if isinstance(given, LaidOut) else atom.usage is None
    on_host = is_on_host(operands)
    if is_array and is_flat and not on_host and all(map(_is_array_or_number, operands)):
        used = [operand for operand in operands if operand[0] not in left.every]
        return placed(used, certain=left.is_certain and atom.is_known)
    spread = on.spread(operands, state)
    everything = [held for _, held in (*spread, *closed)]
    if (
        atom.is_staged
        and not on.program.is_tracing
        and not on.program.follows_compiled_calls
        and not is_worth_following(everything, state)
    ):
        used = [operand for operand in spread if operand[0] not in left.every]
        return tree_of(placed(used, certain=left.is_certain and atom.is_known))
    trace = _trace(on, node, atom, state)
    tracers = [trace.tracers(held) for _, held in operands]
    made = trace.transformed(atom, given.passed(tracers))
    if not trace.is_followed:
        used = [operand for operand in spread if operand[0] not in left.every]
        certain = left.is_certain and atom.is_known
        return trace.given(made, placed(used, certain=certain, pins=trace.pins))
    if not atom.keeps_unused:
        places = [place for place, _ in operands]
        spread = list(zip(places, map(trace.used, tracers), strict=True))
    used = [operand for operand in spread if operand[0] not in left.surely]
    # Of what is linear, the compiled derivative takes nothing.
    certain = not (atom.is_staged and is_derivative(atom))
    return trace.given(made, placed(used, certain=certain, pins=trace.pins))


def _placed_by_caller(
    on: Evaluator,
    node: cst.CSTNode,
    atom: Computation,
    given: LaidOut | GivenArguments,
    state: State,
) -> Value:
    """Return what a computation gives of which its caller says where arguments or results go."""
    operands = given.operands
    if on.supposed is not None:
        for _, held in operands:
            on.supposed.refused(held)
    if atom.shardings:
        arguments = given.arguments if isinstance(given, LaidOut) and not atom.bound else []
        saw_shardings(on, node, atom, arguments, state)
    said = None if on.program.is_tracing else places_of(atom.shardings)
    if said is None and not (on.program.follows_compiled_calls and isinstance(given, LaidOut)):
        return UNKNOWN
    trace = _trace(on, node, atom, state)
    tracers = [trace.tracers(held) for _, held in operands]
    results = trace.transformed(atom, given.passed(tracers))
    return UNKNOWN if said is None else placed_results(trace, results, said)


def unused_arguments(on: Evaluator, node: cst.Call, computation: Computation) -> UnusedArguments:
    """Return the places of arguments that a computation leaves where they are, and parts.

    Perhaps so what is collected, of which it may take some.
    """
    usage = computation.usage
    left = UnusedArguments()
    if usage is None:
        return left
    names_unknown = usage.keywords is None
    if any(each.star or (each.keyword is not None and names_unknown) for each in node.args):
        left.is_certain = False
        return left
    for position, argument in enumerate(node.args):
        is_used = usage.of(position if argument.keyword is None else argument.keyword.value)
        if not is_used:
            left.is_certain &= is_used is not None
            places = left.perhaps if is_used is None else left.surely
            places.add(on.index(argument.value))
            places |= {on.index(n) for n in on.tree.descendants(argument.value)}
    return left


def _trace(on: Evaluator, node: cst.CSTNode, atom: Computation, state: State) -> Trace:
    is_compiled = any(step.is_whole for step in atom.steps)
    is_at_once = bool(atom.steps) and not any(step.is_staged for step in atom.steps)
    trace = Trace(on, node, state, is_compiled=is_compiled, is_at_once=is_at_once)
    if atom.made_under and not state.meshes.is_entered:
        trace.state.meshes = LEFT_BEHIND
    return trace


def _called_at(on: Evaluator, node: cst.CSTNode) -> int:
    """Return the place of what a call calls."""
    return on.index(node.func if isinstance(node, cst.Call) else node)


def _closed(on: Evaluator, node: cst.CSTNode, atom: Computation) -> list[Operand]:
    """Return the committed arrays that a computation closes over, and what it was given before:
    each call takes it once more, as an argument.
    """
    place = _called_at(on, node)
    before = (*atom.bound, *(held for _, held in atom.bound_by_name))
    bound = frozenset(a for held in before for a in arrays(held))
    return [(place, held) for held in (atom.closure, bound) if held]


def _is_array_or_number(operand: Operand) -> bool:
    """Return whether an argument certainly is no container of arrays."""
    return all(isinstance(atom, Array | Host | Plain) for atom in operand[1])
