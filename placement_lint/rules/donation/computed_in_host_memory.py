"""JDP813."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.donation.memory_kinds import SAYS_MEMORY, on_host_memory
from placement_lint.semantic.enclosing import is_in_test

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context


class ComputedInHostMemory(Rule):
    """A computation on an array in `pinned_host`, whose result stays there.

    ## What it does
    Finds operators and `jax.numpy` functions outside functions that JAX traces, if all array
    operands were certainly put to a sharding of `memory_kind="pinned_host"`, or to
    `jax.memory.Space.Host`.

    ## Why is this bad?
    From JAX 0.10 on, the result is in `pinned_host` too; before, it was in the memory of the
    device. The next operation on the result and an array of the device raises ValueError, and a
    whole computation may run in memory that is only meant for storage.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    device = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    host = device.with_memory_kind("pinned_host")
    moments = jax.device_put(jnp.ones((64, 64)), host)
    scaled = moments * 0.9
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    device = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    host = device.with_memory_kind("pinned_host")
    moments = jax.device_put(jnp.ones((64, 64)), host)
    scaled = jax.device_put(moments, device) * 0.9
    ```

    ## Fix safety
    No fix: the computation may be intended, if the device lacks the memory for it.

    ## What it does not flag
    Arrays that are converted to NumPy or put elsewhere; `unpinned_host`; an operand that may be
    elsewhere; code inside compiled functions. Tests. Code for JAX before 0.10 only.

    ## Verified by
    The proof multiplies an array in `pinned_host` by a number, and the result is in `pinned_host`.
    Copied to the device first, it is in the device's memory.

    ## References
    - [JAX's notebook on host offloading](https://docs.jax.dev/en/latest/notebooks/host-offloading.html)
    - Measured on JAX 0.7.2, 0.9.0.1, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP813", "computed-in-host-memory"
    advice = "Bring the array to the device first, with `jax.device_put`"
    severity, pedantic = Severity.INFO, True
    versions: ClassVar[tuple[str | None, str | None]] = ("0.10.0", None)
    follows_callers = True
    needs = AllOf(Jax(), SAYS_MEMORY)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for operation, executions in on_host_memory(ctx):
            if not ctx.flow.is_traced(operation) and not is_in_test(operation, ctx) and all(
                _is_all_of_host([held for _, held in operands]) for operands in executions
            ):  # fmt: skip
                ctx.report(
                    operation,
                    "this is computed in pinned_host memory, and from JAX 0.10 on its result stays "
                    "there",
                )


def _is_all_of_host(operands: list[Value]) -> bool:
    """Return whether operands are arrays that were put in the memory of the host, and numbers."""
    from placement_lint.placement.domain.sharding import Memory
    from placement_lint.placement.domain.values import Array, Plain

    atoms = [atom for held in operands for atom in held]
    arrays = [atom for atom in atoms if isinstance(atom, Array)]
    return all(isinstance(atom, Array | Plain) for atom in atoms) and all(
        array.sharding is not None and array.sharding.memory is Memory.PINNED for array in arrays
    )
