"""JDP701."""

from __future__ import annotations

import difflib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS, SHARD_MAPS
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.prefilter.mesh_names import NAMES_MESHES, NAMES_SPECS
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.bare_specs import (
    bare_specs,
    calls_with_specs,
    each_leaf,
    meshes_for,
)
from placement_lint.rules.meshes.constraints import CONSTRAINT
from placement_lint.rules.meshes.iterated_specs import is_of_table, leaves_some_out, meets_each
from placement_lint.rules.meshes.shardings import (
    calls_at,
    may_know_meshes,
    may_know_specs,
    related_places,
)
from placement_lint.rules.meshes.wrong_calls import asks_for_text, passing
from placement_lint.semantic.elsewhere import questions_of
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    is_asserted_to_fail,
    is_caught,
    passed_asserts,
    passed_checks,
    passed_exits,
)
from placement_lint.semantic.followed import assigned_value
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.dotted import said
from placement_lint.syntax.guards import is_main_guard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.rules.context import Context
    from placement_lint.rules.meshes.wrong_calls import WrongCall
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_CAUGHT = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.ValueError"})
# What a condition asks that looks for an axis before it is used.
_AXES_ONLY = frozenset({"axes", "axis_names", "axis_sizes"})
_AXES = _AXES_ONLY | {"shape"}


