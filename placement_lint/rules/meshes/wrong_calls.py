"""Which calls pass on what is wrong where it arrives: the name of an axis, or a mesh.

`def shard(x, axis): return jax.device_put(x, NamedSharding(mesh, P(axis)))` raises for one of its
callers. What is to be changed stands in the call that passes the name.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS
from placement_lint.placement.domain.sharding import Mesh, Sharding, Spec
from placement_lint.rules.meshes.shardings import leaves
from placement_lint.semantic.enclosing import ancestors_in_function, passed_exits
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import PARTIAL
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.definitions import Function

_MAKERS = frozenset({*NAMED_SHARDINGS, "jax.P", "jax.sharding.PartitionSpec"})
_MOST_STEPS = 256
"""Calls that are looked at, of each name and in all, for one thing that is wrong."""
_MOST_PASSING = 4
"""Where more calls pass what is wrong, it is rather what they call that is to be changed."""


class WrongCall(NamedTuple):
    """A call that passes on what is wrong."""

    call: cst.Call
    there: Context
    argument: cst.BaseExpression
    is_sure: bool
    """It passes nothing else at other times."""


def passing(
    node: cst.CSTNode,
    ctx: Context,
    wrong: str | Mesh,
    made: Place | None = None,
    *,
    times: int = 1,
    over: Mesh | None = None,
    alone: bool = True,
) -> list[WrongCall]:
    """Return the calls of the program by which a text, or a mesh, comes to a node.

    None where the code around the node writes it itself so many `times`, such as in the spec that
    is `made` there, or more calls than a few pass it. What passes another mesh than the text is
    wrong `over` does not count, nor does a mesh that is passed with one of its axes, if it is to be
    `alone`.
    """
    if isinstance(wrong, str):
        written = node
        if made is not None and made.module == ctx.module.path:
            spec = ctx.tree.nodes[made.node]
            written = spec if ctx.function(spec) is ctx.function(node) else node
        times -= _times_written(written, wrong, ctx)
    found = (
        _passing(node, ctx, _Wrong(wrong, times, over, alone), (), [_MOST_STEPS])
        if times > 0
        else []
    )
    return found if len({id(each.call) for each in found}) <= _MOST_PASSING else []


class _Wrong(NamedTuple):
    """What must not come."""

    what: str | Mesh
    times: int
    """How often it is passed by a call because of which something fails."""
    over: Mesh | None
    alone: bool

    def may_be_with(self, passed: Iterable[Atom]) -> bool:
        """Return whether it is wrong together with what else is passed."""
        atoms = [*passed]
        if isinstance(self.what, Mesh):
            names = self.what.names or ()
            return not (self.alone and any(_times(atom, axis) for atom in atoms for axis in names))
        meshes = {mesh for atom in atoms for mesh in (atom, getattr(atom, "mesh", None))}
        known = {mesh for mesh in meshes if isinstance(mesh, Mesh)}
        return self.over is None or not known or self.over in known


def _passing(
    node: cst.CSTNode,
    ctx: Context,
    wrong: _Wrong,
    inside: tuple[cst.CSTNode, ...],
    left: list[int],
) -> list[WrongCall]:
    """Return what `passing` does of a node that is called from `inside` of some definitions."""
    for around in ctx.ancestors(node):
        if not isinstance(around, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            continue
        if around in inside:
            return []
        found: list[WrongCall] = []
        # What is not passed is there by default.
        times = max(1, wrong.times - _by_default(around, wrong.what, ctx))
        for call, there in _calls_of(around, ctx):
            left[0] -= 1
            if left[0] < 0:
                return []
            held = [(each.value, _held(each.value, there, wrong.what)) for each in call.args]
            holding = [(given, is_sure) for given, (number, is_sure) in held if number]
            if sum(number for _, (number, _) in held) < times:
                continue
            every = [_value_of(each.value, there) for each in call.args]
            # Of what may be one thing or another it is not known what comes together.
            known = (atom for each in every if len(each) == 1 for atom in leaves(each))
            if not wrong.may_be_with(known):
                continue
            behind: list[WrongCall] = []
            if not any(_is_written(given, wrong.what, there) for given, _ in holding):
                behind = _passing(call, there, wrong, (*inside, around), left)
            argument, is_sure = holding[0][0], all(is_sure for _, is_sure in holding)
            found += behind or [WrongCall(call, there, argument, is_sure)]
        if found:
            return found
    return []


def _calls_of(
    definition: cst.FunctionDef | cst.Lambda | cst.ClassDef, ctx: Context
) -> Iterator[tuple[cst.Call, Context]]:
    """Yield the calls in the program of a function, or of a class, as far as anyone can see."""
    from placement_lint.rules.commitment.mixtures import calls_by_name

    place = ctx.flow.module.place(definition)
    for name in _names_of(definition, ctx):
        for call, there in itertools.islice(calls_by_name(name, ctx), _MOST_STEPS):
            if _may_be(there.flow.value(call.func), place):
                yield call, there
        for call, there in itertools.islice(_partials(ctx), _MOST_STEPS):
            bound = Arguments(call).get(0, "func")
            is_of_name = bound is not None and said(bound) == name
            if bound is not None and is_of_name and _may_be(there.flow.value(bound), place):
                yield call, there


def _partials(ctx: Context) -> Iterator[tuple[cst.Call, Context]]:
    """Yield the calls of `functools.partial` in the program, whatever their files call it."""
    for path in ctx.flow.program.modules:
        there = ctx.beside(path)
        if there is not None:
            yield from ((call, there) for call in there.calls_of(PARTIAL))


def _names_of(definition: cst.FunctionDef | cst.Lambda | cst.ClassDef, ctx: Context) -> list[str]:
    """Return by which names a definition is called: of a lambda, those that it is assigned to."""
    if not isinstance(definition, cst.Lambda):
        return [definition.name.value]
    bound = ctx.parent(definition)
    targets = [each.target for each in bound.targets] if isinstance(bound, cst.Assign) else []
    return [each.value for each in targets if isinstance(each, cst.Name)]


def _may_be(called: Value, place: Place) -> bool:
    """Return whether what is called may be what is defined at a place."""
    from placement_lint.placement.domain.program_values import Class, Function
    from placement_lint.placement.domain.values import Closure, Method

    known = set()
    for atom in called:
        if isinstance(atom, Function | Class):
            known.add(atom.place)
        elif isinstance(atom, Method | Closure):
            known.add(atom.function)
    return not known or place in known


def _value_of(given: cst.BaseExpression, ctx: Context) -> Value:
    """Return what an argument is; in traced code, what its name is bound to outside."""
    return ctx.flow.value(given if ctx.flow.has_value(given) else followed(given, ctx))


def _held(given: cst.BaseExpression, ctx: Context, wrong: str | Mesh) -> tuple[int, bool]:
    """Return how often an argument holds what is wrong, and whether it does so each time."""
    held = ctx.flow.value(given)
    times = _most_times(held, wrong)
    if not times and isinstance(wrong, str) and not ctx.flow.has_value(given):
        # Of what JAX traces no values are kept, be it called by what is traced.
        return _times_written(given, wrong, ctx), True
    return times, len(held) == 1


def _most_times(held: Value, wrong: str | Mesh, depth: int = 4) -> int:
    """Return how often a value holds what is wrong: of alternatives, the one that does most."""
    from placement_lint.placement.domain.values import Mapping, Sequence

    most = 0
    for atom in held:
        times = _times(atom, wrong)
        if isinstance(atom, Sequence | Mapping) and depth:
            parts = [*atom.parts()]
            if isinstance(atom, Sequence) and atom.items is not None:
                parts = [*atom.items]
            times = sum(_most_times(part, wrong, depth - 1) for part in parts)
        most = max(most, times)
    return most


def _times(atom: Atom, wrong: str | Mesh) -> int:
    from placement_lint.placement.domain.values import Plain

    if isinstance(atom, Sharding):
        parts = (atom.mesh, atom.spec)
        return sum(_times(part, wrong) for part in parts if part is not None)
    if isinstance(wrong, Mesh):
        return int(atom == wrong)
    if isinstance(atom, Spec):
        return [*atom.axes()].count(wrong)
    if not isinstance(atom, Plain):
        return 0
    return int(wrong in {atom.text, None if atom.member is None else atom.member.text})


def _is_written(node: cst.CSTNode, wrong: str | Mesh, ctx: Context) -> bool:
    return isinstance(wrong, str) and _times_written(node, wrong, ctx) > 0


def _times_written(node: cst.CSTNode, text: str, ctx: Context) -> int:
    """Return how often a text is written in an expression, and in what names in it stand for."""
    number = 0
    for each in (node, *ctx.tree.every(cst.SimpleString, cst.Name, below=node)):
        written = followed(each, ctx) if isinstance(each, cst.Name) else each
        parts = (written, *ctx.tree.every(cst.SimpleString, below=written))
        if each is node and written is node:
            parts = (node,)
        elif isinstance(written, cst.Call) and ctx.called(written) not in _MAKERS:
            # What else is called gives something else.
            continue
        number += sum(string_value(part) == text for part in parts)
    return number


def _by_default(
    definition: cst.FunctionDef | cst.Lambda | cst.ClassDef, text: str | Mesh, ctx: Context
) -> int:
    """Return how often a text is a default of what a definition is called with."""
    if not isinstance(text, str):
        return 0
    if isinstance(definition, cst.ClassDef):
        fields = ctx.tree.every(cst.AnnAssign, below=definition.body)
        given = [each.value for each in fields if ctx.names.scope(each).node is definition]
    else:
        given = [each.default for each in ctx.tree.every(cst.Param, below=definition.params)]
    return sum(_times_written(each, text, ctx) for each in given if each is not None)


def asks_for_text(node: cst.CSTNode, text: str, ctx: Context) -> bool:
    """Return whether a condition that decides whether a node runs asks for what is a text, in a way
    that is not understood: `if axis.startswith("data"):`. Not whether there is one.
    """
    return any(
        not _asks_whether_there(name, ctx)
        and any(_times(atom, text) for atom in ctx.flow.value(name))
        for test in tests_before(node, ctx)
        for name in ctx.tree.names_in(test)
    )


def tests_before(node: cst.CSTNode, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what the conditions around a node ask, and those before it that leave the function."""
    around = (each for child, each in ancestors_in_function(node, ctx) if child is not _test(each))
    for each in (*around, *passed_exits(node, ctx)):
        test = _test(each)
        if test is not None:
            yield test


