"""Arguments that functions of the program hand on to compiled ones, and do nothing else with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.devices.queries import in_host_block
from placement_lint.rules.transfers.jitted_calls import jitted, jitted_attribute, jitted_elsewhere
from placement_lint.rules.transfers.numpy_values import only_reads
from placement_lint.rules.transfers.program_callees import Callee, program_callees
from placement_lint.semantic.followed import followed
from placement_lint.semantic.host_reads import is_unconditional
from placement_lint.semantic.own_attributes import is_set_by_class
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.semantic.written_tables import choices, taken_from
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import (
    PARTIAL,
    assigned_by,
    class_of_receiver,
    method_of_class,
    parameter_named,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.jitted_calls import Jitted
    from placement_lint.semantic.model import ModuleFacts

_CHANGING = frozenset({"setdefault", "update"})
"""Methods of dicts that set items."""
_MOST_WRAPPERS = 2
"""Functions that hand an argument on to one another before the compiled one."""


def handed_to_compiled(
    call: cst.Call, ctx: Context, wrappers: int = _MOST_WRAPPERS
) -> list[cst.BaseExpression]:
    """Return the arguments of a call that surely each time go to a compiled function which takes
    them where they are: the function itself, or those of the program that hand them on.
    """
    compiled = jitted(call.func, ctx) or jitted_elsewhere(call.func, ctx)
    if compiled is not None:
        return _taken_by(compiled, call)
    if any(argument.star for argument in call.args):
        return []
    if _takes_every(call.func, ctx):
        return [argument.value for argument in call.args]
    callees = program_callees(call, ctx) if wrappers else []
    given = [
        {id(value): value for name, value in each.by_parameter(call) if name in handed}
        for each in callees
        for handed in [_handed_on(each, wrappers - 1)]
    ]
    if not given:
        return []
    return [value for key, value in given[0].items() if all(key in each for each in given)]


def _takes_every(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether all that may be called are compiled functions without static parameters: the
    items of a table that is written out, or what `functools.partial` bound arguments of.
    """
    taken = taken_from(function)
    if taken is not None:
        given = [each for each, _ in choices(function, ctx)] if _is_filled(taken[0], ctx) else []
    else:
        bound = followed(function, ctx)
        is_partial = isinstance(bound, cst.Call) and ctx.called(bound) == PARTIAL
        inner = Arguments(bound).get(0, "func") if isinstance(bound, cst.Call) else None
        given = [inner] if is_partial and inner is not None else []
    every = [jitted(each, ctx) for each in given]
    return bool(every) and all(
        each is not None and not each.is_placed and each.static == frozenset() for each in every
    )


def _is_filled(table: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether the items of a table are those that it was made with."""
    is_changed = _last_name(table) in ctx.module.fact(_changed_tables)
    return not is_changed and isinstance(followed(table, ctx), cst.Dict)


def _changed_tables(facts: ModuleFacts) -> set[str]:
    """Return the names and attributes of which a file sets items, or calls what may do so."""
    found: set[str] = set()
    for node in facts.tree.every(cst.Attribute, cst.Subscript):
        is_item = isinstance(node, cst.Subscript) and assigned_by(node, facts.tree) is not None
        is_change = isinstance(node, cst.Attribute) and node.attr.value in _CHANGING
        if is_item or is_change:
            found.add(_last_name(node.value))
    return found


def _last_name(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else dotted(node)


def _taken_by(compiled: Jitted, call: cst.Call) -> list[cst.BaseExpression]:
    return [] if compiled.is_placed else compiled.traced_arguments(call)


def _handed_on(callee: Callee, wrappers: int) -> frozenset[str]:
    """Return the parameters that a function only hands on, and does so whenever it is called."""
    known = callee.there.module.fact(_known)
    key = (id(callee.function), callee.cls, wrappers)
    if key not in known:
        # What leads back to it while it is looked at hands nothing on.
        known[key] = frozenset()
        known[key] = _found(callee, wrappers)
    return known[key]


def _known(_facts: ModuleFacts) -> dict[tuple[int, Place | None, int], frozenset[str]]:
    """Make the store of one file: which parameters each function hands on."""
    return {}


def _found(callee: Callee, wrappers: int) -> frozenset[str]:
    function, there = callee.function, callee.there
    if there.module.fact(TracedFunctions).is_traced(function.body):
        return frozenset()
    handed: set[str] = set()
    taken: set[int] = set()
    for call in there.tree.every(cst.Call, below=function.body):
        if there.function(call) is not function:
            continue
        values = _taken_of_object(call, callee)
        if values is None:
            values = handed_to_compiled(call, there, wrappers)
        taken.update(map(id, values))
        if is_unconditional(call, there) and not in_host_block(call, there):
            names = (each for each in values if parameter_named(each, there.names) is not None)
            handed |= {each.value for each in names if isinstance(each, cst.Name)}
    return frozenset(
        name
        for name in handed
        if all(
            id(use) in taken or only_reads(use, there)
            for use in there.names.uses(name, there.names.scope(function.body))
        )
    )


def _taken_of_object(call: cst.Call, callee: Callee) -> list[cst.BaseExpression] | None:
    """Return what `self.step` takes that the class of the object sets, which may be a derived one;
    None where it sets none.
    """
    cls, there = callee.there.node_at(callee.cls) or (None, callee.there)
    func = call.func
    if not isinstance(cls, cst.ClassDef) or not isinstance(func, cst.Attribute):
        return None
    if class_of_receiver(func.value, callee.there.names) is None:
        return None
    name = func.attr.value
    is_method = method_of_class(cls, name, there.names) is not None
    if is_method or not is_set_by_class(cls, name, there):
        return None
    compiled = jitted_attribute(cls, name, there)
    return [] if compiled is None else _taken_by(compiled, call)
