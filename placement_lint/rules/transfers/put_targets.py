"""Where an array is put: surely not on the default device, or spread over several devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import values
from placement_lint.placement.domain.devices import differ, is_host
from placement_lint.placement.domain.sharding import Sharding, Spec
from placement_lint.semantic.enclosing import ancestors_in_function
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.written_shardings import splits_nothing
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import (
    INITIALIZERS,
    class_of_method,
    class_of_receiver,
    parameter_named,
)
from placement_lint.syntax.guards import is_main_guard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.devices import Device
    from placement_lint.rules.context import Context

_OF_DEVICES = re.compile(
    r"accel|avail|backend|cpu|cuda|device|gpu|platform|rocm|tpu", re.IGNORECASE
)
# Of a parameter of which nothing else is known, its name is what there is to go by.
_SHARDINGS = re.compile(r"^(?!.*(?:repl|single)).*shardings?$", re.IGNORECASE)
_MOST_BINDINGS = 8
"""Assignments to one name between which it is looked for what chooses."""


def is_elsewhere(
    target: cst.BaseExpression, made: cst.Call, ctx: Context, there: Context | None = None
) -> bool:
    """Return whether a target surely is not the default device where an array is made, and that is
    not the host: what is made there to be put elsewhere takes no memory of another device.

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
    if not devices or len(devices) != len(held) or _is_made_on_host(made, there):
        return False
    return differ_from_default(devices, made, there)


def _is_made_on_host(made: cst.Call, ctx: Context) -> bool:
    """Return whether somebody has an array made on the host: then it is staged there on purpose."""
    defaults = ctx.flow.default_devices(made)
    return bool(defaults) and all(map(is_host, defaults))


def is_host_sometimes(
    target: cst.BaseExpression, made: cst.Call, ctx: Context, there: Context
) -> bool:
    """Return whether a target is the host for some calls, and another known device for others.

    What its own function chooses, or a call of the function in this file passes. `there`: the file
    in which the array is made, if that is another one.
    """
    held = ctx.flow.value(target)
    devices = [atom.device for atom in held if isinstance(atom, values.TheDevice)]
    if len(devices) != len(held) or None in devices:
        return False
    on_host = [each for each in devices if each is not None and each.platform == "cpu"]
    if not on_host or not differ_from_default(on_host, made, there):
        return False
    if there is not ctx or not _runs_in_any_case(made, ctx) or not _runs_in_any_case(target, ctx):
        return False
    if isinstance(target, cst.Attribute):
        given = own_attribute(target, ctx)
        target = target if given is None else given
    parameter = parameter_named(target, ctx.names)
    if parameter is not None:
        return _is_passed_host(parameter, ctx)
    if isinstance(target, cst.Name):
        scope = ctx.names.scope(target)
        bindings = [*ctx.names.bindings(target)]
        return len(bindings) <= _MOST_BINDINGS and all(
            ctx.names.scope(each.node) is scope
            and each.value is not None
            and _is_free(each.value, ctx)
            for each in bindings
        )
    return isinstance(target, cst.IfExp) and _is_free(target, ctx)


def _is_free(chosen: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a choice of a device surely does not depend on which devices there are.

    Without an accelerator, the host is the default device.
    """
    tests: list[cst.BaseExpression] = []
    for child, around in ancestors_in_function(chosen, ctx):
        if isinstance(around, cst.Try | cst.TryStar | cst.Match | cst.With):
            return False
        if isinstance(around, cst.If) and child is not around.test:
            tests.append(around.test)
    for each in (chosen, *ctx.tree.descendants(chosen)):
        if isinstance(each, cst.IfExp):
            tests.append(each.test)
        elif isinstance(each, cst.BooleanOperation):
            return False
    if isinstance(chosen, cst.Call):
        return False
    return not any(_asks_for_devices(test, ctx) for test in tests)


def _asks_for_devices(test: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a condition calls anything, or has words about devices in it."""
    parts = [test, *ctx.tree.every(cst.Name, below=test)]
    whole = [*parts, *(followed(each, ctx) for each in parts if isinstance(each, cst.Name))]
    return any(
        isinstance(each, cst.Call)
        or next(ctx.tree.every(cst.Call, below=each), None) is not None
        or any(
            _OF_DEVICES.search(text.value)
            for text in (each, *ctx.tree.every(cst.Name, cst.SimpleString, below=each))
            if isinstance(text, cst.Name | cst.SimpleString)
        )
        for each in whole
    )


def _is_passed_host(parameter: cst.Param, ctx: Context) -> bool:
    """Return whether a call in this file passes the host for a parameter of a function or of the
    initializer of a class.
    """
    function = ctx.tree.around(parameter, cst.FunctionDef)
    names = [] if function is None else [each.name.value for each in function.params.params]
    if function is None or parameter.name.value not in names:
        return False
    called, place = function.name.value, names.index(parameter.name.value)
    of: cst.FunctionDef | cst.ClassDef = function
    cls = class_of_method(function, ctx.names)
    if cls is not None:
        if called not in INITIALIZERS:
            return False
        of, place = cls, place - 1
    calls = (ctx.parent(use) for use in ctx.names.uses(of.name.value, ctx.names.scope(of)))
    passed = (
        Arguments(call).get(place, parameter.name.value)
        for call in calls
        if isinstance(call, cst.Call) and _runs_in_any_case(call, ctx)
    )
    held = (ctx.flow.value(each) for each in passed if each is not None)
    return any(each and all(map(_is_host, each)) for each in held)


def _is_host(atom: values.Atom) -> bool:
    device = atom.device if isinstance(atom, values.TheDevice) else None
    return device is not None and device.platform == "cpu"


def _runs_in_any_case(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether no condition in its function decides whether a node is executed.

    What chose the device may be asked again, to make the array in another way for the host.
    """
    deciding = (cst.If, cst.IfExp, cst.Match, cst.Try, cst.While, cst.BooleanOperation)
    if any(
        isinstance(each, deciding) and not (isinstance(each, cst.If) and is_main_guard(each.test))
        for _, each in ancestors_in_function(node, ctx)
    ):
        return False
    place, function = ctx.tree.index(node), ctx.function(node)
    leaving = ctx.tree.every(cst.Break, cst.Continue, cst.Raise, cst.Return, below=function)
    return not any(
        ctx.tree.index(each) < place and ctx.function(each) is function
        for each in leaving
        if any(isinstance(around, deciding) for _, around in ancestors_in_function(each, ctx))
    )


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
        return _SHARDINGS.search(name) is not None and not splits_nothing(choice, ctx.names)
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
