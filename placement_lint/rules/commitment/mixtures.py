"""Operations whose operands are committed apart: where JAX surely refuses them, for which reason.

Whoever reports one takes those seats that it is about: devices, or meshes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain import contents, program_values, values
from placement_lint.placement.engine.operations import seat_of
from placement_lint.rules.commitment.combining import COMBINING, COMBINING_TREES, REFUSING
from placement_lint.rules.commitment.dependence import EACH, computed_together, needed_parts
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    failure_is_expected,
    is_caught,
    passed_exits,
)
from placement_lint.semantic.followed import assigned_value, followed
from placement_lint.semantic.returned import step_back
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import class_of_method, class_of_receiver, parameter_named
from placement_lint.syntax.dotted import dotted, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.record import Mixture, Seat
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.facts.module import Module
    from placement_lint.rules.commitment.dependence import Part
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_UPDATES = frozenset({"add", "divide", "max", "min", "multiply", "power", "set"})
_EXCEPTIONS = frozenset({"builtins.ValueError", "builtins.Exception", "builtins.BaseException"})


@dataclass(frozen=True)
class Clash:
    """An operation that surely takes operands from several places."""

    operation: cst.CSTNode
    seats: dict[Seat, cst.CSTNode]
    """For each place one operand from there."""
    is_always: bool
    """Every time that it is executed."""


def clashes(ctx: Context) -> Iterator[Clash]:
    """Yield the operations of a file that JAX refuses, in source order.

    An operation counts also where of its seats only some differ: see `Operations`.
    """
    for place in sorted(ctx.flow.record.mixtures):
        mixture = ctx.flow.record.mixtures[place]
        operation = ctx.tree.nodes[mixture.node]
        seats: dict[Seat, cst.CSTNode] = {}
        for operand, seat in _counting(operation, mixture, ctx):
            seats.setdefault(seat, ctx.tree.nodes[operand])
        operands = list(seats.values())
        if not (
            len(operands) < 2
            or (not mixture.always and _is_of_some_iterations(operation, ctx))
            or _may_fail(operation, ctx)
            or _is_excused_by_callers(operation, ctx, set())
            or _may_be_constants(operation, operands, ctx)
            or any(_is_reassigned(each, seat, operation, ctx) for seat, each in seats.items())
        ):
            yield Clash(operation, seats, mixture.always)


def outside_mesh(ctx: Context) -> Iterator[Clash]:
    """Yield the operations of a file on arrays that are not on the mesh which is set there.

    The operation itself stands for the mesh.
    """
    for place in sorted(ctx.flow.record.outside_mesh):
        mixture = ctx.flow.record.outside_mesh[place]
        operation = ctx.tree.nodes[mixture.node]
        mesh = {seat: operation for operand, seat in mixture.operands if operand == mixture.node}
        seats: dict[Seat, cst.CSTNode] = {}
        for operand, seat in _computed_with(operation, mixture, ctx):
            if seat not in mesh:
                seats.setdefault(seat, ctx.tree.nodes[operand])
        if seats and not (
            _may_fail(operation, ctx)
            or _is_excused_by_callers(operation, ctx, set())
            or any(_is_reassigned(each, seat, operation, ctx) for seat, each in seats.items())
        ):
            yield Clash(operation, seats | mesh, mixture.always)


def _is_of_some_iterations(operation: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a condition in a loop chooses in which iterations an operation is done.

    It may choose those in which the arrays are in one place.
    """
    is_chosen = False
    for child, ancestor in ancestors_in_function(operation, ctx):
        if isinstance(ancestor, cst.If | cst.IfExp | cst.MatchCase):
            is_chosen |= child is not getattr(ancestor, "test", None)
        elif isinstance(ancestor, cst.For | cst.While) and child is ancestor.body:
            exits = passed_exits(operation, ctx)
            return is_chosen or any(ancestor in ctx.ancestors(each) for each in exits)
    return False


