"""Where an array is put: surely not on the default device, or spread over several devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import values
from placement_lint.placement.domain.devices import differ
from placement_lint.placement.domain.sharding import Sharding, Spec
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import class_of_receiver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.devices import Device
    from placement_lint.rules.context import Context

# Of a parameter of which nothing else is known, its name is what there is to go by.
_SHARDINGS = re.compile(r"^(?!.*(?:repl|single)).*shardings?$", re.IGNORECASE)


def is_elsewhere(
    target: cst.BaseExpression, made: cst.Call, ctx: Context, there: Context | None = None
) -> bool:
    """Return whether a target surely is not the default device where an array is made.

    `there`: the file in which it is made, if that is another one.
    """
    there = there or ctx
    choice = followed(target, ctx)
    if isinstance(choice, cst.IfExp):
        return all(is_elsewhere(each, made, ctx, there) for each in (choice.body, choice.orelse))
    held = ctx.flow.value(target)
    if is_sharding(target, ctx):
        # Of what stays whole, the part of the first device is the array that was made there.
        is_split = not any(_is_whole(each) for each in held)
        return is_split and there.flow.runs_on_system_default(made)
    devices = [atom.device for atom in held if isinstance(atom, values.TheDevice)]
    is_device = bool(devices) and len(devices) == len(held)
    return is_device and differ_from_default(devices, made, there)


def differ_from_default(devices: Iterable[Device | None], made: cst.Call, ctx: Context) -> bool:
    """Return whether none of some devices is the default one where an array is made."""
    defaults = ctx.flow.default_devices(made)
    return bool(defaults) and all(
        differ(device, default, accelerator=ctx.flow.accelerator) is True
        for device in devices
        for default in defaults
    )


def is_sharding(target: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a target spreads an array over devices: it is one, or is called so.

    `shardings[key]`, `shardings.get(key)` and `self.sharding` are called so as well.
    """
    choice = followed(target, ctx)
    if isinstance(choice, cst.IfExp):
        return all(is_sharding(each, ctx) for each in (choice.body, choice.orelse))
    held = ctx.flow.value(target)
    name = _named(target, ctx)
    if name is not None and held == values.UNKNOWN:
        return _SHARDINGS.search(name) is not None
    return bool(held) and all(isinstance(atom, Sharding | Spec) for atom in held)


def _named(target: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the name of a variable, or of an attribute of the object whose method it is."""
    if isinstance(target, cst.Subscript):
        target = target.value
    elif (
        isinstance(target, cst.Call)
        and isinstance(target.func, cst.Attribute)
        and target.func.attr.value == "get"
        and len(Arguments(target).values) == 1
    ):
        target = target.func.value
    if isinstance(target, cst.Attribute) and class_of_receiver(target.value, ctx.names):
        return target.attr.value
    return target.value if isinstance(target, cst.Name) else None


def _is_whole(target: values.Atom) -> bool:
    """Return whether a sharding surely splits nothing."""
    if isinstance(target, Sharding):
        return target.replicated
    return isinstance(target, Spec) and target.is_whole
