"""JDP710."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.sharding import UNKNOWN_PART, Mesh, Sharding, Spec
from placement_lint.prefilter.conditions import SHARDS, AllOf, AnyWord, Jax
from placement_lint.prefilter.mesh_names import NAMES_MESHES, SPLITS
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.shardings import made_at, may_know_meshes, may_split, name_at
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_CAUGHT = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.ValueError"})
_PUT = "jax.device_put"


class InShardingsConflict(Rule):
    """An argument whose sharding differs from `in_shardings`.

    ## What it does
    Finds calls of a function that `jax.jit` made with `in_shardings`, if an argument was certainly
    put to the same mesh with another spec, or to a single device where it should be split. Both are
    followed through names, attributes, functions and files.

    ## Why is this bad?
    `in_shardings` determines how uncommitted arguments are split. An array that was put to a
    sharding is committed, and JAX never moves it implicitly. It raises ValueError, "Sharding passed
    to jit does not match the sharding on the respective arg", even if the array is replicated.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    replicated = NamedSharding(mesh, PartitionSpec())
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    step = jax.jit(lambda params, batch: batch @ params, in_shardings=(replicated, by_row))

    params = jax.device_put(np.ones((16, 16)), replicated)
    batch = jax.device_put(np.ones((64, 16)), replicated)
    loss = step(params, batch)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    replicated = NamedSharding(mesh, PartitionSpec())
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    step = jax.jit(lambda params, batch: batch @ params, in_shardings=(replicated, by_row))

    params = jax.device_put(np.ones((16, 16)), replicated)
    batch = jax.device_put(np.ones((64, 16)), by_row)
    loss = step(params, batch)
    ```

    Without `in_shardings` the function takes its arguments as they are.

    ## Fix safety
    Display-only: it puts the argument to the sharding that the function expects before each call.
    Only the author knows which of the two shardings is wrong.

    ## What it does not flag
    Uncommitted arrays and NumPy arrays, which JAX splits as `in_shardings` says. Equivalent specs,
    such as `PartitionSpec("data", None)` and `PartitionSpec("data")`, or specs that differ by an
    axis of size 1; a single device where the whole array is wanted on each, which JAX moves from
    0.4.34 on. Arguments of unknown sharding, including results of computations; meshes other
    than that of the sharding; trees, for which a tree of shardings is needed. A function with
    static or bound arguments. An exception that is expected or caught.

    ## Verified by
    The proof passes an array that is replicated over eight devices to a function that expects it
    split, which raises ValueError. Put to the expected sharding, it is accepted.

    ## References
    - [jax.jit](https://docs.jax.dev/en/latest/_autosummary/jax.jit.html): `in_shardings`
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP710", "in-shardings-conflict"
    advice = "Put the argument to the sharding that the function wants, or remove `in_shardings`"
    severity, fix = Severity.ERROR, Applicability.DISPLAY
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), AnyWord("in_shardings"), SPLITS, NAMES_MESHES, SHARDS)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.may_say({"in_shardings"}) or not may_split(ctx) or not may_know_meshes(ctx):
            return
        calls = ctx.flow.record.sharded_calls.compiled.get(ctx.tree.index(node), set())
        if not calls or any(argument.keyword or argument.star for argument in node.args):
            return
        if any(call.running is not Running.EAGERLY for call in calls):
            return
        found = [_conflict(call) for call in calls]
        known = [each for each in found if each is not None]
        if not known or failure_is_expected(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        first = min(known, key=lambda each: (each.position, str(each.wanted), str(each.given)))
        argument = node.args[first.position].value
        is_sure = len(known) == len(calls) and all(each.is_sure for each in known)
        name = f"`{dotted(argument)}`" if dotted(argument) else "the argument"
        name = name if first.is_whole else f"an array of {name}"
        given, mesh = first.given, first.wanted.mesh
        if isinstance(given, Sharding):
            problem = f"is on the mesh {mesh} as {given.spec}, but in_shardings wants"
        else:
            problem = f"is committed to {given}, but in_shardings wants it on the mesh {mesh} as"
        ctx.report(
            argument,
            f"{name} {problem} {first.wanted.spec}: ValueError",
            confidence=Confidence.DEFINITE if is_sure else Confidence.LIKELY,
            fix=_plan(argument, first.wanted, ctx) if first.is_whole else None,
            related=made_at(
                node, ctx, *(each for each in (given, first.wanted) if isinstance(each, Sharding))
            ),
        )


@dataclass(frozen=True)
class _Conflict:
    """An argument that is split otherwise than is wanted."""

    position: int
    wanted: Sharding
    given: Sharding | Device
    is_sure: bool
    """However many devices there are."""
    is_whole: bool
    """The sharding is wanted for the whole argument, and not for a part of a tree."""


def _conflict(call: ShardedCall) -> _Conflict | None:
    """Return the first argument of an execution that surely is refused."""
    from placement_lint.placement.domain.values import sole

    wanted, _, *operands = call.given
    for position, held in enumerate(operands):
        argument = _wanted_at(wanted, position, len(operands))
        if argument is None:
            continue
        for here, there in _pairs(argument, held):
            if here.mesh is None:
                continue
            one, other = _split(here.spec, here.mesh), _split_of(there, here.mesh)
            if one is not None and other is not None and one != other:
                is_sure = _is_for_any(one, other, here.mesh)
                return _Conflict(position, here, there, is_sure, sole(argument) == here)
    return None


def _wanted_at(wanted: Value, position: int, count: int) -> Value | None:
    """Return what is wanted for an argument: a sharding, or a tree of them; None: not known."""
    from placement_lint.placement.domain.values import Sequence, sole

    only = sole(wanted)
    if not isinstance(only, Sequence):
        return wanted
    if only.items is None or len(only.items) != count:
        return None
    return only.items[position]


def _pairs(wanted: Value, held: Value) -> Iterator[tuple[Sharding, Sharding | Device]]:
    """Yield what is wanted, and what there is, for the arrays of an argument: one, or a tree.

    A tree of shardings may end above the arrays.
    """
    from placement_lint.placement.domain.values import Mapping, Sequence, sole

    here, there = sole(wanted), sole(held)
    if isinstance(here, Sharding):
        if here.is_named:
            yield from ((here, each) for each in _places_of(held))
    elif isinstance(here, Mapping) and isinstance(there, Mapping):
        given = dict(there.items)
        if not here.element and not there.element and given.keys() == dict(here.items).keys():
            for key, each in here.items:
                yield from _pairs(each, given[key])
    elif isinstance(here, Sequence) and isinstance(there, Sequence):
        if here.items is None or there.items is None or len(here.items) != len(there.items):
            return
        for each, other in zip(here.items, there.items, strict=True):
            yield from _pairs(each, other)


def _places_of(held: Value) -> Iterator[Sharding | Device]:
    """Yield where the one array is committed that a value surely is, or each of a tree."""
    from placement_lint.placement.domain.contents import leaves_of
    from placement_lint.placement.domain.values import AnyTree, Array, sole

    only = sole(held)
    if only is None or isinstance(only, AnyTree):
        return
    for leaf in leaves_of(held):
        one = sole(leaf)
        if not isinstance(one, Array) or not one.committed:
            continue
        place = one.sharding or one.device
        if place is not None:
            yield place


def _split(spec: Spec | None, mesh: Mesh) -> tuple[tuple[str, ...], ...] | None:
    """Return the axes that split each dimension, without those of one device."""
    if spec is None or spec.parts is None or UNKNOWN_PART in spec.parts:
        return None
    found: list[tuple[str, ...]] = []
    for part in spec.parts:
        axes = (part,) if isinstance(part, str) else part if isinstance(part, tuple) else ()
        found.append(tuple(axis for axis in axes if _size(axis, mesh) != 1))
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def _split_of(place: Sharding | Device, mesh: Mesh) -> tuple[tuple[str, ...], ...] | None:
    """Return the axes of a mesh that split what is at a place: none on a single device, from which
    JAX moves what is wanted replicated.
    """
    if not isinstance(place, Sharding):
        return ()
    return _split(place.spec, mesh) if place.mesh == mesh else None


def _size(axis: str, mesh: Mesh) -> int | None:
    if mesh.axes is None or mesh.sizes is None or axis not in mesh.axes:
        return None
    return mesh.sizes[mesh.axes.index(axis)]


def _is_for_any(
    one: tuple[tuple[str, ...], ...], other: tuple[tuple[str, ...], ...], mesh: Mesh
) -> bool:
    """Return whether all axes of two splits surely have several devices."""
    return all(_size(axis, mesh) is not None for split in (*one, *other) for axis in split)


def _plan(argument: cst.BaseExpression, wanted: Sharding, ctx: Context) -> FixPlan | None:
    name = name_at(argument, ctx, frozenset({wanted}))
    spelled = ctx.reach(_PUT, at=argument)
    if name is None or spelled is None:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        text = editor.text_alone(argument)
        return None if text is None else [editor.replace(argument, f"{spelled}({text}, {name})")]

    message = f"Put it to `{name}` before the call"
    return FixPlan(Applicability.DISPLAY, message, build, imports=needed([spelled]))
