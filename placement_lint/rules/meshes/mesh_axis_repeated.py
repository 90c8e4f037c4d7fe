"""JDP702."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.prefilter.mesh_names import MAKERS_OF_SPECS
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.iterated_specs import meets_each
from placement_lint.rules.meshes.shardings import (
    calls_at,
    is_unknown_alone,
    made_of,
    may_know_specs,
)
from placement_lint.rules.meshes.wrong_calls import asks_for_text, passing
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.context import Context
    from placement_lint.rules.meshes.wrong_calls import WrongCall
    from placement_lint.semantic.model import ModuleFacts

_SHARDING = ("jax.NamedSharding", "jax.sharding.NamedSharding")
_SPECS = frozenset({"jax.P", "jax.sharding.PartitionSpec"})
_MESH = ("jax.make_mesh", "jax.sharding.Mesh")
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.ValueError",
})  # fmt: skip


class MeshAxisRepeated(Rule):
    """An axis that occurs twice, in one spec or in one mesh.

    ## What it does
    Finds `NamedSharding(mesh, spec)` if the spec names one axis more than once, and `Mesh(…)` and
    `jax.make_mesh(…)` with one name for two axes. Specs and meshes are followed through names,
    functions and the files of a run; where a function is given an axis, the call that passes it
    again is reported.

    ## Why is this bad?
    Each device has one position along an axis, so an axis can split only one dimension. JAX raises
    an exception, "has duplicate entries", where the sharding is made. It accepts a mesh that has a
    name twice, but the first array that is put on it raises an exception whose message does not
    name the cause: "`reshape_dims` and `transpose_perm` should have the same size".

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    weights = NamedSharding(mesh, PartitionSpec("model", "model"))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    weights = NamedSharding(mesh, PartitionSpec("data", "model"))
    ```

    ## Fix safety
    No fix: only the author knows which dimension should be split.

    ## What it does not flag
    Specs without a mesh, such as those with the logical axes of flax; axes that are not literals;
    an exception that is expected or caught.

    ## Verified by
    The proof makes a sharding that splits two dimensions along one axis, which raises. With two
    axes it works.

    ## References
    - [jax.sharding.NamedSharding](https://docs.jax.dev/en/latest/jax.sharding.html)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP702", "mesh-axis-repeated"
    advice = "Name each axis once"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), Uses(*_SHARDING, *_MESH))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.has_siblings and not _may_repeat_specs(ctx):
            return
        for facts in ctx.module.siblings.values():
            for made, what, one in facts.fact(_passed_on):
                if one.there.module is ctx.module:
                    there = (made, facts.path, "the sharding is made here")
                    ctx.report(
                        one.call,
                        f"{what}: JAX refuses it",
                        confidence=Confidence.DEFINITE if one.is_sure else Confidence.LIKELY,
                        related=[there],
                    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        is_sharding = ctx.is_call(node, *_SHARDING)
        if not is_sharding and not ctx.is_call(node, *_MESH):
            return
        if not ctx.module.is_executed and not _may_repeat(node, ctx, is_sharding=is_sharding):
            return
        given = [call.given[1] for call in calls_at(node, ctx)] if is_sharding else []
        every = given if is_sharding else [ctx.flow.value(node)]
        in_turn = is_sharding and meets_each(node, ctx)
        repeated = [_repeated(held, in_turn=in_turn) for held in every]
        found = sorted((each for each in repeated if each is not None), key=str)
        if not found or is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        if is_sharding:
            found = [
                each
                for each in found
                if not asks_for_text(node, each.axis, ctx) and not _passing(node, each, ctx)
            ]
            if not found:
                return
        what = _message(found[0])
        then = "JAX refuses it" if is_sharding else "nothing can be put on it"
        ctx.report(
            node,
            f"{what}: {then}",
            confidence=Confidence.LIKELY if None in repeated else Confidence.DEFINITE,
            related=made_of(node, ctx, frozenset().union(*every)),
        )


class _Repeated(NamedTuple):
    """What names an axis twice."""

    text: str
    """As people write it."""
    axis: str
    spec: Place | None


def _message(repeated: _Repeated) -> str:
    return f'{repeated.text} names the axis "{repeated.axis}" twice'


def _passed_on(facts: ModuleFacts) -> list[tuple[cst.Call, str, WrongCall]]:
    """Return the calls by which one axis comes twice to a spec in a file, each with what it is."""
    from placement_lint.rules.context import Context

    ctx = Context(facts, MeshAxisRepeated, [])
    made = (each for name in _SHARDING for each in ctx.calls_of(name))
    if not any(_may_get_repeated(each, ctx) for each in made):
        return []
    if not facts.has_siblings and not _may_repeat_specs(ctx):
        return []
    found: dict[int, tuple[cst.Call, str, WrongCall]] = {}
    for index in sorted(facts.flow.record.sharded_calls.seen):
        node = facts.tree.nodes[index]
        if not isinstance(node, cst.Call) or not ctx.is_call(node, *_SHARDING):
            continue
        if meets_each(node, ctx) or is_caught(node, ctx, _CAUGHT):
            continue
        every = {_repeated(call.given[1], in_turn=False) for call in calls_at(node, ctx)}
        for each in sorted((each for each in every if each is not None), key=str):
            passed = [] if asks_for_text(node, each.axis, ctx) else _passing(node, each, ctx)
            for one in passed:
                if not is_asserted_to_fail(one.call, one.there) and not is_caught(
                    one.call, one.there, _CAUGHT
                ):
                    found.setdefault(id(one.call), (node, _message(each), one))
    return [*found.values()]


def _passing(node: cst.Call, repeated: _Repeated, ctx: Context) -> list[WrongCall]:
    """Return the calls that pass an axis which then is there twice."""
    return passing(node, ctx, repeated.axis, repeated.spec, times=2)


def _may_repeat_specs(ctx: Context) -> bool:
    return may_know_specs(ctx) and ctx.module.fact(_has_specs_that_may)


def _may_repeat(node: cst.Call, ctx: Context, *, is_sharding: bool) -> bool:
    """Return whether one axis may be named twice, by what a file writes, executed for itself."""
    if is_sharding:
        return _may_repeat_specs(ctx) and _may_get_repeated(node, ctx)
    names = Arguments(node).get(1, "axis_names")
    if names is None:
        return Arguments(node).is_open
    written = followed(names, ctx)
    return not is_unknown_alone(written, ctx) and not _are_apart([written])


def _may_get_repeated(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call may make a sharding of a spec other than of literals which differ."""
    given = Arguments(node).get(1, "spec")
    if given is None:
        return Arguments(node).is_open
    written = followed(given, ctx)
    if not isinstance(written, cst.Call) or ctx.name(written.func) not in _SPECS:
        return True
    parts = [each.value for each in written.args if not (each.star or each.keyword)]
    return len(parts) < len(written.args) or not _are_apart(parts)


def _has_specs_that_may(facts: ModuleFacts) -> bool:
    """Return whether a file makes a spec otherwise than of literals which all differ."""
    names, called = facts.names, set()
    for call in facts.tree.every(cst.Call):
        if names.qualified(call.func) in _SPECS:
            called.add(id(call.func))
            if any(each.star or each.keyword for each in call.args):
                return True
            if not _are_apart([each.value for each in call.args]):
                return True
    # It may be called by another name, or by what it is given to.
    handed_on = (
        node
        for node in facts.tree.every(cst.Name, cst.Attribute)
        if names.qualified(node) in _SPECS and id(node) not in called
    )
    named = (each for each in facts.tree.every(cst.SimpleString) if said(each) in MAKERS_OF_SPECS)
    return any(True for _ in named) or not all(_is_asked(each, facts) for each in handed_on)


def _is_asked(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether a class is only the type of something: `isinstance(x, P)`, an annotation."""
    for ancestor in facts.tree.ancestors(node):
        if isinstance(ancestor, cst.Annotation):
            return True
        if isinstance(ancestor, cst.Call):
            return facts.names.qualified(ancestor.func) == "builtins.isinstance"
        if not isinstance(ancestor, cst.Arg | cst.Tuple | cst.Element | cst.BinaryOperation):
            return False
    return False


def _are_apart(parts: list[cst.BaseExpression]) -> bool:
    """Return whether some expressions are literal names of axes, or None, and all names differ."""
    texts: list[str] = []
    pending = list(parts)
    while pending:
        part = pending.pop()
        text = string_value(part)
        if text is not None:
            texts.append(text)
        elif isinstance(part, cst.Tuple | cst.List):
            if any(isinstance(each, cst.StarredElement) for each in part.elements):
                return False
            pending += [each.value for each in part.elements]
        elif not is_none(part):
            return False
    return len(texts) == len(set(texts))


def _repeated(held: Iterable[object], *, in_turn: bool) -> _Repeated | None:
    """Return what surely names an axis twice.

    `in_turn`: each of the alternatives comes, one after the other.
    """
    found: list[_Repeated] = []
    for atom in held:
        axes: list[str] = []
        if isinstance(atom, Spec):
            axes = [*atom.axes()]
        elif isinstance(atom, Mesh):
            axes = [axis for axis in atom.axes or () if axis is not None]
        twice = [axis for axis in axes if axes.count(axis) > 1]
        if not twice:
            if in_turn:
                continue
            return None
        text = str(atom) if isinstance(atom, Spec) else f"the mesh {atom}"
        found.append(_Repeated(text, twice[0], atom.made if isinstance(atom, Spec) else None))
    return min(found, key=str) if found else None
