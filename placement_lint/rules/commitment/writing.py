"""How a commitment is written: calls around what makes arrays, and around what is taken of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability
from placement_lint.placement.domain.consequences import Consequence
from placement_lint.placement.domain.devices import is_host
from placement_lint.semantic.enclosing import may_be_bound
from placement_lint.syntax.calls import is_none, string_value
from placement_lint.syntax.spelling import Spelling, needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.findings import Edit
    from placement_lint.placement.counterfactual.commitments import Commitment
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import (
        Taking,
    )
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.spelling import Needed


def level_of_binding(
    operand: cst.BaseExpression | None, call: cst.Call, ctx: Context
) -> Applicability | None:
    """Return how safe it is to bind the result of a call to its operand; None: it cannot be."""
    if isinstance(operand, cst.Name):
        scope = ctx.names.scope(call)
        # Elsewhere it would make another, local variable of it.
        is_own = ctx.names.owner(operand.value, scope) is scope
        if not is_own or not may_be_bound(operand, call, ctx):
            return None
        # Otherwise nothing would be gained, and the finding would be gone.
        return Applicability.SAFE if _may_be_read(operand, call, ctx) else None
    if isinstance(operand, cst.Attribute | cst.Subscript):
        return Applicability.UNSAFE
    return None


def _may_be_read(operand: cst.Name, call: cst.Call, ctx: Context) -> bool:
    """Return whether a variable may be read after a call: a later line, the next iteration of a
    loop that does not bind it, another function, or another file.
    """
    scope = ctx.names.scope(call)
    if not isinstance(scope.node, cst.FunctionDef):
        return True
    first = ctx.tree.index(call)
    loops = [
        each
        for each in ctx.ancestors(call)
        if isinstance(each, cst.For | cst.While) and ctx.names.scope(each) is scope
    ]
    bound = (n for n, each in enumerate(loops) if _is_target(operand.value, each, ctx))
    repeating = loops[: next(bound, len(loops))]
    for use in ctx.names.uses(operand.value, scope):
        if isinstance(ctx.parent(use), cst.AssignTarget | cst.Del) or ctx.tree.is_inside(use, call):
            continue
        if (
            ctx.tree.index(use) > first
            or ctx.names.scope(use) is not scope
            or any(ctx.tree.is_inside(use, each) for each in repeating)
        ):
            return True
    return False


def _is_target(name: str, loop: cst.For | cst.While, ctx: Context) -> bool:
    if not isinstance(loop, cst.For):
        return False
    targets = (loop.target, *ctx.tree.descendants(loop.target))
    return any(isinstance(each, cst.Name) and each.value == name for each in targets)


@dataclass(frozen=True)
class DeviceText:
    """How a device is written at a place."""

    node: cst.CSTNode
    """The expression that names it elsewhere."""
    devices: Spelling | None = None
    """`jax.devices`, where that expression names a platform, of which the first device is meant."""

    def at(self, place: cst.CSTNode, editor: Editor) -> str:
        platform = string_value(self.node)
        if platform is None:
            return editor.text(self.node)
        return f"{self.devices}({editor.string(platform, place)})[0]"


@dataclass(frozen=True)
class Around:
    """Calls that are to be written around an expression, the outermost first."""

    module: str
    node: cst.CSTNode
    functions: tuple[Spelling, ...]
    first: Spelling | None = None
    """What the outermost is given before the expression."""
    last: DeviceText | None = None
    """What it is given after it."""


def device_at(named: cst.CSTNode, at: cst.CSTNode, ctx: Context) -> DeviceText | None:
    """Return how a device that an expression names is written at a node; None where it
    cannot be.
    """
    platform = string_value(named)
    devices = None if platform is None else ctx.reach("jax.devices", at=at)
    if is_none(named) or (platform is not None and devices is None):
        # None stands for a device, and commits to none.
        return None
    for node in (named, *ctx.tree.descendants(named)):
        if isinstance(node, cst.Name):
            here = ctx.names.owner(node.value, ctx.names.scope(named))
            if here is not ctx.names.owner(node.value, ctx.names.scope(at)):
                return None
    return DeviceText(named, devices)


def is_repeatable(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an expression may be written twice: evaluating it again gives the same."""
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


