"""JDP721."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Pattern, Uses
from placement_lint.prefilter.mesh_names import NAMES_MESHES, SPLITS
from placement_lint.rules.base import Rule
from placement_lint.rules.meshes.shardings import made_at
from placement_lint.rules.meshes.spanning import FAILURES, ITERATING, is_silent_at, read_in_part
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_READING: dict[str, tuple[int, ...]] = {
    "flax.serialization.to_bytes": (0,), "jax.device_get": (0,), "jax.numpy.save": (1,),
    "numpy.allclose": (0, 1),
    "numpy.argsort": (0,), "numpy.array": (0,), "numpy.asanyarray": (0,), "numpy.asarray": (0,),
    "numpy.ascontiguousarray": (0,), "numpy.average": (0,), "numpy.bincount": (0,),
    "numpy.concatenate": (0,), "numpy.count_nonzero": (0,), "numpy.flatnonzero": (0,),
    "numpy.histogram": (0,), "numpy.intersect1d": (0, 1), "numpy.isfinite": (0,),
    "numpy.isin": (0, 1), "numpy.isnan": (0,), "numpy.median": (0,), "numpy.nanmean": (0,),
    "numpy.nansum": (0,), "numpy.percentile": (0,), "numpy.quantile": (0,), "numpy.save": (1,),
    "numpy.savetxt": (1,), "numpy.setdiff1d": (0, 1), "numpy.sort": (0,), "numpy.stack": (0,),
    "numpy.testing.assert_allclose": (0, 1), "numpy.testing.assert_array_equal": (0, 1),
    "numpy.union1d": (0, 1), "numpy.unique": (0,), "pickle.dump": (0,), "pickle.dumps": (0,),
}  # fmt: skip
"""Functions that read all of an argument: which ones."""
_ARCHIVES = frozenset({"jax.numpy.savez", "numpy.savez", "numpy.savez_compressed"})
"""Functions that read all of each argument but the first."""
_METHODS = frozenset({"item", "tolist", "__array__"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"})


class GlobalArrayFetched(Rule):
    """An array that is split over processes, read as if this process held all of it.

    ## What it does
    Finds `np.asarray(x)`, `np.save(path, x)`, `np.sort(x)`, `np.unique(x)` and the like,
    `jax.device_get(x)`, `x.item()`, `x.tolist()`, `pickle.dumps(x)`, `jax.tree.map(np.asarray,
    tree)` and iteration, `first, *others = x` and `f(*x)` too, if `x` is certainly split over a
    mesh of `jax.devices()`, in a program of several processes: one that calls
    `jax.distributed.initialize`, `jax.process_index()` or `jax.process_count()`. To compare
    `jax.process_index()` with 0 is not enough.

    If the mesh has several axes and their sizes are unknown, such as those of a configuration file,
    the axis that splits the array may have one device; fields of a dataclass of settings that are
    set once are known. If they are unknown, only the result of
    `jax.make_array_from_process_local_data` is reported by default, and other arrays with
    `--min-confidence possible`.

    ## Why is this bad?
    `jax.devices()` lists the devices of all processes, and each process holds only the parts on its
    own devices: `RuntimeError: Fetching value for jax.Array that spans non-addressable (non process
    local) devices is not possible`. Iteration raises AssertionError without a message. With one
    process, as on the author's machine, it works. A condition on process 0 does not help, since
    process 0 does not hold more than the others.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec


    def save(path, part):
        jax.distributed.initialize()
        mesh = Mesh(np.array(jax.devices()), ("data",))
        scores = jax.make_array_from_process_local_data(
            NamedSharding(mesh, PartitionSpec("data")), part
        )
        if jax.process_index() == 0:
            np.save(path, np.asarray(scores))
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding, PartitionSpec


    def save(path, part):
        jax.distributed.initialize()
        mesh = Mesh(np.array(jax.devices()), ("data",))
        scores = jax.make_array_from_process_local_data(
            NamedSharding(mesh, PartitionSpec("data")), part
        )
        every = multihost_utils.process_allgather(scores, tiled=True)
        if jax.process_index() == 0:
            np.save(path, every)
    ```

    Every process must call `process_allgather`. Without it, each process can save its own parts,
    `[shard.data for shard in scores.addressable_shards]`.

    ## Fix safety
    No fix: all processes must take part in gathering, and the call may run in only one.

    ## What it does not flag
    Replicated arrays, which each process holds completely; a mesh of `jax.local_devices()`; an
    array of unknown sharding or devices, including results of computations; parts
    (`x.addressable_shards`, `x.addressable_data(0)`). Code that a condition may leave to an only
    process, as all but `jax.process_count() > 1` may, or to arrays that are fully addressable, also
    around all calls of the function. A RuntimeError that is caught; tests. Programs without any
    call for several processes, and code for Pathways, where one process has the devices of all: a
    file that imports `pathwaysutils`, or what its name or its docstring says is for it.

    ## Verified by
    The proof runs two processes, which make one array of their parts; `np.asarray` of it raises.
    Gathered first, each process reads all of it.

    ## References
    - [vllm-project/tpu-inference#3570](https://github.com/vllm-project/tpu-inference/issues/3570),
      [stanford-crfm/haliax#37](https://github.com/stanford-crfm/haliax/issues/37),
      [jax-ml/jax#22218](https://github.com/jax-ml/jax/issues/22218)
    - Measured on JAX 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP721", "global-array-fetched"
    advice = "Gather it in all processes, or read `x.addressable_shards`"
    severity = Severity.ERROR
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        SPLITS,
        NAMES_MESHES,
        AnyOf(
            Uses(*_READING),
            b"make_array_from_process_local_data",
            b"make_array_from_callback",
            b"device_put",
            Pattern(rb"\.[\s\\]*(?:item|tolist)\b", word=b"t"),
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        called = ctx.called(node) or ""
        arguments = Arguments(node)
        if called in _READING:
            for position in _READING[called]:
                if position < len(arguments.positional):
                    _check(arguments.positional[position], node, ctx)
        elif called in ITERATING:
            for each in arguments.positional:
                _check(each, node, ctx, in_trees=False)
        elif called in _ARCHIVES:
            for each in (*arguments.positional[1:], *arguments.keywords.values()):
                _check(each, node, ctx)
            for argument in node.args:
                if argument.star == "**":
                    _check(argument.value, node, ctx)
        elif called in _MAPS and len(arguments.positional) == 2:
            function, tree = arguments.positional
            if ctx.name(function) in _READING:
                _check(tree, node, ctx)
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS:
            # `x.item(i)` is one number, for which JAX needs all of it as well.
            _check(node.func.value, node, ctx)
        for argument in node.args:
            if argument.star == "*":
                _check(argument.value, argument.value, ctx, in_trees=False)

    def visit_For(self, node: cst.For, ctx: Context) -> None:
        _check(node.iter, node.iter, ctx, in_trees=False)

    def visit_CompFor(self, node: cst.CompFor, ctx: Context) -> None:
        _check(node.iter, node.iter, ctx, in_trees=False)

    def visit_Yield(self, node: cst.Yield, ctx: Context) -> None:
        if isinstance(node.value, cst.From):
            _check(node.value.item, node.value.item, ctx, in_trees=False)

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        if any(isinstance(each.target, cst.Tuple | cst.List) for each in node.targets):
            _check(node.value, node.value, ctx, in_trees=False)

    def visit_StarredElement(self, node: cst.StarredElement, ctx: Context) -> None:
        _check(node.value, node.value, ctx, in_trees=False)


def _check(
    array: cst.BaseExpression,
    node: cst.CSTNode,
    ctx: Context,
    *,
    in_trees: bool = True,
) -> None:
    if isinstance(array, cst.SimpleString | cst.Integer):
        return
    split = read_in_part(array, ctx, in_trees=in_trees)
    if split is None or is_silent_at(array, node, ctx, FAILURES):
        return
    has = "may have" if split.confidence is Confidence.POSSIBLE else "has"
    ctx.report(
        node,
        f"this process {has} only a part of this array, which is split over the {split.sharding} "
        "of all processes: RuntimeError",
        confidence=split.confidence,
        related=made_at(node, ctx, split.sharding),
    )
