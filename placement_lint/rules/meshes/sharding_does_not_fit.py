"""JDP703."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.known_shapes import known_shape, leaves_of
from placement_lint.rules.meshes.shardings import (
    calls_at,
    made_at,
    may_know_shardings,
    may_know_specs,
)
from placement_lint.rules.meshes.wrong_calls import function_of, given_for
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    is_asserted_to_fail,
    is_caught,
    is_conditional,
    passed_asserts,
    passed_exits,
)
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.sharding import Mesh, Part
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.rules.meshes.known_shapes import Shape
    from placement_lint.semantic.model import ModuleFacts

_PUT = "jax.device_put"
_PUTTING = frozenset({"device_put"})
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.ValueError",
})  # fmt: skip


class ShardingDoesNotFit(Rule):
    """A sharding that does not fit the shape of the array.

    ## What it does
    Finds `jax.device_put(x, NamedSharding(mesh, spec))` if the shape of the array, the sizes of the
    mesh and the spec are known, and a dimension cannot be split into as many equal parts as the
    spec says, or the spec has more entries than the array has dimensions. The sizes of a mesh may
    be numbers that are passed to what makes it, `get_mesh(data=2, model=4)`, or fields of a
    dataclass of settings that are set once. A mesh of `jax.devices()[:8]` is taken to have eight;
    it may be one of those that a loop or a comprehension makes of a few numbers, or of the rows of
    an array of devices.
    A dimension of the array may be computed (`WIDTH + 1`). The array may be a slice (`x[-100:]`),
    `x.T`, or one of a dict or tuple that is written out in the call. Where a function puts what it
    is given, its call with an array that does not fit is reported. A function of the program with
    one `return` may make the array, of the sizes that its call passes.

    ## Why is this bad?
    JAX raises ValueError: "the global size of its dimension 0 should be divisible by 4", or "is
    only valid for values of rank at least 2". All entries of a spec count, so
    `PartitionSpec("data", None)` does not fit a vector, such as the labels of images.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("data", None))
    labels = jax.device_put(np.zeros(64), by_row)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    labels = jax.device_put(np.zeros(64), by_row)
    ```

    ## Fix safety
    No fix: only the author knows whether to pad the array or to split it differently.

    ## What it does not flag
    Shapes, sizes of meshes and specs that are not known, such as a mesh over `jax.devices()`, whose
    number is unknown; trees that have a name; names that one of several assignments may have bound
    last; constraints inside compiled functions, which pad; an exception that is expected or caught.

    ## Verified by
    The proof puts an array of 6 rows to a sharding that splits them into 4 parts, which raises
    ValueError. An array of 8 rows is split.

    ## References
    - [jax.sharding.NamedSharding](https://docs.jax.dev/en/latest/jax.sharding.html)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP703", "sharding-does-not-fit"
    advice = "Pad the array, or write a spec for its shape"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), Uses(_PUT))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for facts in ctx.module.siblings.values():
            for each in facts.fact(_passed_on):
                if each.there.module is ctx.module and not _may_fail(each.call, ctx):
                    put = (each.node, facts.path, "it is put there here")
                    ctx.report(each.call, each.problem, related=[put])

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        given = _given(node, ctx)
        if given is None or not (may_know_specs(ctx) and may_know_shardings(ctx)):
            return
        if parameter_named(given, ctx.names) is not None:
            # The calls that pass it are asked.
            return
        shapes = _known_shapes(given, ctx)
        # What is asked last has the file interpreted.
        if not shapes or not (calls := calls_at(node, ctx)):
            return
        first = _problem_of(shapes, [call.given[0] for call in calls], ctx)
        if first is not None and not _may_fail(node, ctx):
            problem, sharding = first
            ctx.report(node, problem, related=made_at(node, ctx, sharding))


def _given(node: cst.Call, ctx: Context) -> cst.BaseExpression | None:
    """Return what a call surely puts somewhere."""
    if not ctx.is_call(node, _PUT):
        return None
    arguments = Arguments(node)
    is_open = arguments.is_open or arguments.get(1, "device") is None
    return None if is_open else arguments.get(0, "x")


def _known_shapes(given: cst.BaseExpression, ctx: Context) -> list[Shape]:
    """Return the shapes that are known of the arrays in an expression."""
    found = (known_shape(leaf, ctx) for leaf in leaves_of(given))
    return [shape for shape in found if shape is not None]


def _may_fail(node: cst.Call, ctx: Context) -> bool:
    return is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT)


def _problem_of(
    shapes: list[Shape], held: Iterable[Value], ctx: Context
) -> tuple[str, Sharding] | None:
    """Return why an array is refused by whatever sharding it is put to, and the first one."""
    atoms = [atom for each in held for atom in each]
    known: list[tuple[str, Sharding]] = []
    for atom in atoms:
        problem = _first_problem(shapes, atom, ctx) if isinstance(atom, Sharding) else None
        if problem is None or not isinstance(atom, Sharding):
            return None
        known.append((problem, atom))
    return min(known, key=lambda each: each[0]) if known else None


class _PassedOn(NamedTuple):
    """A call that passes an array to a function which puts it where it does not fit."""

    node: cst.Call
    call: cst.Call
    there: Context
    problem: str


def _passed_on(facts: ModuleFacts) -> list[_PassedOn]:
    """Return the calls of the program that pass an array to what puts it in a file."""
    from placement_lint.rules.context import Context

    ctx = Context(facts, ShardingDoesNotFit, [])
    if not facts.has_siblings and not (may_know_specs(ctx) and may_know_shardings(ctx)):
        return []
    found: dict[int, _PassedOn] = {}
    for node in facts.tree.every(cst.Call) if ctx.may_say(_PUTTING) else ():
        given = _given(node, ctx)
        param = parameter_named(given, ctx.names)
        if param is None or function_of(param, ctx) is not ctx.function(node):
            continue
        target = Arguments(node).get(1, "device")
        placing = parameter_named(target, ctx.names)
        fitting = [
            (call, passed, there, known)
            for call, passed, there in given_for(param, ctx)
            if (known := _known_shapes(passed, there))
        ]
        # What is asked last has the file interpreted.
        every = [call.given[0] for call in calls_at(node, ctx)] if fitting else []
        if not every or _may_fail(node, ctx) or is_conditional(node, ctx):
            continue
        targets = {} if placing is None else {id(c): (e, t) for c, e, t in given_for(placing, ctx)}
        for call, passed, there, known in fitting:
            to = targets.get(id(call))
            held = every if to is None else [to[1].flow.value(to[0])]
            first = _problem_of(known, held, ctx)
            if first is not None and not _asks_for_size(call, passed, there):
                found.setdefault(id(call), _PassedOn(node, call, there, first[0]))
    return [*found.values()]


def _asks_for_size(call: cst.Call, given: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a condition around a call asks for what it passes, such as for its shape, or
    for a remainder.
    """
    parts = (given, *ctx.tree.every(cst.Name, below=given))
    names = {each.value for each in parts if isinstance(each, cst.Name)}
    around = (each for _, each in ancestors_in_function(call, ctx))
    tests = [each.test for each in around if isinstance(each, cst.If | cst.IfExp | cst.While)]
    tests += [each.test for each in passed_exits(call, ctx)]
    tests += [each.test for each in passed_asserts(call, ctx)]
    return any(
        part.value in names if isinstance(part, cst.Name) else isinstance(part, cst.Modulo)
        for test in tests
        for part in (test, *ctx.tree.every(cst.Name, cst.Modulo, below=test))
    )


def _first_problem(shapes: list[Shape], sharding: Sharding, ctx: Context) -> str | None:
    found = (_problem(shape, sharding, ctx) for shape in shapes)
    return next((each for each in found if each is not None), None)


def _problem(shape: Shape, sharding: Sharding, ctx: Context) -> str | None:
    """Return why an array of a shape cannot be put to a sharding; None where it perhaps can."""
    spec, mesh = sharding.spec, sharding.mesh
    if not sharding.is_named or spec is None or spec.parts is None:
        return None
    if len(spec.parts) > len(shape):
        return (
            f"{spec} is for {len(spec.parts)} dimension{'s' * (len(spec.parts) > 1)}, and the "
            f"array has {len(shape)}: ValueError"
        )
    # Only what has something to report needs it.
    from placement_lint.rules.meshes.mesh_sizes import with_known_sizes

    mesh = None if mesh is None else with_known_sizes(mesh, ctx)
    for position, (part, size) in enumerate(zip(spec.parts, shape, strict=False)):
        ways = None if mesh is None else _ways(part, mesh)
        if size and ways and size % ways:
            text = ", ".join("…" if each is None else str(each) for each in shape)
            text += "," * (len(shape) == 1)
            return (
                f"dimension {position} of an array of shape ({text}) cannot be split {ways} ways, "
                f"as {spec} says over the mesh {mesh}: ValueError"
            )
    return None


def _ways(part: Part, mesh: Mesh) -> int | None:
    """Return how many ways one dimension is split; None where that is not known."""
    axes = (part,) if isinstance(part, str) else part
    if not isinstance(axes, tuple) or mesh.axes is None or mesh.sizes is None:
        return None
    sizes = dict(zip(mesh.axes, mesh.sizes, strict=False))
    known = [size for axis in axes if (size := sizes.get(axis)) is not None]
    return math.prod(known) if len(known) == len(axes) else None
