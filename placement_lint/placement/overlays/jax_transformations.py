"""Transformations of functions: `jax.jit`, `jax.vmap`, `jax.grad` and their like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.structures import Structure
from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.library_values import LibraryFunction, Optimizer
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.program_values import External, Function, Instance
from placement_lint.placement.domain.transformations import Usage
from placement_lint.placement.domain.values import (
    NONE,
    UNKNOWN,
    Closure,
    Computation,
    LibraryMethod,
    Method,
    Partial,
    Value,
    sole,
    value,
)
from placement_lint.placement.engine.jit_options import donation_of, options_of
from placement_lint.placement.engine.placed_results import shardings_said
from placement_lint.placement.facts.traced import (
    KEEPING_ARGUMENTS,
    MAPPING,
    fills_shapes,
    step_of,
    usage_of,
)
from placement_lint.placement.facts.traced_results import gives_array, row_gives_array
from placement_lint.placement.overlays.jax_sharding import (
    saw_specs,
)
from placement_lint.placement.overlays.registry import LibraryCall, applies, models
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.definitions import named_function

if TYPE_CHECKING:
    from collections import abc

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom
    from placement_lint.syntax.definitions import Function as DefinedFunction
    from placement_lint.syntax.names import Names

_GIVING_THE_RESULT = frozenset({"jax.checkpoint", "jax.jit", "jax.remat", "jax.vmap"})
"""Transformations after which a function gives what it gave, or a stack of it."""
_SAME_ARGUMENTS = frozenset({Structure.MAPPED, Structure.SAME})
_FOLLOWED = (Closure, Computation, External, Function, Instance, LibraryMethod, Method, Partial)
"""What is executed where it is called in traced code."""
_PLACING_KEYWORDS = ("out_shardings", "in_shardings", "device", "backend", "out_axis_resources")


@applies(Effect.TRANSFORM)
def transform(call: LibraryCall) -> Value:
    """`jax.jit(f)` and its like: a function that computes."""
    operands = dict(call.operands())
    closure = _closed_over(call, operands.values())
    keywords = call.arguments.keywords
    options = options_of(call.node, operands, call.index)
    given = call.arguments.get(0, "fun", "f")
    held = UNKNOWN if given is None else operands.get(call.index(given), UNKNOWN)
    if isinstance(given, cst.Attribute) and given.attr.value == "init":
        # Of an optimizer that another file makes, perhaps.
        held = call.on.calls.objects.read(given, held, call.state)
    call.program.assume_traced(held, is_compiled=call.name in OVER_WHOLE_ARRAYS)
    place = _function(call, held, call.name)
    is_bound = any(isinstance(atom, Method) for atom in held)
    function, names = _defined(call, None if is_bound else given, place)
    mapped = None if function is not None else _mapped_by(given, names)
    row = names.row(mapped or given) if given is not None else None
    if row is None and function is None:
        row = _row_of(held)
    alike = row is not None and row.follows
    inner = _of_same_arguments(held) if function is None else None
    if function is not None:
        usage = _usage(call, function, names, place, is_bound=is_bound)
    elif inner is not None:
        usage = inner.usage
    else:
        usage = Usage((False,)) if alike else None
    keeps_unused = "keep_unused" in keywords
    call.program.reach.asks_meshes()
    donates = any(each.startswith("donate") for each in (*keywords, *(options or {})))
    is_unplaced = call.name in MAPPING and all(map(_says_nothing, call.node.args[1:]))
    return value(
        Computation(
            places_arguments=_places_arguments(call, options),
            is_known=function is not None or inner is not None,
            usage=None if keeps_unused else usage,
            keeps_unused=keeps_unused,
            donates=donates,
            donated_by=call.place if donates else None,
            donation=donation_of(call.node, operands, call.index, options) if donates else (),
            changes_objects=call.name.startswith("flax.nnx."),
            gives_array=call.name in _GIVING_THE_RESULT
            and mapped is None
            and len(call.node.args) == 1
            and (
                row_gives_array(row, call.name)
                if function is None
                else gives_array(function, names, call.name)
            ),
            closure=frozenset() if call.name == "jax.jit" else closure,
            of=frozenset(atom for atom in held if isinstance(atom, _FOLLOWED)),
            steps=(step_of(call.name, [call.arguments]),),
            function=place if call.name in KEEPING_ARGUMENTS else None,
            fills=is_unplaced and (alike if function is None else fills_shapes(function, names)),
            moments=_moments(call, held) if is_unplaced else None,
            made_under=call.state.meshes.is_entered,
            # Not of `pjit`, which takes specs under `with mesh:` too.
            shardings=shardings_said([call.arguments], call.evaluate)
            if call.name == "jax.jit"
            else (),
        )
    )


def _closed_over(call: LibraryCall, operands: abc.Iterable[Value]) -> frozenset[Atom]:
    """Return what the functions that a transformation is given hold of what is around them."""
    found: set[Atom] = set()
    for held in operands:
        found |= call.on.closed_over(held, call.state)
        found.update(*(atom.closure for atom in held if isinstance(atom, Computation)))
    return frozenset(found)


def _places_arguments(call: LibraryCall, options: abc.Mapping[str, Value] | None) -> bool:
    """Return whether options of a transformation may say where arguments or results are.

    `options`: those that a star passes; None: they are not known, if there are any.
    """
    if call.arguments.has_double_star and options is None:
        return True
    keywords = call.arguments.keywords
    if any(each in keywords and not is_none(keywords[each]) for each in _PLACING_KEYWORDS):
        return True
    return any((options or {}).get(each, NONE) != NONE for each in _PLACING_KEYWORDS)


def _defined(
    call: LibraryCall, given: cst.BaseExpression | None, place: Place | None
) -> tuple[DefinedFunction | None, Names]:
    """Return the function of the program that is transformed, and the names of its file."""
    names = call.on.names
    function = named_function(given, names)
    if place is not None and function is None:
        node = call.program.node(place)
        if isinstance(node, cst.FunctionDef | cst.Lambda):
            return node, call.program.module_of(place).names
    return function, names


def _of_same_arguments(held: Value) -> Computation | None:
    """Return what takes the data of the very arguments that the function does: `jax.vmap(f)`."""
    only = sole(held)
    if not isinstance(only, Computation) or not only.is_known or only.places_arguments:
        return None
    is_same = all(each.structure in _SAME_ARGUMENTS for each in only.steps)
    return only if is_same and not (only.bound or only.bound_by_name) else None


def _usage(
    call: LibraryCall,
    function: DefinedFunction,
    names: Names,
    place: Place | None,
    *,
    is_bound: bool,
) -> Usage | None:
    """Return how a function that is transformed uses what it is given."""
    # `vmap` runs the operations one by one: what is only handed back meets none.
    usage = usage_of(
        function, names, ignores_returned=call.name == "jax.vmap",
        keeps_arguments=call.name in KEEPING_ARGUMENTS and place is not None,
    )  # fmt: skip
    return usage.bound() if is_bound and usage is not None else usage


def _mapped_by(given: cst.BaseExpression | None, names: Names) -> cst.BaseExpression | None:
    """Return what is applied to each leaf: f, of `functools.partial(jax.tree.map, f)`."""
    if isinstance(given, cst.Name) and names.tree.contains(given):
        given = names.sole_value(given)
    if not isinstance(given, cst.Call) or names.qualified(given.func) != "functools.partial":
        return None
    if len(given.args) != 2 or any(each.star or each.keyword for each in given.args):
        return None
    row = names.row(given.args[0].value)
    is_map = row is not None and row.effect is Effect.TREE_MAP
    return given.args[1].value if is_map else None


def _row_of(held: Value) -> transfer.Row | None:
    """Return what JAX's functions do that a value is: of several, if they all do the same."""
    names = [atom.name for atom in held if isinstance(atom, LibraryFunction)]
    rows = [row for name in names if (row := transfer.TABLE.get(name)) is not None]
    is_known = len(rows) == len(held) and len({(row.effect, row.follows) for row in rows}) == 1
    return rows[0] if is_known else None


