"""What code asks JAX about devices: which list, of which platform, and where the CPU is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.facts.cpu_pin import pins_cpu
from placement_lint.syntax.calls import Arguments, is_none, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

# The position of the parameter `backend`.
_LISTS = {"jax.devices": 0, "jax.local_devices": 1}
_NAME_HOPS = 4


def lists_default_backend(node: cst.CSTNode | None, ctx: Context) -> bool:
    """Return whether an expression is `jax.devices()` or `jax.local_devices()` of no backend."""
    position = _LISTS.get(ctx.called(node) or "")
    if position is None or not isinstance(node, cst.Call):
        return False
    arguments = Arguments(node)
    backend = arguments.get(position, "backend")
    return not arguments.is_open and (backend is None or is_none(backend))


def listed_platform(node: cst.CSTNode | None, ctx: Context) -> str | None:
    """Return the platform that `jax.devices("gpu")` or `jax.local_devices(backend="gpu")` names."""
    position = _LISTS.get(ctx.called(node) or "")
    if position is None or not isinstance(node, cst.Call):
        return None
    return string_value(Arguments(node).get(position, "backend"))


def assigned_value(node: cst.CSTNode, ctx: Context) -> cst.BaseExpression | None:
    """Return what a name is bound to, where it is bound once, by an assignment.

    That may be one of several values: `rows, columns = 8, 64`.
    """
    if not isinstance(node, cst.Name):
        return None
    bindings = ctx.names.bindings(node)
    if len(bindings) != 1:
        return None
    bound = bindings[0].node
    if bindings[0].value is None and isinstance(bound, cst.Assign):
        known = ctx.module.fact(_unpacked)
        if id(bound) not in known:
            known[id(bound)] = {
                name: value
                for each in bound.targets
                for name, value in _parts(each.target, bound.value)
            }
        return known[id(bound)].get(node.value)
    return bindings[0].value


def _unpacked(_facts: ModuleFacts) -> dict[int, dict[str, cst.BaseExpression]]:
    """Make the store of one file: what an unpacking binds each name to, by assignment."""
    return {}


def _parts(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield the names in a target, each with the part of the value that is assigned to it."""
    if isinstance(target, cst.Name):
        yield target.value, value
    elif isinstance(target, cst.Tuple | cst.List) and isinstance(value, cst.Tuple | cst.List):
        parts = (*target.elements, *value.elements)
        if len(target.elements) == len(value.elements) and not any(
            isinstance(part, cst.StarredElement) for part in parts
        ):
            for each, part in zip(target.elements, value.elements, strict=True):
                yield from _parts(each.value, part.value)


def followed(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression:
    """Return what a name stands for, through a few names that are bound once."""
    for _ in range(_NAME_HOPS):
        value = assigned_value(node, ctx)
        if value is None:
            break
        node = value
    return node


def names_device(node: cst.BaseExpression, ctx: Context) -> bool:
    """Whether an expression certainly is one device: `jax.devices()[0]`, or a name for it."""
    node = followed(node, ctx)
    if not isinstance(node, cst.Subscript) or isinstance(node.slice[0].slice, cst.Slice):
        return False
    return ctx.called(followed(node.value, ctx)) in _LISTS


def is_cpu_device(node: cst.BaseExpression, ctx: Context) -> bool:
    """Whether an expression is surely a CPU device: `jax.devices("cpu")[0]`, a name for it."""
    node = followed(node, ctx)
    if string_value(node) == "cpu":
        return True
    return isinstance(node, cst.Subscript) and listed_platform(node.value, ctx) == "cpu"


def in_host_block(node: cst.CSTNode, ctx: Context) -> bool:
    """Whether the innermost `with jax.default_device(…)` around a node surely sets the CPU."""
    for item in ctx.with_items(node):
        if ctx.is_call(item.item, "jax.default_device") and isinstance(item.item, cst.Call):
            device = Arguments(item.item).get(0, "new_val")
            return device is not None and is_cpu_device(device, ctx)
    return False


def is_pinned_to_cpu(facts: ModuleFacts) -> bool:
    """Return whether the CPU is the default backend: by the settings, or pinned by the file."""
    return not facts.accelerator or facts.fact(_pins_cpu)


def _pins_cpu(facts: ModuleFacts) -> bool:
    return pins_cpu(facts.tree, facts.names)
