"""Functions that reach a callback or a worker process through objects of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import DATA_LOADER, HOST_CALLBACKS
from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.program_values import Instance
from placement_lint.semantic.datasets import DATASET_METHODS
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.semantic.given_functions import (
    computation_in,
    computations_given,
    starts_workers,
)
from placement_lint.semantic.program_queries import GivenTo
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of, parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.interpreter import Program
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
                function
                for path_of, function in _functions_given(call, to, seen[index], there)
                if path_of == ctx.module.path
            ]
            if not own or _is_known(call, to, there):
                continue
            text = {id(each.node) for each in computations_given(call, there)}
            for function in own:
                found = computation_in(function, to, call, ctx)
                if found is None or found.node is None or id(found.node) in {*text, *reported}:
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
) -> Iterator[tuple[str, Function]]:
    """Yield the functions of the program that a call lets something run, each with its file."""
    arguments = Arguments(call)
    asked: list[tuple[cst.BaseExpression | None, tuple[str, ...]]]
    if to is GivenTo.CALLBACK:
        asked = [(arguments.get(0, "callback"), ("__call__",))]
    else:
        asked = [
            (arguments.get(0, "dataset"), DATASET_METHODS),
            (arguments.get(6, "collate_fn"), ("__call__",)),
        ]
    program = there.flow.program
    for node, methods in asked:
        if node is None:
            continue
        for passed in _passed_for(node, there):
            yield there.module.path, passed
        if isinstance(followed(node, there), cst.Name):
            # What a name may be on several ways is decided by more than the objects.
            continue
        held = _held(node, given, there)
        run = {p for atom in held for p in _functions_of(atom, methods, program)}
        run |= {p for atom in held for p in _called_by(atom, methods, program)}
        for place in sorted(run):
            function = program.node(place)
            if isinstance(function, cst.FunctionDef | cst.Lambda):
                yield place.module, function


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
    program, name = there.flow.program, node.attr.value
    found: set[Atom] = set()
    for owner in _held(node.value, given, there):
        for instance in _objects_of(owner, program):
            held = program.now.final.get((instance, name))
            method = program.classes.method(instance.cls, name)
            if held:
                only = values.sole(held)
                found |= set() if only is None else {only}
            elif method is not None:
                found.add(values.Method(method, instance))
    return frozenset(found)


def _objects_of(owner: Atom, program: Program) -> list[Instance]:
    """Return the objects that one stands for: in a method that nothing calls, all of its class."""
    if not isinstance(owner, Instance):
        return []
    made = program.now.instances.get(owner.cls, {})
    return [*made] if owner.site == owner.cls and made else [owner]


def _called_by(atom: Atom, methods: tuple[str, ...], program: Program) -> Iterator[Place]:
    """Yield the functions that an object holds and that one of these methods of it calls.

    Each must be the only one that the object may hold under its name.
    """
    if not isinstance(atom, Instance):
        return
    for method in _functions_of(atom, methods, program):
        tree = program.module_of(method).tree
        for call in tree.every(cst.Call, below=program.node(method)):
            function = call.func
            if (
                isinstance(function, cst.Attribute)
                and isinstance(function.value, cst.Name)
                and function.value.value == "self"
            ):
                kept = program.now.final.get((atom, function.attr.value), values.NOTHING)
                only = values.sole(kept)
                if only is not None:
                    yield from _functions_of(only, ("__call__",), program)


def _functions_of(atom: Atom, methods: tuple[str, ...], program: Program) -> Iterator[Place]:
    """Yield what calling a value runs, or one of these methods of an object."""
    while isinstance(atom, values.Partial):
        atom = atom.function
    if isinstance(atom, program_values.Function):
        yield atom.place
    elif isinstance(atom, values.Method):
        yield atom.function
    elif isinstance(atom, program_values.Instance):
        found = (program.classes.method(atom.cls, name) for name in methods)
        yield from (place for place in found if place is not None)
