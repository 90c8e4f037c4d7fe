"""What code asks JAX about devices: which list, of which platform, and where the CPU is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, is_none, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

# The position of the parameter `backend`.
_LISTS = {"jax.devices": 0, "jax.local_devices": 1}
_GIVING_LISTS = frozenset({"devices", "local_devices"})


def lists_default_backend(node: cst.CSTNode | None, ctx: Context) -> bool:
    """Return whether an expression is `jax.devices()` or `jax.local_devices()` of no backend."""
    position = _LISTS.get(ctx.called(node) or "")
    if position is None or not isinstance(node, cst.Call):
        return False
    arguments = Arguments(node)
    backend = arguments.get(position, "backend")
    return not arguments.is_open and (backend is None or is_none(backend))


def is_set_otherwise(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an attribute may be something else than the interpreter has seen there.

    Code of the program sets it to something else, or on an object of which nothing is known: that
    may be in a function that nobody calls.
    """
    from placement_lint.placement.domain.values import NONE, Anything

    if not isinstance(node, cst.Attribute):
        return False
    seen = ctx.flow.value(node) | NONE
    for path, facts in ctx.module.siblings.items():
        there = ctx.beside(path)
        for target in facts.fact(set_attributes).get(node.attr.value, ()):
            on = None if there is None else there.flow.value(target.value)
            if there is None or not on or any(isinstance(atom, Anything) for atom in on):
                return True
            if not there.flow.value(target) <= seen:
                return True
    return False


def set_attributes(facts: ModuleFacts) -> dict[str, list[cst.Attribute]]:
    """Return the attributes that a file assigns, by their names."""
    found: dict[str, list[cst.Attribute]] = {}
    for each in facts.tree.every(cst.AssignTarget, cst.AnnAssign, cst.AugAssign):
        parts = (each.target, *facts.tree.every(cst.Attribute, below=each.target))
        for part in parts:
            if isinstance(part, cst.Attribute):
                found.setdefault(part.attr.value, []).append(part)
    return found


def texts_seen(node: cst.BaseExpression, ctx: Context) -> list[str]:
    """Return the texts that an expression may be, wherever they come from; none, where it may be
    anything else.
    """
    from placement_lint.placement.domain.values import Plain

    if not isinstance(node, cst.Attribute | cst.Name | cst.Subscript):
        return []
    held = ctx.flow.value(node)
    texts = {atom.text for atom in held if isinstance(atom, Plain)}
    found = sorted(text for text in texts if text is not None)
    return [] if len(found) < len(held) or is_set_otherwise(node, ctx) else found


def gives_default_devices(node: cst.BaseExpression, ctx: Context) -> str | None:
    """Return which call lists the devices of the default backend that an expression is, wherever
    the list comes from; None: it may be something else.
    """
    from placement_lint.placement.domain.library_values import DeviceList
    from placement_lint.placement.domain.mesh_devices import EVERY

    if not ctx.may_say(_GIVING_LISTS):
        return None
    held = ctx.flow.value(node)
    lists = [atom for atom in held if isinstance(atom, DeviceList)]
    if not lists or len(lists) < len(held):
        return None
    if any(each.platform is not None or each.part != EVERY for each in lists):
        return None
    if is_set_otherwise(node, ctx):
        return None
    return "jax.local_devices" if all(each.is_local for each in lists) else "jax.devices"


def listed_platform(node: cst.CSTNode | None, ctx: Context) -> str | None:
    """Return the platform that `jax.devices("gpu")` or `jax.local_devices(backend="gpu")` names."""
    asked = listed_argument(node, ctx)
    return None if asked is None else string_value(followed(asked, ctx))


def listed_argument(node: cst.CSTNode | None, ctx: Context) -> cst.BaseExpression | None:
    """Return the argument of `jax.devices` or `jax.local_devices` that names a platform."""
    position = _LISTS.get(ctx.called(node) or "")
    if position is None or not isinstance(node, cst.Call):
        return None
    return Arguments(node).get(position, "backend")


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
    return not facts.accelerator or facts.pins_cpu
