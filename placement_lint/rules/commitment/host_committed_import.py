"""JDP207."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain import contents, values
from placement_lint.placement.domain.devices import Device, differ
from placement_lint.prefilter.conditions import AnyOf
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import is_put
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import bound_before
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_IMPORTS = ("jax.dlpack.from_dlpack", "jax.numpy.from_dlpack")
_MAPS = ("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map")
_KEEPING_METHODS = frozenset({"contiguous", "detach", "clone"})
"""Methods of a tensor whose result is where the tensor is."""
_TORCH_EXPORTS = frozenset({"torch.to_dlpack", "torch.utils.dlpack.to_dlpack"})


class HostCommittedImport(Rule):
    """A `from_dlpack` of a host array, which commits the array to the host.

    ## What it does
    Finds `jnp.from_dlpack(x)` and `jax.dlpack.from_dlpack(x)` without a device, and
    `jax.tree.map(jnp.from_dlpack, x)`, if `x` is a NumPy array or a tensor that was just copied to
    the host (`.cpu()`, `.numpy()`), and the host is not the default device.

    ## Why is this bad?
    DLPack shares memory without copying it, so the array is on the CPU. Unlike an array made by
    `jnp.asarray`, it is *committed* to the CPU: `jax.default_device` is ignored, and all
    computations with it, including jitted functions, run on the CPU. Nothing fails and the results
    are right, but the accelerator is idle. Together with an array that is committed to the
    accelerator, the array raises ValueError.

    ## Example
    ```python
    import jax.numpy as jnp
    import numpy as np

    images = np.ones((8, 224, 224, 3), dtype=np.float32)
    batch = jnp.from_dlpack(images)
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    images = np.ones((8, 224, 224, 3), dtype=np.float32)
    batch = jax.device_put(images)
    ```

    Or pass the device: `jnp.from_dlpack(images, device=jax.devices()[0])`. If the work should run
    on the host, write `jax.device_put(images, jax.devices("cpu")[0])`.

    ## Fix safety
    Unsafe: computations with the array then run on the default device, and the array is
    uncommitted, so it follows other operands. No fix for tensors of other libraries, since NumPy
    lacks some of their types.

    ## What it does not flag
    A call that passes a device. Tensors whose device is not known, or that are on an accelerator.
    An array that is put on a device immediately, or later under its name. A call under a default
    device that is the CPU, and programs that only run there.

    ## Verified by
    The proof imports a NumPy array and runs a jitted function on it while another device is the
    default: the result is on the CPU, committed. After the fix it is on the default device.

    ## References
    - emfdavid/insitubatch#88: batches and all training on the CPU, measured on an L4
    - [jax.numpy.from_dlpack](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.from_dlpack.html)
    """

    code, name = "JDP207", "host-committed-import"
    advice = "Put it on the device that is to compute, with `jax.device_put(x, device)`"
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    needs = AnyOf(b"from_dlpack")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        arguments = Arguments(node)
        given = arguments.positional
        if arguments.is_open:
            return
        if ctx.is_call(node, *_IMPORTS):
            if len(given) > 1 or arguments.may_pass(None, "device"):
                return
            imported, operand = node.func, arguments.get(0, "external_array")
        elif ctx.is_call(node, *_MAPS) and len(given) == 2 and ctx.name(given[0]) in _IMPORTS:
            imported, operand = given
        else:
            return
        if operand is None or not _differs_from_default(node, ctx) or is_put(node, ctx):
            return
        held = ctx.flow.value(operand)
        is_host = _is_of_host(held)
        is_numpy = is_host and not _has_tensor(held)
        if not is_host and not _is_on_host(operand, ctx):
            return
        if failure_is_expected(node, ctx) or (_has_tensor(held) and _moves_tensors(ctx)):
            return
        only = not arguments.keywords
        ctx.report(
            node,
            f"{dotted(imported)} commits an array of the host to {_cpu()}: what is computed with "
            "it runs there, whatever the default device",
            confidence=Confidence.DEFINITE if is_numpy else Confidence.LIKELY,
            fix=_convert(imported, node, ctx) if is_numpy and only else None,
        )


def _cpu() -> Device:
    return Device("cpu", 0)


def _differs_from_default(call: cst.Call, ctx: Context) -> bool:
    defaults = ctx.flow.default_devices(call)
    return bool(defaults) and all(
        differ(_cpu(), default, accelerator=ctx.flow.accelerator) is True for default in defaults
    )


def _has_tensor(held: Value) -> bool:
    """Return whether there are tensors of PyTorch in a value, which `jax.device_put` refuses."""
    return any(
        isinstance(atom, values.Host) and atom.is_tensor
        for leaf in contents.leaves_of(held)
        for atom in leaf
    )


def _moves_tensors(ctx: Context) -> bool:
    """Return whether a file says that new tensors are made elsewhere than on the host."""
    calls = ctx.tree.every(cst.Call)
    return any((ctx.called(call) or "").startswith("torch.set_default_") for call in calls)


def _is_of_host(held: Value) -> bool:
    """Return whether a value certainly is an array of the host, or a container of such."""
    for atom in held:
        if isinstance(atom, values.Mapping):
            inner = [*(item for _, item in atom.items), *filter(None, [atom.element])]
        elif isinstance(atom, values.Sequence):
            inner = list(atom.items or [atom.element])
        elif isinstance(atom, values.AnyTree):
            inner = [atom.leaf]
        elif isinstance(atom, values.Host):
            continue
        else:
            return False
        if not inner or not all(map(_is_of_host, inner)):
            return False
    return bool(held)


def _is_on_host(operand: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is a tensor that was brought to the host: `t.detach().cpu()`."""
    seen: set[int] = set()
    while id(operand) not in seen:
        seen.add(id(operand))
        if isinstance(operand, cst.Name):
            bound = ctx.names.sole_value(operand) or bound_before(operand, ctx)
            if not isinstance(bound, cst.BaseExpression):
                return False
            operand = bound
        if not isinstance(operand, cst.Call):
            return False
        if ctx.called(operand) in _TORCH_EXPORTS and operand.args:
            operand = operand.args[0].value
        elif ctx.called(operand) == "torch.from_numpy":
            return True
        elif isinstance(operand.func, cst.Attribute):
            method = operand.func.attr.value
            if method in {"cpu", "numpy"} and not operand.args:
                return True
            if method not in _KEEPING_METHODS:
                return False
            operand = operand.func.value
        else:
            return False
    return False


def _convert(imported: cst.BaseExpression, call: cst.Call, ctx: Context) -> FixPlan | None:
    put = ctx.reach("jax.device_put", at=call)
    if put is None:
        return None

    def build(editor: Editor) -> list[Edit]:
        return [editor.replace(imported, str(put))]

    what = "Put it on the default device, where what is computed with it then runs"
    return FixPlan(Applicability.UNSAFE, what, build, imports=put.imports)
