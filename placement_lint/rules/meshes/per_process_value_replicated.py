"""JDP722."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.per_process_values import (
    SOURCES_OF_MACHINE,
    differs_between_processes,
)
from placement_lint.rules.meshes.spanning import (
    is_silent_at,
    replicates_over_processes,
    target_of,
    works_with_other_processes,
)
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context

# Where a call has the value and the sharding, by position and name.
_CALLS = {
    "jax.device_put": ((0, "x"), (1, "device")),
    "jax.make_array_from_process_local_data": ((1, "local_data"), (0, "sharding")),
}
_FAILURES = frozenset({"builtins.AssertionError", "builtins.BaseException", "builtins.Exception"})


class PerProcessValueReplicated(Rule):
    """A value that differs between processes, used as a replicated array.

    ## What it does
    Finds `jax.make_array_from_process_local_data(sharding, x)` and `jax.device_put(x, sharding)` if
    the sharding is certainly replicated over a mesh of `jax.devices()`, and `x` depends on
    `jax.process_index()`, on the name or the clock of the machine, or on a NumPy generator without
    a seed, be it NumPy's own (`np.random.randn`) in a program that seeds it nowhere. `x` is
    followed through names, attributes, arithmetic, NumPy and JAX functions, loops, parts of arrays
    that are stored (`x[:4] = …`), and the functions of the program, in other files too. A parameter
    counts if each call of the function passes such a value.

    ## Why is this bad?
    A replicated array has one value, of which each device holds a copy.
    `make_array_from_process_local_data` does not compare the values of the processes, so the copies
    silently differ. After that, the processes compute different results from what should be the
    same array, and collective operations mix them. `jax.device_put` does compare, and raises
    AssertionError.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize()
    replicated = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    rng = np.random.default_rng(1000 + jax.process_index())
    noise = jax.make_array_from_process_local_data(replicated, rng.normal(size=(8,)))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize()
    replicated = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec())
    rng = np.random.default_rng(1000)
    noise = jax.make_array_from_process_local_data(replicated, rng.normal(size=(8,)))
    ```

    If each process should have its own numbers, split the array instead of replicating it. To give
    all processes the value of process 0, use `multihost_utils.broadcast_one_to_all`.

    ## Fix safety
    No fix: only the author knows whether the value or the sharding is wrong.

    ## What it does not flag
    Shardings that split; meshes of `jax.local_devices()`, or of unknown devices. Values of unknown
    origin: loaders, and arguments that only some calls give such a value. The same seed in all
    processes, `jax.process_count()`, and results of `broadcast_one_to_all` or `process_allgather`.
    Code that a condition may leave to an only process; tests.

    ## Verified by
    The proof runs two processes, which replicate numbers that they compute from their index, and
    each reads its own. With the same seed both read the same.

    ## References
    - [sgl-project/sglang-jax#155](https://github.com/sgl-project/sglang-jax/issues/155)
    - [JAX's documentation](https://docs.jax.dev/en/latest/multi_process.html) on arrays of several
      processes
    - Measured on JAX 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP722", "per-process-value-replicated"
    advice = "Give all processes the same value, or split the array over them"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        AnyOf(b"device_put", b"make_array_from_process_local_data"),
        AnyOf(
            b"process_index",
            b"host_id",
            b"getpid",
            b"default_rng",
            b"RandomState",
            Uses("numpy.random.*", *SOURCES_OF_MACHINE),
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        where = _CALLS.get(ctx.called(node) or "")
        if where is None:
            return
        arguments = Arguments(node)
        value, target = (arguments.get(*each) for each in where)
        if (
            value is None
            or target is None
            or arguments.is_open
            or not replicates_over_processes(target_of(target, ctx))
            or not works_with_other_processes(ctx)
            or not differs_between_processes(value, ctx)
            or is_silent_at(node, node, ctx, _FAILURES)
        ):
            return
        is_checked = ctx.is_call(node, "jax.device_put")
        ctx.report(
            node,
            "this value differs between processes, but the sharding is replicated: "
            + ("AssertionError" if is_checked else "the replicas silently disagree"),
            confidence=Confidence.LIKELY,
        )
