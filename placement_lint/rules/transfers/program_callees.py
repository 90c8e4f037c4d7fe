"""Functions and methods of the program that a call runs, of whatever file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.contents import function_place
from placement_lint.semantic.object_classes import called_method
from placement_lint.syntax.definitions import class_of_method, function_of, is_static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom
    from placement_lint.rules.context import Context

_MOST = 8
"""Functions that one call may run."""


@dataclass(frozen=True)
class Callee:
    """A function that a call runs."""

    function: cst.FunctionDef
    there: Context
    """Its file."""
    cls: Place | None = None
    """The class of the object whose method it is, where that is known."""
    is_unbound: bool = False
    """Its class is asked for it, so that its object is an argument: `Trainer.step(trainer, x)`."""

    def by_parameter(self, call: cst.Call) -> Iterator[tuple[str, cst.BaseExpression]]:
        """Yield the arguments of a call of it without stars, by the parameters that get them."""
        parameters = self.function.params
        names = [each.name.value for each in (*parameters.posonly_params, *parameters.params)]
        keywords = {each.name.value for each in (*parameters.params, *parameters.kwonly_params)}
        is_method = class_of_method(self.function, self.there.names) is not None
        if is_method and not (self.is_unbound or is_static(self.function, self.there.names)):
            names = names[1:]
        for position, argument in enumerate(call.args):
            keyword = None if argument.keyword is None else argument.keyword.value
            if keyword is None and position < len(names):
                yield names[position], argument.value
            elif keyword in keywords:
                yield keyword, argument.value


def program_callees(call: cst.Call, ctx: Context) -> list[Callee]:
    """Return the functions one of which a call surely runs, as they are written: they are neither
    decorated nor asynchronous. None where it may run something else.
    """
    if not isinstance(call.func, cst.Attribute | cst.Name):
        return []
    own = function_of(call.func, ctx.names) or called_method(call.func, ctx)
    if own is not None:
        found = [Callee(own, ctx)] if isinstance(own, cst.FunctionDef) else []
    else:
        found = _by_value(call, ctx)
    return [] if any(not _runs_as_written(each) for each in found) else found


def is_drawn(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a loop draws what is called, or its object: each iteration has another one."""
    drawn = function.value if isinstance(function, cst.Attribute) else function
    return isinstance(drawn, cst.Name) and any(
        isinstance(each.node, cst.For | cst.CompFor) for each in ctx.names.bindings(drawn)
    )


def _runs_as_written(callee: Callee) -> bool:
    function, names = callee.function, callee.there.names
    is_plain = not function.decorators or is_static(function, names)
    return is_plain and function.asynchronous is None


def _by_value(call: cst.Call, ctx: Context) -> list[Callee]:
    if not ctx.module.has_siblings and ctx.name(call.func) is not None:
        return []
    held = ctx.flow.value(call.func) - values.NONE
    found: dict[tuple[Place, Place | None], Callee] = {}
    for atom in sorted(held, key=repr) if len(held) <= _MOST else ():
        placed = _place_of(atom, ctx)
        written = None if placed is None else ctx.function_at(placed[0])
        if written is None or placed is None:
            return []
        is_unbound = isinstance(atom, program_values.Function)
        found[placed] = Callee(*written, placed[1], is_unbound=is_unbound)
    return [*found.values()] if len(found) <= _MOST else []


def _place_of(atom: Atom, ctx: Context) -> tuple[Place, Place | None] | None:
    """Return which function calling a value runs, and of which class its object is: a method of
    anything but an object of the program is none.
    """
    cls: Place | None = None
    place = function_place(atom)
    if isinstance(atom, program_values.Instance):
        cls = atom.cls
        place = ctx.flow.program.classes.method(cls, "__call__")
    elif isinstance(atom, values.Method):
        if not isinstance(atom.receiver, program_values.Instance):
            return None
        cls = atom.receiver.cls
    return None if place is None else (place, cls)