def _test(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what a statement or an expression asks for to choose."""
    if isinstance(node, cst.Match):
        return node.subject
    return node.test if isinstance(node, cst.If | cst.IfExp) else None


def _asks_whether_there(name: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a condition asks for nothing of a name but whether it is `None`, or empty."""
    parent = ctx.parent(name)
    if isinstance(parent, cst.Comparison):
        return all(is_none(each.comparator) for each in parent.comparisons)
    return isinstance(parent, cst.If | cst.IfExp | cst.BooleanOperation | cst.UnaryOperation)


def function_of(param: cst.Param, ctx: Context) -> Function | None:
    """Return the function that a parameter is of."""
    around = (e for e in ctx.ancestors(param) if isinstance(e, cst.FunctionDef | cst.Lambda))
    return next(around, None)


def given_for(
    param: cst.Param, ctx: Context
) -> Iterator[tuple[cst.Call, cst.BaseExpression, Context]]:
    """Yield the calls of the program that surely give something for a parameter, and what."""
    function = function_of(param, ctx)
    every = [] if function is None else [*function.params.posonly_params, *function.params.params]
    names = [each.name.value for each in every]
    name = param.name.value
    is_named = function is not None and any(each is param for each in function.params.kwonly_params)
    if function is None or (name not in names and not is_named):
        return
    is_method = names[:1] in (["cls"], ["self"])
    for call, there in _calls_of(function, ctx):
        arguments = Arguments(call)
        is_partial = there.called(call) == PARTIAL
        called = arguments.get(0, "func") if is_partial else call.func
        is_bound = is_method and isinstance(called, cst.Attribute)
        position = None if is_named else names.index(name) - is_bound + is_partial
        given = None if arguments.is_open else arguments.get(position, name)
        if given is not None:
            yield call, given, there
