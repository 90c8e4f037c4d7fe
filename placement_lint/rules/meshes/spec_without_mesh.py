"""JDP711."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.placement.domain.mesh_contexts import is_none
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.bare_specs import PUT, bare_specs, was_left, without_mesh
from placement_lint.rules.meshes.constraints import CONSTRAINT
from placement_lint.rules.meshes.shardings import (
    made_of,
    name_at,
)
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

SPECS = Uses("jax.P", "jax.sharding.PartitionSpec")
TAKING_SPECS = Uses(PUT, CONSTRAINT, "jax.jit")
_SHARDING = "jax.sharding.NamedSharding"


class SpecWithoutMesh(Rule):
    """A `PartitionSpec` used without a mesh.

    ## What it does
    Finds `jax.device_put(x, PartitionSpec("data"))`, calls of functions that `jax.jit` made with
    such `in_shardings` or `out_shardings`, and `jax.lax.with_sharding_constraint` with a spec, if
    they run in a program, or in a test of pytest, without a mesh in effect. The first two need a
    mesh of `jax.set_mesh`; a constraint also accepts that of `with mesh:`.

    ## Why is this bad?
    JAX raises ValueError or RuntimeError when the line runs: "requires a non-empty mesh in
    context". `with mesh:`, which many programs and older pages use, works only for constraints and
    `pjit`.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, PartitionSpec

    devices = np.array(jax.devices())
    with Mesh(devices, ("data",)) as mesh:
        batch = jax.device_put(np.ones((64, 16)), PartitionSpec("data"))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    batch = jax.device_put(np.ones((64, 16)), NamedSharding(mesh, PartitionSpec("data")))
    ```

    From JAX 0.7.1 on, `with jax.set_mesh(mesh):` sets a mesh for specs. Under it, new arrays are
    made on the mesh, and arrays that are committed to a single device raise.

    ## Fix safety
    Unsafe: `NamedSharding(mesh, spec)` replaces the spec if exactly one mesh is available, which
    may not be the intended one.

    ## What it does not flag
    Functions that nothing in the program calls, such as those of a library, whose callers may have
    set a mesh; tests with marks, or with fixtures that may enter one. Code under or after a
    condition on meshes, shardings or devices. Programs that set a mesh by a statement of its own,
    or that import packages that may set one. `pjit`, which accepts specs under `with mesh:`. Calls
    that run both with and without a mesh. An exception that is expected or caught. Functions that
    were made, and threads that were started, while a mesh was in effect (JDP717).

    ## Verified by
    The proof puts an array to a spec inside `with mesh:`, which raises ValueError. With a sharding
    of the mesh it is split over eight devices.

    ## References
    - [google/flax#2938](https://github.com/google/flax/issues/2938): specs given to `jax.jit`
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP711", "spec-without-mesh"
    advice = "Pass `NamedSharding(mesh, spec)`"
    severity, fix = Severity.ERROR, Applicability.UNSAFE
    follows_callers = True
    needs = AllOf(Jax(), SPECS, TAKING_SPECS)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        calls = without_mesh(node, ctx)
        if not calls:
            return
        every = ctx.flow.record.sharded_calls
        seen = every.at(ctx.tree.index(node)) or every.compiled.get(ctx.tree.index(node), set())
        if len(calls) != len(seen) or any(map(was_left, calls)):
            return
        specs = (frozenset(bare_specs(call)) for call in calls)
        ctx.report(
            node,
            _message(node, calls, ctx),
            related=made_of(node, ctx, *specs),
            fix=_plan(node, ctx),
        )


def _message(node: cst.Call, calls: list[ShardedCall], ctx: Context) -> str:
    spec = min(str(each) for call in calls for each in bare_specs(call))
    if ctx.called(node) == CONSTRAINT:
        return f"the constraint is {spec}, and no mesh is in effect: RuntimeError"
    is_entered = not any(is_none(call.meshes.by_with) for call in calls)
    why = "`with mesh:` sets none for it" if is_entered else "no mesh is set"
    if ctx.called(node) == PUT:
        return f"jax.device_put is given {spec}, and {why}: ValueError"
    called = f"`{dotted(node.func)}`" if dotted(node.func) else "the function"
    return f"{called} is compiled for {spec}, and {why} where it is called: RuntimeError"


def _plan(node: cst.Call, ctx: Context) -> FixPlan | None:
    spec = Arguments(node).get(1, "device", "shardings")
    if ctx.called(node) not in {PUT, CONSTRAINT} or spec is None:
        return None
    if not all(isinstance(atom, Spec) for atom in ctx.flow.value(spec)):
        return None
    mesh, spelled = _mesh_at(node, ctx), ctx.reach(_SHARDING, at=node)
    if mesh is None or spelled is None:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        text = editor.text_alone(spec)
        return None if text is None else [editor.replace(spec, f"{spelled}({mesh}, {text})")]

    message = f"Pass a sharding over `{mesh}`"
    return FixPlan(Applicability.UNSAFE, message, build, imports=needed([spelled]))


def _mesh_at(node: cst.Call, ctx: Context) -> str | None:
    """Return the one name that stands for a mesh where a call is: of a `with`, or of the file."""
    for item in ctx.with_items(node):
        given = item.item if item.asname is None else item.asname.name
        if _is_mesh(item.item, ctx):
            return dotted(given) or None
    return name_at(node, ctx, None)


def _is_mesh(node: cst.BaseExpression, ctx: Context) -> bool:
    held = ctx.flow.value(node)
    return len(held) == 1 and all(isinstance(atom, Mesh) for atom in held)