class MeshAxisUnknown(Rule):
    """A spec with an axis that its mesh does not have.

    ## What it does
    Finds `NamedSharding(mesh, PartitionSpec("dta"))`, and `jax.shard_map` with such a spec, if no
    mesh that the program passes there has an axis of this name. The mesh and the spec are followed
    through functions, attributes, containers and files; the spec may be one of a table of rules,
    from which the program takes the one that fits. Where a function is given the axis, the spec or
    the mesh, the call that passes the wrong one is reported. A spec on a line of its own is
    reported there. It also finds such specs without a mesh, in `with_sharding_constraint(x,
    PartitionSpec("dta"))` inside `with mesh:` or `with jax.set_mesh(mesh):`, and, in the latter
    only, in `jax.device_put` and in the `in_shardings` and `out_shardings` of `jax.jit`.

    ## Why is this bad?
    JAX raises ValueError, "Resource axis: dta is not found in mesh", when the line runs. If the
    mesh only exists on a large machine, this is after the job has waited for it.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("dta", None))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("data", None))
    ```

    ## Fix safety
    Display-only: it writes the axis of the mesh with the most similar name, which may not be the
    intended one.

    ## What it does not flag
    A mesh or a spec that comes from outside the program, or with an unknown name: specs are never
    compared with the other meshes of a file. A mesh that may be one of several, if one of them has
    the axis. Code that tests for the axis first, as in `if "model" in mesh.axis_names:`, in an
    `assert`, or by a function of the program. An exception that is expected or caught. Specs
    without a mesh, where no known mesh is in effect; the logical axes of flax.

    ## Verified by
    The proof makes a sharding over a mesh of eight devices with an axis that the mesh does not
    have, which raises ValueError. With an axis of the mesh it works.

    ## References
    - [jax.sharding.NamedSharding](https://docs.jax.dev/en/latest/jax.sharding.html)
    - [sgl-project/sglang-jax#1370](https://github.com/sgl-project/sglang-jax/issues/1370):
      "Resource axis: data is not found in mesh"
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP701", "mesh-axis-unknown"
    advice = "Name an axis of the mesh, or make the mesh with this axis"
    severity, fix = Severity.ERROR, Applicability.DISPLAY
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        NAMES_MESHES,
        NAMES_SPECS,
        Uses(*NAMED_SHARDINGS, *SHARD_MAPS, CONSTRAINT, "jax.sharding.PartitionSpec", "jax.P"),
    )

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.has_siblings and not (may_know_meshes(ctx) and may_know_specs(ctx)):
            return
        if not ctx.module.is_executed and not ctx.module.fact(_gives_sharding):
            return
        for facts in ctx.module.siblings.values():
            for each in facts.fact(_passed_on):
                if each.passing.there.module is not ctx.module:
                    continue
                call, unknown = each.passing.call, each.unknown
                made = (each.node, facts.path, "the sharding is made here")
                ctx.report(
                    call,
                    _message(unknown),
                    confidence=each.confidence,
                    fix=_plan(call, unknown, ctx),
                    related=[made, *_related(unknown, call, ctx)],
                )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not may_know_meshes(ctx) or not may_know_specs(ctx):
            return
        judged = _judged(node, ctx)
        if judged is None or not judged.here:
            return
        first = min(judged.here, key=_order)
        ctx.report(
            _spec_in(first, node, ctx) or node,
            _message(first),
            confidence=judged.confidence,
            fix=_plan(node, first, ctx),
            related=_related(first, node, ctx),
        )


@dataclass(frozen=True)
class _Unknown:
    """An axis that a mesh does not have."""

    axis: str
    text: str
    """The spec, as code writes it."""
    names: str
    """The axes of the mesh, for people."""
    known: tuple[str, ...]
    spec: Place | None
    mesh: Place | None
    is_sure: bool
    """The spec surely comes."""
    over: Mesh | None = None
    """The mesh, where it is only one."""


@dataclass(frozen=True)
class _PassedOn:
    """A call by which an axis comes to where the mesh does not have it."""

    node: cst.Call
    """Where the sharding is made."""
    unknown: _Unknown
    passing: WrongCall
    confidence: Confidence


@dataclass(frozen=True)
class _Judged:
    """What is wrong with the executions of one call."""

    here: list[_Unknown]
    """What the call, or the code around it, writes itself."""
    confidence: Confidence
    passed_on: list[_PassedOn]


def _order(unknown: _Unknown) -> tuple[str, str, str]:
    return unknown.axis, unknown.text, unknown.names


def _message(unknown: _Unknown) -> str:
    return (
        f'{unknown.text} names the axis "{unknown.axis}", which the mesh {unknown.names} does not '
        "have: ValueError"
    )


def _passed_on(facts: ModuleFacts) -> list[_PassedOn]:
    """Return the calls of the program that pass on an axis which no mesh in this file has.

    Of each call the first.
    """
    from placement_lint.rules.context import Context

    ctx = Context(facts, MeshAxisUnknown, [])
    if not may_know_meshes(ctx) or not may_know_specs(ctx):
        return []
    seen = facts.flow.record.sharded_calls
    nodes = (facts.tree.nodes[index] for index in sorted(seen.seen.keys() | seen.compiled.keys()))
    found: dict[int, _PassedOn] = {}
    for node in nodes:
        judged = _judged(node, ctx) if isinstance(node, cst.Call) else None
        for each in () if judged is None else judged.passed_on:
            found.setdefault(id(each.passing.call), each)
    return [*found.values()]


def _known(_facts: ModuleFacts) -> dict[int, _Judged | None]:
    """Make the store of one file: what is wrong with each call that was asked about, by id."""
    return {}


def _judged(node: cst.Call, ctx: Context) -> _Judged | None:
    known = ctx.module.fact(_known)
    if id(node) not in known:
        known[id(node)] = _judge(node, ctx)
    return known[id(node)]


def _judge(node: cst.Call, ctx: Context) -> _Judged | None:
    """Return what is wrong with the executions of a call; None where nothing is."""
    calls = calls_at(node, ctx)
    given_meshes = bool(calls) and all(len(call.given) > 1 for call in calls)
    in_turn = given_meshes and meets_each(node, ctx)
    if given_meshes:
        # A mesh and specs: by whatever name `NamedSharding` or `shard_map` is called.
        every = None if leaves_some_out(node, ctx) else _axes_of(calls)

        def is_row(spec: Spec, axis: str) -> bool:
            # Another mesh that comes here may be the one that the row is for.
            return every is not None and axis not in every and is_of_table(spec, ctx)

        found = (_unknown(call.given[0], call.given[1:], is_row, in_turn=in_turn) for call in calls)
    else:
        calls = calls_with_specs(node, ctx)
        constrains = ctx.called(node) == CONSTRAINT
        found = (_unknown_in_force(call, ctx, constrains=constrains) for call in calls)
    every_found = [*found]
    unknown = sorted((each for each in every_found if each is not None), key=_order)
    number = len(unknown)
    if not unknown or is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
        return None
    # To be given each spec of a table is no choice, if all are for one mesh.
    is_of_one = in_turn and len({call.given[0] for call in calls}) == 1
    if _is_asked_before(node, ctx, about_axes=number == len(calls) or is_of_one):
        return None
    unknown = [
        each
        for each in unknown
        if not asks_for_text(node, each.axis, ctx) and not _is_checked_before(node, each.axis, ctx)
    ]
    if not unknown:
        return None
    fine = {
        mesh
        for call, each in zip(calls, every_found, strict=True)
        if each is None
        for mesh in (call.given[0] if call.given else ())
    }
    is_of_some = number < len(calls)
    passed_on, here = _sorted_out(node, unknown, ctx, fine if is_of_some else None)
    if given_meshes and not ctx.is_call(node, *NAMED_SHARDINGS, *SHARD_MAPS, "functools.partial"):
        # A name may stand for one of several functions, each with a mesh of its own.
        axes = _axes_of(calls)
        here = [each for each in here if axes is not None and each.axis not in axes]
    if here and _literal(node, here[0].axis, ctx) is None:
        siblings = ctx.module.siblings.values()
        # Its caller may have asked.
        here = [] if any(facts.fact(_asks_for_axes) for facts in siblings) else here
    is_sure = number == len(calls) and all(each.is_sure for each in unknown)
    confidence = Confidence.DEFINITE if is_sure else Confidence.LIKELY
    return _Judged(here, confidence, passed_on)


def _sorted_out(
    node: cst.Call, unknown: list[_Unknown], ctx: Context, fine: Collection[Atom] | None
) -> tuple[list[_PassedOn], list[_Unknown]]:
    """Return which axes callers pass, each with the call that does, and those which are written
    around a call itself.

    `fine`: the meshes of executions that have nothing wrong; None where each has something.
    """
    passed_on: list[_PassedOn] = []
    here: list[_Unknown] = []
    for each in unknown:
        found = passing(node, ctx, each.axis, each.spec, over=each.over)
        if not found and fine is not None and each.over is not None:
            found = passing(node, ctx, each.over)
            if each.over in fine and len(found) == len(passing(node, ctx, each.over, alone=False)):
                # It is right for others that come by the same calls.
                found = []
        if not found:
            here.append(each)
        for one in found:
            call, there = one.call, one.there
            if is_asserted_to_fail(call, there) or is_caught(call, there, _CAUGHT):
                continue
            is_asked = _is_asked_before(call, there, about_axes=one.is_sure)
            if not is_asked and not _is_checked_before(call, each.axis, there):
                is_sure = one.is_sure and each.is_sure
                confidence = Confidence.DEFINITE if is_sure else Confidence.LIKELY
                passed_on.append(_PassedOn(node, each, one, confidence))
    return passed_on, here


def _gives_sharding(facts: ModuleFacts) -> bool:
    """Return whether a file that is checked alone makes a sharding somewhere."""
    return any(
        facts.names.qualified(call.func) in {*NAMED_SHARDINGS, *SHARD_MAPS, CONSTRAINT}
        for call in facts.tree.every(cst.Call)
    )


def _unknown_in_force(call: ShardedCall, ctx: Context, *, constrains: bool) -> _Unknown | None:
    """Return an axis of a spec without a mesh that the mesh in force surely does not have."""
    specs = bare_specs(call)
    if not specs:
        return None
    meshes = meshes_for(call, ctx, constrains=constrains)
    return _unknown(meshes, [frozenset({spec}) for spec in specs])


def _axes_of(calls: Iterable[ShardedCall]) -> frozenset[str] | None:
    """Return the axes that the meshes of some calls have; None where not all of them are known."""
    found: set[str] = set()
    for call in calls:
        names = [atom.names if isinstance(atom, Mesh) else None for atom in call.given[0]]
        for each in names:
            if each is None:
                return None
            found.update(each)
    return frozenset(found)


def _unknown(
    mesh: Value,
    given: Iterable[Value],
    is_row: Callable[[Spec, str], bool] | None = None,
    *,
    in_turn: bool = False,
) -> _Unknown | None:
    """Return an axis that a spec surely names and its mesh surely does not have.

    `in_turn`: each of the specs comes, one after the other; `is_row`: whether one of several may
    come at any time.
    """
    meshes = [atom for atom in mesh if isinstance(atom, Mesh)]
    if not meshes or len(meshes) != len(mesh):
        return None
    names = [mesh.names for mesh in meshes]
    if None in names:
        return None
    known = frozenset[str]().union(*(each or () for each in names))
    for alternatives in itertools.chain.from_iterable(map(each_leaf, given)):
        all_missing = [_missing(atom, known) for atom in alternatives]
        missing = [each for each in all_missing if each is not None]
        if not in_turn and len(missing) < len(all_missing):
            if is_row is None or not all(isinstance(atom, Spec) for atom in alternatives):
                continue
            missing = [each for each in missing if is_row(*each)]
        if not missing:
            continue
        spec, axis = min(missing, key=str)
        first = min(meshes, key=str)
        is_sure = in_turn or len(missing) == len(all_missing)
        names_of = first.names or ()
        over = first if len(meshes) == 1 else None
        return _Unknown(axis, str(spec), str(first), names_of, spec.made, first.made, is_sure, over)
    return None


def _missing(atom: Atom, known: frozenset[str]) -> tuple[Spec, str] | None:
    """Return a spec with the first axis that is not known; None for one without."""
    if isinstance(atom, Spec):
        for axis in atom.axes():
            if axis not in known:
                return atom, axis
    return None


def _is_asked_before(node: cst.CSTNode, ctx: Context, *, about_axes: bool) -> bool:
    """Return whether a condition around a call, or above it, asks for the axes of a mesh.

    `about_axes` False: or for anything, which may say which of several meshes has come.
    """
    around = [
        ancestor
        for child, ancestor in ancestors_in_function(node, ctx)
        if isinstance(ancestor, cst.If | cst.IfExp | cst.MatchCase)
        and child is not getattr(ancestor, "test", None)
    ]
    tests = [
        each.test
        for each in (*around, *passed_exits(node, ctx))
        if isinstance(each, cst.If | cst.IfExp)
    ]
    if not about_axes and (len(around) > len(tests) or not all(map(is_main_guard, tests))):
        return True
    tests += [each.test for each in passed_asserts(node, ctx)]
    return any(
        _asks(test, ctx.module)
        or _asks_by_calls(test, ctx)
        or any(_looks_up(value, ctx.module) for value in _named_in(test, ctx))
        for test in tests
    )


def _named_in(test: cst.CSTNode, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what the names in a condition stand for, where each is bound once."""
    for name in ctx.tree.every(cst.Name, below=test):
        value = assigned_value(name, ctx)
        if value is not None:
            yield value


