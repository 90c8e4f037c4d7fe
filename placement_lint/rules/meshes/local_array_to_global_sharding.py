"""JDP724."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, Uses
from placement_lint.prefilter.mesh_names import NAMES_MESHES
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.per_process_values import differs_between_processes
from placement_lint.rules.meshes.shardings import leaves, made_at, may_know_meshes
from placement_lint.rules.meshes.spanning import (
    is_over_all,
    is_silent_at,
    is_whole,
    spans_processes,
    target_of,
    works_with_other_processes,
)
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

_FAILURES = frozenset({
    "builtins.AssertionError", "builtins.BaseException", "builtins.Exception",
    "builtins.ValueError",
})  # fmt: skip


class LocalArrayToGlobalSharding(Rule):
    """A `jax.device_put` of an array on a device of this process to a sharding over the devices
    of all processes.

    ## What it does
    Finds `jax.device_put(x, sharding)` if the sharding is over a mesh of `jax.devices()` and splits
    arrays, and `x` is certainly committed to a single device, or depends on `jax.process_index()`:
    the rows that this process has read. The program must be one of several processes: it calls
    `jax.distributed.initialize`, `jax.process_index()` or `jax.process_count()`. To compare
    `jax.process_index()` with 0 is not enough.

    ## Why is this bad?
    An array that is committed to a device of this process cannot be spread over devices of other
    processes: JAX raises `ValueError`. Of other arrays JAX compares what the processes pass, and
    raises AssertionError if that is not the same; before 0.10 in some of the processes only, and
    the others go on. With one process, as on the author's machine, it works.
    Each process holds its own part of the data, and JAX can make one array from these parts.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize()
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
    images = jax.device_put(np.ones((8, 32)), jax.local_devices()[0])
    batch = jax.device_put(images, sharding)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize()
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
    images = np.ones((8, 32))
    batch = jax.make_array_from_process_local_data(sharding, images)
    ```

    ## Fix safety
    No fix: `make_array_from_process_local_data` makes a larger array, from the parts of all
    processes, while `device_put` was meant to split one.

    ## What it does not flag
    NumPy arrays and uncommitted arrays that are not known to differ between the processes, from
    which JAX takes the parts that each process needs; replicated shardings; meshes of
    `jax.local_devices()`, or of unknown devices. Code that a condition may leave to an only
    process; a ValueError that is caught; tests. Programs without any call for several processes.

    ## Verified by
    The proof runs two processes, which put an array on a device of their own to a sharding over all
    devices, which raises ValueError, and other rows in each process, which raises AssertionError.
    `make_array_from_process_local_data` returns an array of the two parts.

    ## References
    - [JAX's documentation](https://docs.jax.dev/en/latest/multi_process.html) on arrays of several
      processes
    - Measured on JAX 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP724", "local-array-to-global-sharding"
    advice = "Make it of the parts of all processes, with `jax.make_array_from_process_local_data`"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(NAMES_MESHES, Uses("jax.device_put"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, "jax.device_put") or not may_know_meshes(ctx):
            return
        arguments = Arguments(node)
        given, target = arguments.get(0, "x"), arguments.get(1, "device")
        sharding = None if target is None else target_of(target, ctx)
        if given is None or sharding is None or not is_over_all(sharding) or is_whole(sharding):
            return
        # Last, since it asks for the imports of the file.
        if not works_with_other_processes(ctx):
            return
        is_committed = spans_processes(sharding, ctx) and _is_of_one_device(ctx.flow.value(given))
        if not is_committed and not differs_between_processes(given, ctx):
            return
        if is_silent_at(node, node, ctx, _FAILURES):
            return
        what = (
            "this array is committed to a device of this process, and the sharding is over the "
            "devices of all: ValueError"
            if is_committed
            else "each process has another part of the data here, and device_put takes one array "
            "that all of them have: AssertionError"
        )
        made = made_at(node, ctx, sharding)
        ctx.report(node, what, confidence=Confidence.LIKELY, related=made)


def _is_of_one_device(held: Value) -> bool:
    """Return whether all arrays in a value surely are committed to single devices."""
    from placement_lint.placement.domain.values import AnyTree, Array

    atoms = [*leaves(held)]
    return bool(atoms) and all(
        _is_of_one_device(atom.leaf)
        if isinstance(atom, AnyTree)
        else isinstance(atom, Array)
        and atom.committed
        and atom.device is not None
        and atom.sharding is None
        for atom in atoms
    )