def _says_nothing(argument: cst.Arg) -> bool:
    """Return whether an argument of `jax.jit` leaves open where results are."""
    keyword = "" if argument.keyword is None else argument.keyword.value
    is_left_out = keyword in _PLACING_KEYWORDS and is_none(argument.value)
    return is_left_out or keyword.startswith("static_arg")


def _function(call: LibraryCall, held: Value, transformation: str) -> Place | None:
    """Return the function that a transformation is given.

    None for what another one gives: a jitted gradient may not depend on an argument.
    """
    if len(held) != 1:
        return None
    (atom,) = held
    if isinstance(atom, Closure | Method):
        place = atom.function
    elif isinstance(atom, Function):
        place = atom.place
    else:
        return None
    # What a function of another file closes over is not known; jit makes constants of it.
    here = place.module == call.on.module.name
    return place if here or transformation == "jax.jit" else None


def _moments(call: LibraryCall, held: Value, seen: frozenset[Place] = frozenset()) -> str | None:
    """Return the optimizer of which a function, `init` or one that calls it, makes moments."""
    names = [each.name for each in held if isinstance(each, Optimizer) and each.is_init]
    if names and len(names) == len(held):
        # It may be one of several, if each of them has some.
        keep = all(isinstance(each, Optimizer) and each.keeps_moments for each in held)
        return min(names) if keep else None
    if len(held) != 1:
        return None
    (atom,) = held
    if isinstance(atom, Function) and atom.place.module == call.on.module.name:
        function = call.program.node(atom.place)
        if not isinstance(function, cst.Lambda) or not isinstance(function.body, cst.Call):
            return None
        if atom.place in seen:
            # Functions that call one another.
            return None
        called = call.on.evaluate(function.body.func, call.state.copy())
        return _moments(call, called, seen | {atom.place})
    return None


@models("jax.experimental.pjit.pjit")
def pjit(call: LibraryCall) -> Value:
    """`pjit(f)`: as `jax.jit(f)`, but under `with mesh:` its arguments are spread over the mesh."""
    saw_specs(call)
    made = transform(call)
    return frozenset(
        replace(atom, places_arguments=True) if isinstance(atom, Computation) else atom
        for atom in made
    )


@applies(Effect.DISTRIBUTE)
def distribute(call: LibraryCall) -> Value:
    """`jax.pmap(f)` and its like: a function that spreads its arguments on purpose."""
    call.operands()
    saw_specs(call)
    return value(Computation(places_arguments=True))