def _computed_with(
    operation: cst.CSTNode, mixture: Mixture, ctx: Context
) -> list[tuple[int, Seat]]:
    """Return the operands that surely take part in an operation, be it the only one."""
    if isinstance(operation, cst.Subscript):
        return sorted(mixture.operands, key=str)
    if isinstance(operation, cst.Call):
        row = ctx.names.row(operation.func)
        function = operation.func
        is_method = isinstance(function, cst.Attribute) and (
            function.attr.value in transfer.COMPUTING_METHODS
        )
        if is_method or (row is not None and row.effect is Effect.COMPUTE):
            return sorted(mixture.operands, key=str)
    return _counting(operation, mixture, ctx)


def is_known_by_name(operand: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand is of a parameter that nothing in its file passes, and that only
    the annotations of other parameters of its name say a class of.
    """
    whole = whole_of(operand)
    value = assigned_value(whole, ctx)
    parameter = parameter_named(whole if value is None else whole_of(value), ctx.names)
    function = None if parameter is None else ctx.tree.around(parameter, cst.FunctionDef)
    if parameter is None or parameter.annotation is not None or function is None:
        return False
    if parameter.name.value not in ctx.module.fact(_classes_by_parameter):
        return False
    uses = ctx.names.uses(function.name.value, ctx.names.scope(function))
    return not any(isinstance(ctx.parent(use), cst.Call | cst.Arg) for use in uses)


def _classes_by_parameter(facts: ModuleFacts) -> dict[str, cst.BaseExpression]:
    # Rules import this module where LibCST may not be needed.
    from placement_lint.placement.facts.annotations import classes_by_parameter

    return classes_by_parameter(facts.tree, facts.names)


def described(seats: Mapping[Seat, cst.CSTNode]) -> str:
    """Return where the first two operands are committed, and what JAX does then."""
    (first, one), (second, other), *_ = seats.items()
    if one is other or not dotted(one) or not dotted(other):
        return f"operands are committed to {first} and to {second}: ValueError"
    return f"`{dotted(one)}` is committed to {first} and `{dotted(other)}` to {second}: ValueError"


def _counting(operation: cst.CSTNode, mixture: Mixture, ctx: Context) -> list[tuple[int, Seat]]:
    """Return the operands that surely take part in an operation, each with its place."""
    every = sorted(mixture.operands, key=str)
    if isinstance(operation, cst.BinaryOperation | cst.AugAssign):
        return every
    if isinstance(operation, cst.Comparison):
        searches = any(isinstance(c.operator, cst.In | cst.NotIn) for c in operation.comparisons)
        return [] if searches else every
    if not isinstance(operation, cst.Call):
        return []
    called = ctx.called(operation)
    is_combining = called in REFUSING or _compiles_combining(operation, ctx)
    if is_combining or _is_method(operation) or _reduces(operation, ctx):
        return every
    if called in COMBINING_TREES or _maps_combining(operation, ctx):
        # Leaf by leaf: trees that are on several devices each may agree.
        at = Counter(operand for operand, _ in every)
        return [(operand, device) for operand, device in every if at[operand] == 1]
    if called in _BRANCHING:
        return _met_in_a_branch(operation, mixture, ctx)
    computation = _computation(operation.func, ctx)
    if computation is None:
        return []
    found = [
        (operand, device)
        for operand, devices in _operands_that_count(operation, computation, mixture, ctx)
        if len(devices) == 1
        for device in devices
    ]
    return [each for each in found if each in mixture.operands]


def _is_method(call: cst.Call) -> bool:
    """Return whether a call is `x.dot(y)` or `x.at[i].set(y)`: of arrays, as both were operands."""
    function = call.func
    if not isinstance(function, cst.Attribute):
        return False
    updated = function.value
    if isinstance(updated, cst.Subscript) and isinstance(updated.value, cst.Attribute):
        return updated.value.attr.value == "at" and function.attr.value in _UPDATES
    return function.attr.value == "dot"


def _may_fail(operation: cst.CSTNode, ctx: Context) -> bool:
    return failure_is_expected(operation, ctx) or is_caught(operation, ctx, _EXCEPTIONS)


def _is_excused_by_callers(node: cst.CSTNode, ctx: Context, seen: set[int]) -> bool:
    """Return whether a function is called only where its failure is caught, or while it is traced.

    Arrays that a traced function has from outside do not clash: it makes constants of them.
    """
    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef) or id(function) in seen:
        return False
    seen.add(id(function))
    calls = list(calls_by_name(function.name.value, ctx))
    return bool(calls) and all(
        there.flow.is_traced(call)
        or _may_fail(call, there)
        or _is_excused_by_callers(call, there, seen)
        for call, there in calls
    )


def calls_by_name(name: str, ctx: Context) -> Iterator[tuple[cst.Call, Context]]:
    """Yield every call in the program of something with a name, and the file that it is in."""
    for path in ctx.flow.program.modules:
        there = ctx.beside(path)
        if there is not None:
            for node in there.module.fact(_calls_by_last_name).get(name, ()):
                yield node, there


def called_for(function: cst.FunctionDef, ctx: Context) -> cst.FunctionDef | cst.ClassDef:
    """Return what is called where a function runs: of an initializer, its class."""
    is_initializer = function.name.value == "__init__"
    cls = class_of_method(function, ctx.names) if is_initializer else None
    return function if cls is None else cls


def is_called(function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether something in the program calls a function by its name, or makes an object
    whose initializer it is.
    """
    return any(True for _ in calls_by_name(called_for(function, ctx).name.value, ctx))


def _calls_by_last_name(facts: ModuleFacts) -> dict[str, list[cst.Call]]:
    """Return the calls of one file by the last part of what they call."""
    found: dict[str, list[cst.Call]] = {}
    for node in facts.tree.every(cst.Call):
        called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if isinstance(called, cst.Name):
            found.setdefault(called.value, []).append(node)
    return found


def _may_be_constants(operation: cst.CSTNode, operands: list[cst.CSTNode], ctx: Context) -> bool:
    """Return whether a function has its operands from outside.

    They do not clash where the function is called by a traced one: it makes constants of them.
    """
    function = ctx.function(operation)
    if not isinstance(function, cst.FunctionDef):
        return False
    return all(
        isinstance(operand, cst.Name) and _is_from_outside(operand, function, ctx)
        for operand in operands
    )


def _is_from_outside(name: cst.Name, function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether a function has what a name is from outside, or takes it from something that
    it has from there, one by one in a comprehension.
    """
    inner, seen = ctx.names.scope(function.body), {id(name)}
    pending = [name]
    while pending:
        each = pending.pop()
        owner = ctx.names.owner(each.value, ctx.names.scope(each))
        if owner is inner:
            return False
        if owner is None or not isinstance(owner.node, cst.BaseComp):
            continue
        for loop in ctx.tree.every(cst.CompFor, below=owner.node):
            for part in (loop.iter, *ctx.tree.descendants(loop.iter)):
                if isinstance(part, cst.Name) and id(part) not in seen:
                    seen.add(id(part))
                    pending.append(part)
    return True


def _is_reassigned(operand: cst.CSTNode, seat: Seat, operation: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand is an attribute that is set in several places, not always alike.

    Users of a class may call the methods that do so in any order.
    """
    seen: set[int] = set()
    while isinstance(operand, cst.Name | cst.Call) and id(operand) not in seen:
        seen.add(id(operand))
        operand = step_back(operand, ctx) or operand
    if not isinstance(operand, cst.Attribute):
        return False
    objects = _objects(operand, ctx)
    targets = [
        each
        for each in ctx.module.fact(_set_attributes).get(operand.attr.value, [])
        if not _sets_none(each, ctx) and not _is_of_other_class(each, objects, ctx)
    ]
    # Other classes may have an attribute of this name.
    own = [each for each in targets if not objects or not _objects(each, ctx).isdisjoint(objects)]
    known = [each for each in targets if _objects(each, ctx)]
    if len(targets) < 2 or (len(own) < 2 and len(known) == len(targets)):
        return False
    elsewhere: Value = frozenset()
    for target in targets:
        if _is_never_reached(target, operation, ctx):
            continue
        if _seats_of(ctx.flow.tree_of(target)) != {seat} and not _is_put_like(
            target, targets, seat, ctx
        ):
            others = _objects(target, ctx)
            if not (objects and others):
                return True
            elsewhere |= others
    # Of the objects, those of a subclass may have something else.
    return bool(elsewhere) and objects <= elsewhere


def _objects(attribute: cst.Attribute, ctx: Context) -> Value:
    """Return the objects of which an attribute is read or set, where only those are known."""
    held = ctx.flow.value(attribute.value)
    return held if all(isinstance(atom, program_values.Instance) for atom in held) else frozenset()


def _sets_none(target: cst.Attribute, ctx: Context) -> bool:
    """Return whether an attribute is set to None, with which nothing is computed."""
    return is_none(_set_to(target, ctx))


def _set_to(target: cst.Attribute, ctx: Context) -> cst.BaseExpression | None:
    """Return what an attribute alone is set to."""
    parent = ctx.parent(target)
    if isinstance(parent, cst.AssignTarget):
        parent = ctx.parent(parent)
    return parent.value if isinstance(parent, cst.Assign | cst.AnnAssign) else None


def _is_of_other_class(target: cst.Attribute, objects: Value, ctx: Context) -> bool:
    """Return whether `self.x` is set of a class that none of some objects is of."""
    owner = class_of_receiver(target.value, ctx.names)
    if owner is None or not objects:
        return False
    classes = {atom.cls for atom in objects if isinstance(atom, program_values.Instance)}
    place, bases = ctx.flow.module.place(owner), ctx.flow.program.classes.bases
    return not any(place in bases(cls) for cls in classes)


def _is_put_like(
    target: cst.Attribute, targets: list[cst.Attribute], seat: Seat, ctx: Context
) -> bool:
    """Return whether an attribute that no execution sets is put where another place puts it:
    by `jax.device_put` to the same variable of the file, or attribute of the object.
    """
    if ctx.flow.value(target) != values.UNKNOWN:
        return False
    to = _device_put_to(target, ctx)
    return to is not None and any(
        _device_put_to(each, ctx) == to
        and ctx.flow.value(each) != values.UNKNOWN
        and _seats_of(ctx.flow.tree_of(each)) == {seat}
        for each in targets
    )


def _device_put_to(target: cst.Attribute, ctx: Context) -> tuple[int, str] | None:
    """Return the variable that an attribute is put to, or the attribute of its own object."""
    call = _set_to(target, ctx)
    if not isinstance(call, cst.Call) or ctx.called(call) != "jax.device_put":
        return None
    to = Arguments(call).get(1, "device")
    if isinstance(to, cst.Attribute):
        owner = class_of_receiver(to.value, ctx.names)
        return None if owner is None else (id(owner), to.attr.value)
    if not isinstance(to, cst.Name) or ctx.names.sole_binding(to) is None:
        return None
    return id(ctx.names.owner(to.value, ctx.names.scope(to))), to.value


def _is_never_reached(node: cst.CSTNode, operation: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operation that raises comes before, on every way to an expression."""
    line = ctx.statement_line(operation)
    block = None if line is None else ctx.parent(line)
    return (
        line is not None
        and block is not None
        and ctx.function(node) is ctx.function(operation)
        and ctx.tree.is_inside(node, block)
        and (ctx.tree.is_inside(node, line) or ctx.tree.index(node) > ctx.tree.index(line))
    )


def _set_attributes(facts: ModuleFacts) -> dict[str, list[cst.Attribute]]:
    found: dict[str, list[cst.Attribute]] = {}
    for node in facts.tree.every(cst.AssignTarget, cst.AnnAssign, cst.AugAssign):
        if isinstance(node.target, cst.Attribute):
            found.setdefault(node.target.attr.value, []).append(node.target)
    return found


# -- jitted functions: which arguments does the result surely depend on? --------------------------


def _computation(called: cst.BaseExpression, ctx: Context) -> values.Computation | None:
    """Return what a transformation made of a function that is known, if that is called.

    It may be one of several, of a method of as many objects.
    """
    held = ctx.flow.value(called)
    made = [atom for atom in held if isinstance(atom, values.Computation)]
    ways = {(atom.function, atom.bound_first, atom.usage) for atom in made}
    is_known = len(made) == len(held) and len(ways) == 1 and made[0].function is not None
    return made[0] if is_known else None


def _compiles_combining(call: cst.Call, ctx: Context) -> bool:
    """Return whether what a call runs was made of a function of JAX: `jax.jit(jnp.dot)(a, b)`."""
    made = followed(call.func, ctx)
    is_made = False
    for _ in range(_MOST_TRANSFORMATIONS):
        given = Arguments(made).get(0, "fun") if isinstance(made, cst.Call) else None
        row = transfer.TABLE.get(ctx.called(made) or "")
        if given is None or row is None or row.effect is not Effect.TRANSFORM:
            break
        made, is_made = followed(given, ctx), True
    return is_made and ctx.name(made) in REFUSING


_MOST_TRANSFORMATIONS = 4
"""Of one function, around one another."""


def _reduces(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call combines arrays one after the other: `reduce(jnp.add, parts)`."""
    function = Arguments(call).get(0, "function")
    if function is None or ctx.called(call) != "functools.reduce":
        return False
    name = ctx.name(function) or ""
    return name in COMBINING or name.startswith("operator.")


def _maps_combining(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call combines the leaves of two trees: `jax.tree.map(jnp.add, a, b)`."""
    function = Arguments(call).get(0, "f")
    if function is None or ctx.called(call) not in TREE_MAPS:
        return False
    name = ctx.name(function) or ""
    return name in COMBINING or name.startswith("operator.")


def _operands_that_count(
    call: cst.Call, computation: values.Computation, mixture: Mixture, ctx: Context
) -> Iterator[tuple[int, set[Seat]]]:
    """Yield what a function surely computes with, and where it is committed."""
    arguments = Arguments(call)
    function = None if computation.function is None else _body(computation.function, ctx)
    if arguments.is_open or function is None:
        return
    names = _parameters(function[0])[computation.bound_first :]
    given = dict(zip(names, arguments.positional, strict=False)) | arguments.keywords
    yield from _given(needed_parts(*function, _finder(ctx)), given, mixture, ctx)


def _body(place: Place, ctx: Context) -> tuple[cst.FunctionDef | cst.Lambda, Module] | None:
    """Return a function of the program, and the file that it is in."""
    module = ctx.flow.program.modules[place.module]
    node = module.tree.nodes[place.node]
    return (node, module) if isinstance(node, cst.FunctionDef | cst.Lambda) else None


def _parameters(function: cst.FunctionDef | cst.Lambda) -> list[str]:
    parameters = [*function.params.posonly_params, *function.params.params]
    return [parameter.name.value for parameter in parameters]


def _finder(ctx: Context) -> Callable[[Module, str], tuple[Module, str] | None]:
    program = ctx.flow.program

    def found(asker: Module, name: str) -> tuple[Module, str] | None:
        located = program.linking.find(asker.name, name)
        there = None if located is None else program.modules.get(located[0])
        return None if located is None or there is None else (there, located[1])

    return found


def _given(
    parts: Iterable[Part], given: Mapping[str, cst.BaseExpression], mixture: Mixture, ctx: Context
) -> Iterator[tuple[int, set[Seat]]]:
    """Yield the operands that parts of parameters stand for, and where they are committed."""
    for part in sorted(parts, key=str):
        if part.parameter in given:
            for operand, path in _written(given[part.parameter], part.path):
                place = ctx.tree.index(operand)
                yield place, _seats_of(_at(mixture.held.get(place, values.UNKNOWN), path))


_BRANCHING = {"jax.lax.cond": 3, "jax.lax.switch": 2}
"""Functions that run one of several, all of them compiled together, and where operands begin."""


def _met_in_a_branch(call: cst.Call, mixture: Mixture, ctx: Context) -> list[tuple[int, Seat]]:
    """Return the operands of which one of the branches of a call computes one result.

    JAX drops an operand that no branch uses, or that each of them hands back.
    """
    arguments = Arguments(call)
    if arguments.is_open or arguments.keywords:
        return []
    first = _BRANCHING[ctx.called(call) or ""]
    _, *branches = arguments.positional[:first]
    if first == 2 and branches and isinstance(branches[0], cst.List | cst.Tuple):
        branches = [each.value for each in branches[0].elements]
    for branch in branches:
        atom = values.sole(ctx.flow.value(branch))
        function = _body(atom.place, ctx) if isinstance(atom, program_values.Function) else None
        if function is None:
            continue
        given = dict(zip(_parameters(function[0]), arguments.positional[first:], strict=False))
        for together in computed_together(*function, _finder(ctx)):
            found = [
                (operand, seat)
                for operand, seats in _given(together, given, mixture, ctx)
                if len(seats) == 1
                for seat in seats
            ]
            if len({seat for _, seat in found}) > 1:
                return [each for each in found if each in mixture.operands]
    return []


def _written(
    node: cst.BaseExpression, path: tuple[str | int, ...]
) -> list[tuple[cst.BaseExpression, tuple[str | int, ...]]]:
    """Return the operand that a path leads to in an argument, and what is left of the path.

    Of a list or a dict that is written out, each element is an operand.
    """
    while path:
        if isinstance(node, cst.Tuple | cst.List) and isinstance(path[0], int):
            if not -len(node.elements) <= path[0] < len(node.elements):
                return []
            node = node.elements[path[0]].value
        elif isinstance(node, cst.Dict):
            named = [
                each.value
                for each in node.elements
                if isinstance(each, cst.DictElement) and string_value(each.key) == path[0]
            ]
            if len(named) != 1:
                return []
            (node,) = named
        else:
            break
        path = path[1:]
    if isinstance(node, cst.Tuple | cst.List | cst.Dict):
        # One of them, nobody knows which.
        elements = [each.value for each in node.elements]
        return _written(elements[0], ()) if len(elements) == 1 else []
    return [(node, path)]


def _at(held: Value, path: tuple[str | int, ...]) -> Value:
    """Return the part of a tree that a path leads to; an array is a part of itself."""
    for key in path:
        containers = [a for a in held if isinstance(a, values.Sequence | values.Mapping)]
        if len(containers) < len(held):
            return held
        found: list[Value] = []
        for atom in containers:
            if key == EACH:
                found += [part for part in atom.parts() if part]
            elif isinstance(atom, values.Mapping):
                found.append(dict(atom.items).get(key, atom.element))
            elif isinstance(key, int):
                found.append(contents.element_of(frozenset({atom}), key))
            else:
                items = dict(zip(atom.names, atom.items or (), strict=False))
                found.append(items.get(key, values.NOTHING))
        held = values.join(*found)
    return held


def _is_small(tree: values.AnyTree) -> bool:
    return all(isinstance(atom, values.Array) and atom.is_small for atom in tree.leaf)


def _seats_of(held: Value) -> set[Seat]:
    """Return where all leaves of a tree are committed; nothing where one of them may not be.

    Nothing also of the state of an optimizer without moments, which may have no leaves.
    """
    found: set[Seat] = set()
    if any(isinstance(atom, values.AnyTree) and _is_small(atom) for atom in held):
        return found
    for leaf in contents.leaves_of(held):
        for atom in leaf:
            if not isinstance(atom, values.Array) or not atom.committed:
                return set()
            seat = atom.device if atom.sharding is None else seat_of(atom.sharding)
            if seat is None:
                return set()
            found.add(seat)
    return found
