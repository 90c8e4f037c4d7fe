"""JDP706."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import SHARDS, AllOf, AnyWord, Jax
from placement_lint.prefilter.mesh_names import SPLITS
from placement_lint.rules.base import Rule
from placement_lint.rules.commitment.commitment_lost import optimizer_of, shapes_taken
from placement_lint.rules.commitment.putting import is_put
from placement_lint.rules.meshes.constraints import may_be_set_around
from placement_lint.rules.meshes.shardings import Auto, is_auto, made_at, may_split, split_over
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.rules.context import Context

_TRANSFORMING = frozenset({"jit", "pjit", "vmap"})
"""The last parts of the names of what makes results of shapes alone; see `traced.MAPPING`."""


class ShardingLost(Rule):
    """A compiled function whose result has the shape of its sharded argument, but not its
    sharding.

    ## What it does
    Finds `jax.jit(optimizer.init)(params)` for an optax optimizer that keeps moments, also as a
    compiled function or method that returns just that, and `jax.jit(jnp.zeros_like)(params)`, also
    with `jax.tree.map`, if the parameters are certainly split over a mesh.

    ## Why is this bad?
    If a result does not depend on the *values* of an argument, it is compiled as if the argument
    did not exist: the whole result is made on the default device, uncommitted. The state of the
    optimizer, twice the size of the parameters, must fit on one device. The first training step
    copies it to the mesh, and the second one is compiled again, because the shardings of its
    arguments have changed. With Explicit axes JAX raises ValueError, since 0.6.

    ## Example
    ```python
    import jax
    import numpy as np
    import optax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("fsdp",))
    params = jax.device_put(np.zeros((8192, 1024)), NamedSharding(mesh, PartitionSpec("fsdp")))
    optimizer = optax.adam(1e-3)
    state = jax.jit(optimizer.init)(params)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    import optax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("fsdp",))
    params = jax.device_put(np.zeros((8192, 1024)), NamedSharding(mesh, PartitionSpec("fsdp")))
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)
    ```

    Outside jit, each moment gets the sharding of its parameter. The step counter is still on one
    device: put it to `NamedSharding(mesh, PartitionSpec())`. Or pass the shardings of the results:
    `jax.jit(optimizer.init, out_shardings=…)(params)`.

    ## Fix safety
    No fix: only the author knows which sharding each part of the result should have.

    ## What it does not flag
    Calls with `out_shardings`; results that are put to a sharding later; functions that use the
    values of their argument, as a model's `init` uses its key; optimizers without moments;
    replicated parameters, and parameters of unknown sharding. Calls that may run under
    `jax.set_mesh`, where such results are made on the mesh.

    ## Verified by
    The proof makes zeros in the shape of an array that is split over eight devices, in a jitted
    function: they are uncommitted on one device. Outside jit they are on all eight.

    ## References
    - [google-deepmind/optax#548](https://github.com/google-deepmind/optax/issues/548): all
      parameters are made on one device
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP706", "sharding-lost"
    advice = "Call it outside of jit, where the result follows, or pass `out_shardings`"
    severity = Severity.WARNING
    follows_callers = True
    needs = AllOf(Jax(), SPLITS, AnyWord(*_TRANSFORMING), SHARDS)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        arguments = Arguments(node)
        if arguments.is_open or not arguments.positional:
            return
        if not may_split(ctx) or not ctx.may_say(_TRANSFORMING):
            return
        if ctx.flow.is_traced(node):
            return
        optimizer = optimizer_of(node, ctx)
        if optimizer is None and not shapes_taken(node, ctx):
            return
        operand = arguments.positional[0]
        sharding = split_over(_before(node, _held(operand, ctx), ctx), partly=True)
        if sharding is None or len(node.args) != 1 or is_put(node, ctx):
            return
        if may_be_set_around(node, ctx):
            return
        name = f"`{dotted(operand)}`" if dotted(operand) else "the argument"
        what = "all of the result is" if optimizer is None else f"the moments of {optimizer} are"
        outcome = f"{what} made on the default device: only shapes are used under jit"
        if is_auto(sharding.mesh, frozenset(), ctx.target) is Auto.NO:
            outcome = (
                "only its shape is used under jit, and the axes are Explicit: JAX raises "
                "ValueError outside of `jax.set_mesh`"
            )
        ctx.report(
            node,
            f"{name} is split over the {sharding}, but {outcome}",
            related=made_at(node, ctx, sharding),
        )


def _held(operand: cst.BaseExpression, ctx: Context) -> Value:
    """Return what an argument is, or what is in one that is written out: `{"w": w}`."""
    if not isinstance(operand, cst.Dict | cst.List | cst.Tuple):
        return ctx.flow.value(operand)
    parts: list[Value] = [ctx.flow.value(each.value) for each in operand.elements]
    return frozenset(atom for held in parts for atom in held)


def _before(call: cst.Call, held: Value, ctx: Context) -> Value:
    """Return what a call is given when it runs first: `self.counts = zeros(self.counts)`.

    That is not what the call itself has made.
    """
    from placement_lint.placement.domain.contents import arrays
    from placement_lint.placement.domain.values import value

    place = ctx.flow.module.place(call)

    def is_own(atom: Atom) -> bool:
        origins = [array.origin for array in arrays(value(atom))]
        return bool(origins) and all(each is not None and each.created == place for each in origins)

    return frozenset(atom for atom in held if not is_own(atom))
