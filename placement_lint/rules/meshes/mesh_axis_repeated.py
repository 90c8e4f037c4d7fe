"""JDP702."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.iterated_specs import meets_each
from placement_lint.rules.meshes.shardings import (
    calls_at,
    made_of,
)
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught

if TYPE_CHECKING:
    from collections.abc import Iterable

    import libcst as cst

    from placement_lint.rules.context import Context

_SHARDING = ("jax.NamedSharding", "jax.sharding.NamedSharding")
_MESH = ("jax.make_mesh", "jax.sharding.Mesh")
_CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.ValueError",
})  # fmt: skip


class MeshAxisRepeated(Rule):
    """An axis that occurs twice, in one spec or in one mesh.

    ## What it does
    Finds `NamedSharding(mesh, spec)` if the spec names one axis more than once, and `Mesh(…)` and
    `jax.make_mesh(…)` with one name for two axes. Specs and meshes are followed through names,
    functions and the files of a run.

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
    needs = AllOf(Jax(), Uses(*_SHARDING, *_MESH))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        is_sharding = ctx.is_call(node, *_SHARDING)
        if not is_sharding and not ctx.is_call(node, *_MESH):
            return
        given = [call.given[1] for call in calls_at(node, ctx)] if is_sharding else []
        every = given if is_sharding else [ctx.flow.value(node)]
        in_turn = is_sharding and meets_each(node, ctx)
        repeated = [_repeated(held, in_turn=in_turn) for held in every]
        found = sorted(each for each in repeated if each is not None)
        if not found or is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        what, axis = found[0]
        then = "JAX refuses it" if is_sharding else "nothing can be put on it"
        ctx.report(
            node,
            f'{what} names the axis "{axis}" twice: {then}',
            confidence=Confidence.LIKELY if None in repeated else Confidence.DEFINITE,
            related=made_of(node, ctx, *every),
        )


def _repeated(held: Iterable[object], *, in_turn: bool) -> tuple[str, str] | None:
    """Return what surely names an axis twice, as people write it, and the axis.

    `in_turn`: each of the alternatives comes, one after the other.
    """
    found: list[tuple[str, str]] = []
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
        found.append((str(atom) if isinstance(atom, Spec) else f"the mesh {atom}", twice[0]))
    return min(found) if found else None