def put_back(commitment: Commitment, ctx: Context) -> list[Around] | None:
    """Return what puts parts of arrays back on the default device; None where it cannot be written.

    `jax.device_put(jax.device_get(part))` is an uncommitted array there, whatever it is of, and
    leaves a tracer as it is (measured on JAX 0.4.30 to 0.12).
    """
    found: list[Around] = []
    for taking in sorted(commitment.put_back):
        there = ctx.beside(taking.place.module)
        around = None if there is None else _put_back(taking, there)
        if around is None:
            return None
        found += around
    return found


def _put_back(taking: Taking, ctx: Context) -> list[Around] | None:
    node = ctx.tree.nodes[taking.place.node]
    module = taking.place.module
    put = ctx.reach("jax.device_put", at=node)
    get = ctx.reach("jax.device_get", at=node)
    parent = ctx.parent(node)
    if put is None or get is None:
        return None
    if not taking.iterated:
        if isinstance(parent, cst.AugAssign) and parent.target is node:
            return None
        return [Around(module, node, (put, get))]
    from placement_lint.syntax.names import Known

    if ctx.names.lookup("map", ctx.names.scope(node)) != Known("builtins.map"):
        return None
    mapping = Spelling("map")
    call = ctx.parent(parent) if isinstance(parent, cst.Arg) else None
    if ctx.is_call(call, "builtins.reversed") and call is not None:
        # That takes no iterator, but NumPy's array.
        return [Around(module, call, (mapping,), first=put), Around(module, node, (get,))]
    return [Around(module, node, (mapping, get), first=put)]


def effects(commitment: Commitment) -> str:
    """Return what else a commitment does, as the end of a sentence."""
    text = ", and put back what is taken from it" if commitment.put_back else ""
    if Consequence.RETYPED in commitment.consequences:
        text += ", which may have another type then"
    places = sorted({_words(target.device) for target in commitment.committed.values()})
    where = " or ".join(places)
    if Consequence.MOVED in commitment.consequences:
        return f"{text}: what is computed with it then runs on {where}"
    if Consequence.UNSEEN in commitment.consequences:
        return (
            f"{text}: computations that are not seen here may then run on {where}, or raise where "
            "another operand is committed elsewhere"
        )
    return text


def _words(device: Device | None) -> str:
    return "the host" if is_host(device) else str(device)


def imports_of(calls: Sequence[Around]) -> tuple[Needed, ...]:
    spellings: list[Spelling | None] = []
    for call in calls:
        last = None if call.last is None else call.last.devices
        spellings += [*call.functions, call.first, last]
    return needed(spellings)


def written(calls: Sequence[Around], editor: Editor) -> list[Edit] | None:
    """Return the edits that write some calls, of those around one expression the first
    outermost.
    """
    placed: list[tuple[int, int, int, Around, Editor]] = []
    for order, call in enumerate(calls):
        there = editor.of(call.module)
        if not there.spans.exact:
            return None
        start, end = there.spans.inner(call.node)
        placed.append((start, -end, order, call, there))
    placed.sort(key=lambda each: each[:3])
    inserted: dict[tuple[str, int], str] = {}
    for start, _, _, call, _ in placed:
        before = "".join(f"{function}(" for function in call.functions)
        if call.first is not None:
            outer = f"{call.functions[0]}("
            before = f"{outer}{call.first}, {before.removeprefix(outer)}"
        key = (call.module, start)
        inserted[key] = inserted.get(key, "") + before
    for _, end, _, call, there in reversed(placed):
        last = "" if call.last is None else f", {call.last.at(call.node, there)}"
        key = (call.module, -end)
        inserted[key] = inserted.get(key, "") + f"{')' * (len(call.functions) - 1)}{last})"
    # One edit for each place: the same text twice is not one edit that two fixes have in common.
    return [editor.of(path).insert(at, text) for (path, at), text in inserted.items()]