def _asks_by_calls(part: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a function of the program that is called below asks for the axes of a mesh.

    One that asks for a shape may do that where it is given a name, or a mesh: `size_of(mesh)`.
    """
    asked = questions_of(part, ctx)
    if not _AXES_ONLY.isdisjoint(asked):
        return True
    return "shape" in asked and any(
        isinstance(each, cst.SimpleString)
        or any(isinstance(atom, Mesh) for atom in ctx.flow.value(each))
        for each in ctx.tree.every(cst.SimpleString, cst.Name, cst.Attribute, below=part)
    )


def _is_checked_before(node: cst.CSTNode, axis: str, ctx: Context) -> bool:
    """Return whether a statement above a node gives an axis to a function of the program that asks
    for the axes of a mesh: `check_axes(mesh, "model")`.
    """
    return any(
        _names_axis(call, axis, ctx) and _asks_by_calls(call, ctx)
        for call in passed_checks(node, ctx)
    )


def _names_axis(call: cst.Call, axis: str, ctx: Context) -> bool:
    return any(string_value(each) == axis for each in ctx.tree.every(cst.SimpleString, below=call))


def _asks(test: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether a condition has the axes of a mesh in it, or asks what is in anything."""
    if any(
        isinstance(target.operator, cst.In | cst.NotIn)
        for comparison in (test, *facts.tree.every(cst.Comparison, below=test))
        if isinstance(comparison, cst.Comparison)
        for target in comparison.comparisons
    ):
        return True
    return any(said(each) in _AXES for each in facts.tree.names_in(test))


def _asks_for_axes(facts: ModuleFacts) -> bool:
    """Return whether a file looks something up in the axes of a mesh."""
    return _looks_up(facts.tree.module, facts)


def _looks_up(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether something is looked up in the axes of a mesh below a node."""
    return any(
        isinstance(target.operator, cst.In | cst.NotIn) and _asks(target.comparator, facts)
        for comparison in facts.tree.every(cst.Comparison, below=node)
        for target in comparison.comparisons
    )


def _literal(node: cst.Call, axis: str, ctx: Context) -> cst.SimpleString | None:
    """Return the one literal in a call that says the name of an axis."""
    found = [
        each for each in ctx.tree.every(cst.SimpleString, below=node) if string_value(each) == axis
    ]
    return found[0] if len(found) == 1 else None


def _spec_in(unknown: _Unknown, node: cst.Call, ctx: Context) -> cst.CSTNode | None:
    """Return the spec, where a call writes it out on a line of its own."""
    place = unknown.spec
    if place is None or ctx.module.siblings.get(place.module) is not ctx.module:
        return None
    spec = ctx.tree.nodes[place.node]
    is_inside = ctx.tree.is_inside(spec, node)
    return spec if is_inside and ctx.module.line_of(spec) != ctx.module.line_of(node) else None


def _related(unknown: _Unknown, node: cst.Call, ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    places = ((unknown.mesh, "the mesh is made here"), (unknown.spec, "the spec"))
    return related_places(node, ctx, {place: what for place, what in places if place is not None})


def _plan(node: cst.Call, unknown: _Unknown, ctx: Context) -> FixPlan | None:
    literal = _literal(node, unknown.axis, ctx)
    nearest = difflib.get_close_matches(unknown.axis, unknown.known, 1)
    if literal is None or not nearest:
        return None

    def build(editor: Editor) -> list[Edit]:
        quote = literal.value[-1]
        return [editor.replace(literal, f"{quote}{nearest[0]}{quote}")]

    return FixPlan(Applicability.DISPLAY, f'Name the axis "{nearest[0]}"', build)
