"""Where an uncommitted array was made, and the fix that commits it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit
from placement_lint.rules.base import FixPlan
from placement_lint.syntax.calls import is_none, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.placement.record import Use
    from placement_lint.placement.values import Array, Origin, Place
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.spelling import Spelling

_MADE_HERE = "made here under a default device, uncommitted"


def report_use(use: Use, ctx: Context, action: str) -> None:
    """Report an array that is copied whole because nothing commits it where it is.

    `action` says what is done to it here, as a noun: "indexing it".
    """
    node = ctx.tree.nodes[use.node]
    devices = sorted({str(array.device) for array in use.moved})
    what = f"`{dotted(node)}`" if dotted(node) else "this array"
    often = " each time" if use.in_loop else ""
    arrays = sorted(use.moved, key=repr)
    origins = _origins(use)
    ctx.report(
        node,
        f"{what} is uncommitted on {' or '.join(devices)}: "
        f"{action} copies all of it to the default device{often}",
        confidence=Confidence.DEFINITE if use.always else Confidence.LIKELY,
        related=[
            (made.tree.nodes[origin.created.node], origin.created.module, _MADE_HERE)
            for origin in origins
            if (made := ctx.beside(origin.created.module)) is not None
        ],
        fix=_commit(arrays, ctx),
    )


def _origins(use: Use) -> list[Origin]:
    found = {array.origin for array in use.moved if array.origin is not None}
    return sorted(found, key=lambda origin: origin.created)


def _commit(arrays: list[Array], ctx: Context) -> FixPlan | None:
    """Put `jax.device_put(…, d)` around the expressions that made the array."""
    targets: dict[Place, tuple[cst.CSTNode, Spelling, str | None]] = {}
    imports: list[Spelling | None] = []
    platforms: dict[Place, str] = {}
    device_nodes: dict[Place, cst.CSTNode] = {}
    level = Applicability.SAFE
    origins: list[Origin] = []
    for array in arrays:
        origin = array.origin
        if origin is None or origin.device is None or ctx.flow.may_clash(array):
            return None
        if ctx.flow.may_escape(array) or ctx.flow.is_replaced(array):
            level = Applicability.UNSAFE
        origins.append(origin)
        there = ctx.beside(origin.commit_at.module)
        if there is None or origin.device.module != origin.commit_at.module:
            return None
        made, device = there.tree.nodes[origin.commit_at.node], there.tree.nodes[origin.device.node]
        put = there.reach("jax.device_put", at=made)
        if put is None or not _is_expression(made):
            return None
        platform = string_value(device)
        devices = None if platform is None else there.reach("jax.devices", at=made)
        if is_none(device) or (platform is not None and devices is None):
            # None stands for a device, and commits to none.
            return None
        if not _is_visible(device, made, there):
            return None
        if not is_repeatable(device, there):
            level = Applicability.UNSAFE
        imports += [put, devices]
        targets[origin.commit_at] = (made, put, None if platform is None else f"{devices}")
        platforms[origin.commit_at] = platform or ""
        device_nodes[origin.commit_at] = device

    def build(editor: Editor) -> list[Edit] | None:
        edits: list[Edit] = []
        for origin in origins:
            made, put, devices = targets[origin.commit_at]
            there = editor.of(origin.commit_at.module)
            if not there.spans.exact:
                return None
            if devices is None:
                text = there.text(device_nodes[origin.commit_at])
            else:
                text = f"{devices}({there.string(platforms[origin.commit_at], made)})[0]"
            before, after = there.wrap(made, f"{put}(", f", {text})")
            if before not in edits:
                edits += (before, after)
        return edits

    return FixPlan(level, "Commit the array where it is made", build, imports=needed(imports))


def _is_visible(device: cst.CSTNode, made: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether the names in an expression mean the same where an array is made."""
    for node in (device, *ctx.tree.descendants(device)):
        if isinstance(node, cst.Name):
            here = ctx.names.owner(node.value, ctx.names.scope(device))
            if here is not ctx.names.owner(node.value, ctx.names.scope(made)):
                return False
    return True


def _is_expression(node: cst.CSTNode) -> bool:
    """Tell whether a call can be put around a node."""
    return isinstance(node, cst.BaseExpression) and not isinstance(
        node, cst.GeneratorExp | cst.Yield | cst.StarredElement
    )


def is_repeatable(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether an expression may be written twice: evaluating it again gives the same."""
    while isinstance(node, cst.Subscript | cst.Attribute):
        if isinstance(node, cst.Subscript):
            part = node.slice[0].slice
            if not isinstance(part, cst.Index) or not isinstance(part.value, cst.Integer):
                return False
        node = node.value
    if isinstance(node, cst.Call):
        arguments = [argument.value for argument in node.args]
        return ctx.is_call(node, "jax.devices", "jax.local_devices") and all(
            isinstance(argument, cst.SimpleString) for argument in arguments
        )
    return isinstance(node, cst.Name | cst.SimpleString)
