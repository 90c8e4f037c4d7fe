"""JDP716."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Begins, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.rules.commitment.writing import level_of_binding
from placement_lint.rules.meshes.constraining_helpers import constraints_run_by
from placement_lint.rules.meshes.constraints import CONSTRAINT, may_be_set
from placement_lint.rules.meshes.shardings import (
    Auto,
    axes_of,
    calls_at,
    is_auto,
    leaves,
    made_of,
)
from placement_lint.rules.notebooks import is_shown_or_measured
from placement_lint.semantic.enclosing import failure_is_expected, is_tried
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_FUNCTIONS = (CONSTRAINT, "jax.sharding.reshard", "jax.reshard")


class ShardingConstraintDiscarded(Rule):
    """A sharding constraint whose result is discarded.

    ## What it does
    Finds `jax.lax.with_sharding_constraint(x, sharding)` and `jax.sharding.reshard(x, sharding)` as
    statements of their own, also mapped over a tree by `jax.tree.map`, and in a function or method
    of the program that only returns what they give.

    ## Why is this bad?
    JAX arrays are immutable: the constraint applies to the *result*. If the result is not used,
    nothing is constrained, and the compiler may keep the whole array on every device.

    ## Example
    ```python
    import jax

    @jax.jit
    def forward(params, batch, sharding):
        hidden = batch @ params
        jax.lax.with_sharding_constraint(hidden, sharding)
        return jax.nn.relu(hidden)
    ```

    ## Use instead
    ```python
    import jax

    @jax.jit
    def forward(params, batch, sharding):
        hidden = batch @ params
        hidden = jax.lax.with_sharding_constraint(hidden, sharding)
        return jax.nn.relu(hidden)
    ```

    ## Fix safety
    Safe if the operand is a plain name of the same function: the result is assigned to the name, as
    the author intended. Unsafe for an attribute or an item, since assigning to it may run code or
    raise.

    ## What it does not flag
    A call that is expected to fail (`with pytest.raises(…)`, `try` in a test). Constraints that may
    run under `jax.set_mesh`, unless all axes of that mesh are Auto, and those along Explicit axes:
    there a constraint asserts how an array is split, and needs no result. The last expression of a
    notebook cell, which is displayed.

    ## Verified by
    The proof constrains an array in a jitted function in a statement of its own, and each of eight
    devices has the whole result. After the fix each has an eighth.

    ## References
    - [jax.lax](https://docs.jax.dev/en/latest/jax.lax.html), "Sharding-related operators"
    - Measured on JAX 0.5.3, 0.7.2, 0.10.2
    """

    code, name = "JDP716", "sharding-constraint-discarded"
    advice = "Bind the result, `x = jax.lax.with_sharding_constraint(x, sharding)`, or remove it"
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    holds_on_any_mesh = True
    needs = AnyOf(
        Begins(*_FUNCTIONS), AllOf(Uses(*_FUNCTIONS), AnyOf(Begins(*TREE_MAPS), b"return"))
    )

    def visit_Expr(self, node: cst.Expr, ctx: Context) -> None:
        call = node.value
        if not isinstance(call, cst.Call):
            return
        # A map over a tree whose result, all that it is for, is thrown away is one, too.
        every = constraints_run_by(call, _FUNCTIONS, ctx)
        if not every or failure_is_expected(node, ctx) or is_shown_or_measured(node, ctx):
            return
        is_own = ctx.called(call) in _FUNCTIONS or ctx.called(call) in TREE_MAPS
        if not is_own and is_tried(node, ctx):
            return
        if any(
            name == CONSTRAINT and (_may_be_set(inner, there) or _may_assert(inner, there))
            for name, inner, there in every
        ):
            return
        name, inner, there = every[0]
        arguments = Arguments(call)
        what, constrained = name, arguments.get(0, "x")
        if not is_own:
            what = f"{name} in `{dotted(call.func)}`"
        elif ctx.called(call) in TREE_MAPS:
            what, constrained = f"mapping {name} over a tree", arguments.get(1, "tree")
        ctx.report(
            call,
            f"the result of {what} is discarded: nothing is constrained",
            related=made_of(
                call, ctx, frozenset().union(*(each.given[0] for each in calls_at(inner, there)))
            ),
            fix=_assign(call, constrained, ctx) if is_own else None,
        )


def _may_be_set(call: cst.Call, ctx: Context) -> bool:
    """Return whether a mesh may be set where a constraint runs, unless all of its axes are Auto."""
    from placement_lint.placement.domain.sharding import AxisType, Mesh

    calls = calls_at(call, ctx)
    other = [
        each
        for each in calls
        if not all(
            isinstance(mesh, Mesh) and mesh.every_type == {AxisType.AUTO}
            for mesh in each.meshes.by_set
        )
    ]
    return bool(other or not calls) and may_be_set(other, ctx)


def _may_assert(call: cst.Call, ctx: Context) -> bool:
    """Return whether an axis that a constraint names is known to be Explicit."""
    from placement_lint.placement.domain.sharding import Sharding

    return any(
        isinstance(atom, Sharding) and is_auto(atom.mesh, axes_of(atom), ctx.target) is Auto.NO
        for each in calls_at(call, ctx)
        for atom in leaves(each.given[0])
    )


def _assign(call: cst.Call, operand: cst.BaseExpression | None, ctx: Context) -> FixPlan | None:
    level = level_of_binding(operand, call, ctx)
    if operand is None or level is None:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        name = editor.text_alone(operand)
        if name is None:
            return None
        return [editor.insert(editor.spans.outer(call)[0], f"{name} = ")]

    return FixPlan(level, "Bind the result to the operand's name", build)
