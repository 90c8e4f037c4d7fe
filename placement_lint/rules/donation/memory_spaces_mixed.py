"""JDP812."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.dimensions import (
    are_alike,
    has_dimensions,
    is_split,
    made_with_dimensions,
    mapped_names,
)
from placement_lint.rules.donation.memory_kinds import (
    SAYS_MEMORY,
    combines_trees,
    may_fail,
    on_host_memory,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

STAYS = "0.10.0"
"""From this version of JAX on, what is computed in `pinned_host` stays there (measured on 0.9.0.1
and 0.10.2)."""


class MemorySpacesMixed(Rule):
    """An operation on an array in `pinned_host` and one in the memory of the device.

    ## What it does
    Finds operators and `jax.numpy` functions if one operand was certainly put to a sharding of
    `memory_kind="pinned_host"`, or to `jax.memory.Space.Host`, and another is certainly an array in
    the devices' own memory, or a NumPy array; outside functions that JAX traces, and in them.

    ## Why is this bad?
    JAX does not compute with arrays in different memories: `ValueError: memory_space of all inputs
    passed to `add` must be the same`. Moments or a cache that are kept on the host must be copied
    to the device for each update, and put back.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    device = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    host = device.with_memory_kind("pinned_host")
    momentum = jax.device_put(jnp.zeros((64, 64)), host)
    gradients = jax.device_put(jnp.ones((64, 64)), device)
    momentum = momentum + gradients
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    device = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    host = device.with_memory_kind("pinned_host")
    momentum = jax.device_put(jnp.zeros((64, 64)), host)
    gradients = jax.device_put(jnp.ones((64, 64)), device)
    momentum = jax.device_put(jax.device_put(momentum, device) + gradients, host)
    ```

    ## Fix safety
    No fix: only the author knows which of the two memories is meant, and how often the array may be
    copied.

    ## What it does not flag
    Scalars, which may be in any memory, and operands that may be scalars, but for
    `jnp.zeros(shape)` of a parameter that nothing in the program passes; `unpinned_host`, which JAX
    treats like the device's own memory; unknown memory kinds. Arguments of compiled functions,
    which may be copied to the device inside; policies of `jax.checkpoint`. Results of computations
    on arrays that are all in `pinned_host`, if the project supports JAX before 0.10, where they are
    in the device's memory.

    ## Verified by
    The proof adds an array in `pinned_host` and one that is not, which raises ValueError. Copied to
    the device first, it is added.

    ## References
    - [jax-ml/jax#34041](https://github.com/jax-ml/jax/issues/34041),
      [#34825](https://github.com/jax-ml/jax/pull/34825)
    - Measured on JAX 0.7.1, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP812", "memory-spaces-mixed"
    advice = (
        "Bring the array to the device first, with `jax.device_put(x, "
        'x.sharding.with_memory_kind("device"))`'
    )
    severity = Severity.ERROR
    versions: ClassVar[tuple[str | None, str | None]] = ("0.7.1", None)
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), SAYS_MEMORY)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for operation, executions in on_host_memory(ctx, of_trees=True):
            of_trees = combines_trees(operation, ctx)
            is_product = _is_product(operation, ctx)
            found = [
                _mixed(dict(each), ctx, of_trees=of_trees, is_product=is_product)
                for each in executions
            ]
            known = [each for each in found if each is not None]
            if not known or may_fail(operation, ctx):
                continue
            host, other = min(known, key=lambda pair: tuple(map(ctx.tree.index, pair)))
            one, two = dotted(host), dotted(other)
            here = f"`{one}` is in pinned_host memory" if one else "one operand is in pinned_host"
            there = f"`{two}` is not" if two else "another one is not"
            ctx.report(
                operation,
                f"{here} and {there}: JAX does not compute with both, ValueError",
                confidence=Confidence.DEFINITE if None not in found else Confidence.LIKELY,
            )


def _is_product(operation: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operation is a product of matrices, which takes no scalars."""
    if isinstance(operation, cst.Call):
        return ctx.called(operation) == "jax.numpy.matmul"
    operator = operation.operator if isinstance(operation, cst.BinaryOperation) else None
    return isinstance(operator, cst.MatrixMultiply)


def _mixed(
    operands: dict[int, Value], ctx: Context, *, of_trees: bool, is_product: bool
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return an operand that is in the memory of the host, and one that is not.

    `of_trees`: each leaf of the one meets that of the other, which is of its shape. `is_product`:
    none is a scalar.
    """
    places: dict[cst.BaseExpression, bool] = {}
    values: dict[cst.BaseExpression, Value] = {}
    split: set[cst.BaseExpression] = set()
    for index, held in operands.items():
        node, is_of_host = ctx.tree.nodes[index], _is_of_host(held, ctx)
        if isinstance(node, cst.BaseExpression) and is_of_host is not None:
            places[node], values[node] = is_of_host, held
            split |= {node} if is_split(held) else set()
    hosts = [
        node
        for node, is_of_host in places.items()
        if is_of_host
        and all(_is_of_host(ctx.flow.value(name), ctx) for name, _ in mapped_names(node, ctx))
    ]
    others = [node for node, is_of_host in places.items() if not is_of_host]
    for host in hosts:
        for other in others:
            long = [
                is_product
                or each in split
                or has_dimensions(each, ctx)
                or made_with_dimensions(each, ctx, values[each])
                for each in (host, other)
            ]
            if all(long) or (any(long) and (of_trees or are_alike(host, other, ctx))):
                return host, other
    return None


def _is_of_host(held: Value, ctx: Context) -> bool | None:
    """Return whether all that a value may be is in the memory of the host; None: not known."""
    from placement_lint.placement.domain.sharding import Memory
    from placement_lint.placement.domain.values import Array, Host

    found: set[bool | None] = set()
    for atom in held:
        if isinstance(atom, Host):
            found.add(False)
        elif not isinstance(atom, Array):
            return None
        elif atom.sharding is not None:
            memory = atom.sharding.memory
            is_sure = memory is not Memory.PINNED_BY_VERSION or ctx.target.all_reach(STAYS)
            is_own = memory is Memory.DEVICE or atom.sharding.is_named
            found.add(False if is_own else True if atom.sharding.is_of_host and is_sure else None)
        else:
            found.add(False if not atom.committed or atom.device is not None else None)
    return found.pop() if len(found) == 1 else None
