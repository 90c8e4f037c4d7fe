"""Functions that reach a callback or a worker process through objects of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import DATA_LOADER, HOST_CALLBACKS
from placement_lint.placement.domain import values
from placement_lint.placement.domain.program_values import Instance
from placement_lint.rules.transfers.run_by_objects import attribute_of, run_by
from placement_lint.semantic.datasets import DATASET_METHODS
from placement_lint.semantic.enclosing import ancestors_in_function, failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.semantic.given_functions import (
    computation_in,
    computations_given,
    starts_workers,
)
from placement_lint.semantic.program_queries import GivenTo
from placement_lint.semantic.spread_options import AllArguments
from placement_lint.semantic.worker_choices import chosen_with_workers
from placement_lint.syntax.calls import Arguments, integer_value
from placement_lint.syntax.definitions import function_of, parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.given_functions import FirstComputation
    from placement_lint.syntax.definitions import Function


def computations_by_objects(
    ctx: Context, to: GivenTo
) -> Iterator[tuple[FirstComputation, Context]]:
    """Yield the first computations of functions of this file that something of any file is given.

    With the file that gives it. It was executed with an object which holds the function; what the
    text of one file says by itself is not repeated.
    """
    if not ctx.module.is_executed and not _may_give(ctx, to):
        return
    program = ctx.flow.program
    reported: set[int] = set()
    for path in sorted(program.modules):
        seen = program.modules[path].record.given.seen
        there = ctx.beside(path) if seen else None
        if there is None:
            continue
        for index in sorted(seen):
            call = there.tree.nodes[index]
            if not isinstance(call, cst.Call) or not _runs_elsewhere(call, to, there):
                continue
            own = [
                (function, cls)
                for path_of, function, cls in _functions_given(call, to, seen[index], there)
                if path_of == ctx.module.path
            ]
            if not own or _is_known(call, to, there):
                continue
            text = {id(each.node) for each in computations_given(call, there)}
            for function, cls in own:
                found = computation_in(function, to, call, ctx)
                if found is None or found.node is None or id(found.node) in {*text, *reported}:
                    continue
                if _is_replaced(found.node, cls, ctx):
                    continue
                reported.add(id(found.node))
                yield found, there


def _may_give(ctx: Context, to: GivenTo) -> bool:
    """Return whether a file that is a program of its own says a call that gives functions away, of
    which its text does not know the first computation: it need not be executed for any other.
    """
    return any(
        _runs_elsewhere(call, to, ctx) and not _is_known(call, to, ctx)
        for call in ctx.tree.every(cst.Call)
    )


def _is_known(call: cst.Call, to: GivenTo, there: Context) -> bool:
    """Return whether the text says all: a callback is one function, a loader runs several."""
    return to is GivenTo.CALLBACK and any(computations_given(call, there))


def _runs_elsewhere(call: cst.Call, to: GivenTo, there: Context) -> bool:
    name = there.called(call)
    if to is GivenTo.CALLBACK:
        return name in HOST_CALLBACKS and not failure_is_expected(call, there)
    return name == DATA_LOADER and starts_workers(call, there)


def _functions_given(
    call: cst.Call, to: GivenTo, given: dict[int, Value], there: Context
) -> Iterator[tuple[str, Function, Place | None]]:
    """Yield the functions of the program that a call lets something run, each with its file.

    And with the class of the object whose method it is.
    """
    arguments = Arguments(call)
    asked: list[tuple[cst.BaseExpression | None, tuple[str, ...]]]
    if to is GivenTo.CALLBACK:
        asked = [(arguments.get(0, "callback"), ("__call__",))]
    else:
        collate, workers = arguments.get(6, "collate_fn"), arguments.get(5, "num_workers")
        if collate is not None:
            collate = chosen_with_workers(collate, workers, there)
        asked = [(arguments.get(0, "dataset"), DATASET_METHODS), (collate, ("__call__",))]
    program = there.flow.program
    for node, methods in asked:
        if node is None:
            continue
        for passed in _passed_for(node, there):
            yield there.module.path, passed, None
        if isinstance(followed(node, there), cst.Name) and not _is_passed_alone(node, call, there):
            # What a name may be on several ways is decided by more than the objects.
            continue
        held = _held(node, given, there)
        if not held and isinstance(node, cst.Call):
            # It is made in a part of what is given.
            held = there.flow.value(node)
        run = {
            (each.place, None if each.receiver is None else each.receiver.cls)
            for each in run_by(held, methods, program)
        }
        for place, cls in sorted(run, key=_order):
            function = program.node(place)
            if isinstance(function, cst.FunctionDef | cst.Lambda):
                yield place.module, function, cls


def _is_passed_alone(node: cst.BaseExpression, call: cst.Call, there: Context) -> bool:
    """Return whether what is given is a parameter, whatever it is, on the only way to a call.

    Of a loader, the number of workers is the same for all that may be passed.
    """
    name = followed(node, there)
    if parameter_named(name, there.names) is None or any(
        isinstance(each, cst.If | cst.IfExp) for each, _ in ancestors_in_function(call, there)
    ):
        return False
    if there.called(call) != DATA_LOADER:
        return True
    workers = AllArguments(call, there).get(5, "num_workers")
    if workers is None or integer_value(followed(workers, there)) is not None:
        return True
    # It is one and the same object that says how many.
    owner = workers.value if isinstance(workers, cst.Attribute) else None
    said_by = None if owner is None else values.sole(there.flow.value(owner))
    return isinstance(said_by, Instance) and said_by.site != said_by.cls


def _is_replaced(node: cst.CSTNode, cls: Place | None, there: Context) -> bool:
    """Return whether a node is in a method for which objects of a class have another one."""
    function = there.function(node)
    while isinstance(function, cst.Lambda):
        function = there.function(function)
    return cls is not None and there.flow.is_overridden(function, cls)


def _order(each: tuple[Place, Place | None]) -> tuple[Place, str]:
    return each[0], str(each[1])


def _passed_for(node: cst.BaseExpression, there: Context) -> Iterator[Function]:
    """Yield the functions of a file that it passes for a parameter of another function of it."""
    parameter = parameter_named(node, there.names)
    function = there.function(node)
    if parameter is None or not isinstance(function, cst.FunctionDef):
        return
    parameters = [*function.params.posonly_params, *function.params.params]
    if parameter not in parameters:
        return
    for use in there.names.uses(function.name.value, there.names.scope(function)):
        call = there.parent(use)
        if isinstance(call, cst.Call) and call.func is use:
            given = Arguments(call).get(parameters.index(parameter), parameter.name.value)
            passed = None if given is None else function_of(given, there.names)
            if passed is not None:
                yield passed


def _held(node: cst.BaseExpression, given: dict[int, Value], there: Context) -> Value:
    """Return what an expression is, for each object that is in it: nothing of one of which several
    things are possible, since a condition chose between them.
    """
    if not isinstance(node, cst.Attribute):
        return given.get(there.tree.index(node), values.NOTHING)
    owners = _held(node.value, given, there)
    found = (attribute_of(each, node.attr.value, there.flow.program) for each in owners)
    return frozenset().union(*found)
