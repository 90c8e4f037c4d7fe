"""JDP305."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Severity
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.processes import INITIALIZE, depends_on_process
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context

_RESHAPES = frozenset({"jax.numpy.reshape", "numpy.reshape", "einops.rearrange"})
_MOST_STEPS = 6
_COUNTING_PROCESSES = frozenset({"jax.host_count", "jax.local_device_count", "jax.process_count"})
_LOCAL_WORDS = ("local", "per_host", "per_process", "host_batch", "process_batch")


class GlobalCountForLocalBatch(Rule):
    """`jax.device_count()` where the devices of one process are meant.

    ## What it does
    In a program that calls `jax.distributed.initialize`, finds `jax.device_count()` as the leading
    size in a `reshape`, and in a value that is given a name, by an assignment, a keyword, a key or
    a function, that contains local, per host or per process.

    ## Why is this bad?
    `jax.device_count()` counts the devices of all processes. A process that splits *its own* batch
    by this number makes pieces for devices that it does not have: the reshape fails, or each
    process works on a fraction of its data. With one process the two counts are equal, so the
    mistake is not noticed.

    ## Example
    ```python
    import jax

    jax.distributed.initialize()


    def shard(batch):
        return batch.reshape(jax.device_count(), -1, *batch.shape[1:])
    ```

    ## Use instead
    ```python
    import jax

    jax.distributed.initialize()


    def shard(batch):
        return batch.reshape(jax.local_device_count(), -1, *batch.shape[1:])
    ```

    ## Fix safety
    Display-only: this page shows the fix, but the finding has none, since the code does not say
    whether the batch belongs to one process or to all.

    ## What it does not flag
    Programs that never call `jax.distributed.initialize`. Counts for a mesh, for logging or for the
    size of a global batch; a count that is divided by `jax.process_count()`, or stands in one
    formula with `jax.local_device_count()`; code under a condition on the process. The rule is
    off by default, because it relies on names.

    ## Verified by
    The proof runs two processes of two devices each, which reshape four rows of their own. By the
    count of all devices the pieces have one row, by the local count two.

    ## References
    - [Multi-process JAX](https://docs.jax.dev/en/latest/multi_process.html)
    - [jax.local_device_count](https://docs.jax.dev/en/latest/_autosummary/jax.local_device_count.html)
    """

    code, name = "JDP305", "global-count-for-local-batch"
    advice = "Count the devices of this process, `jax.local_device_count()`"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_arrays = False
    follows_callers = True
    pedantic = True
    needs = AllOf(Jax(), Uses("jax.device_count"))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `batch.reshape(jax.device_count(), …)`."""
        name = ctx.called(node)
        if name in _RESHAPES:
            sizes = [argument.value for argument in node.args[1:]]
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "reshape":
            sizes = [argument.value for argument in node.args]
        else:
            return
        leading = _leading(sizes[0], ctx) if sizes else None
        if leading is None or not ctx.is_call(leading, "jax.device_count"):
            return
        bound = ctx.parent(leading)
        if not isinstance(bound, cst.Assign | cst.AnnAssign) or _local_name(bound, ctx) is None:
            _report(leading, "the leading size of a reshape", ctx)

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        """Check `local_batch = batch // jax.device_count()`."""
        _check_value(node.value, node, ctx)

    def visit_AnnAssign(self, node: cst.AnnAssign, ctx: Context) -> None:
        _check_value(node.value, node, ctx)

    def visit_NamedExpr(self, node: cst.NamedExpr, ctx: Context) -> None:
        _check_value(node.value, node, ctx)

    def visit_Arg(self, node: cst.Arg, ctx: Context) -> None:
        """Check `Loader(local_batch=batch // jax.device_count())`."""
        _check_value(node.value, node, ctx)

    def visit_DictElement(self, node: cst.DictElement, ctx: Context) -> None:
        _check_value(node.value, node, ctx)

    def visit_Return(self, node: cst.Return, ctx: Context) -> None:
        """Check what a function gives that has such a name."""
        _check_value(node.value, node, ctx)


def _check_value(value: cst.BaseExpression | None, named: cst.CSTNode, ctx: Context) -> None:
    name = None if value is None else _local_name(named, ctx)
    if value is None or name is None:
        return
    if ctx.is_call(value, "jax.device_count"):
        _report(value, f"`{name}`", ctx)
    inside = (value, *ctx.tree.descendants(value))
    is_shared_out = any(ctx.called(each) in _COUNTING_PROCESSES for each in inside)
    for inner in inside:
        if is_shared_out or not isinstance(inner, cst.BinaryOperation):
            continue
        is_product = isinstance(inner.operator, cst.Multiply)
        is_quotient = isinstance(inner.operator, cst.FloorDivide | cst.Divide)
        counts = [inner.right] if is_quotient else [inner.left, inner.right]
        for count in counts if is_quotient or is_product else ():
            if ctx.is_call(count, "jax.device_count"):
                _report(count, f"`{name}`", ctx)


def _local_name(node: cst.CSTNode, ctx: Context) -> str | None:
    """Return the name that a value gets, where it is about one process."""
    found = (name for name in _names(node, ctx) if any(word in name for word in _LOCAL_WORDS))
    return next(found, None)


def _names(node: cst.CSTNode, ctx: Context) -> Iterator[str]:
    """Yield the names that a value gets: bound to it, or given to it by a call or a function."""
    targets: list[cst.CSTNode] = []
    if isinstance(node, cst.Assign):
        targets = [each.target for each in node.targets]
    elif isinstance(node, cst.AnnAssign | cst.NamedExpr):
        targets = [node.target]
    elif isinstance(node, cst.Arg) and node.keyword is not None:
        targets = [node.keyword]
    elif isinstance(node, cst.DictElement):
        yield string_value(node.key) or ""
    elif isinstance(node, cst.Return) and isinstance(
        function := ctx.function(node), cst.FunctionDef
    ):
        targets = [function.name]
    for target in targets:
        if isinstance(target, cst.Attribute):
            yield target.attr.value
        elif isinstance(target, cst.Subscript) and len(target.slice) == 1:
            index = target.slice[0].slice
            yield (string_value(index.value) if isinstance(index, cst.Index) else None) or ""
        elif isinstance(target, cst.Name):
            yield target.value


def _leading(size: cst.BaseExpression, ctx: Context) -> cst.BaseExpression:
    """Return the first size of a shape: `(n, -1) + x.shape[1:]`."""
    for _ in range(_MOST_STEPS):
        size = followed(size, ctx)
        if isinstance(size, cst.Tuple | cst.List) and size.elements:
            size = size.elements[0].value
        elif isinstance(size, cst.BinaryOperation) and isinstance(size.operator, cst.Add):
            size = size.left
        else:
            break
    return size


def _report(call: cst.CSTNode, what: str, ctx: Context) -> None:
    if depends_on_process(call, ctx) or not ctx.program_calls(INITIALIZE):
        return
    ctx.report(
        call,
        f"jax.device_count() counts the devices of all processes; for {what} "
        "jax.local_device_count() may be meant",
        confidence=Confidence.LIKELY,
    )
