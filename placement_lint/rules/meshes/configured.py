"""Numbers that a program keeps in an object of settings: a dataclass of which fields are set once.

The values of the interpreter know no numbers: loops would never end. Here one is read off where the
object is made, `Config(heads=6)`, or off the default of its field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_DATACLASSES = frozenset({
    "attrs.define", "attrs.frozen", "chex.dataclass", "dataclasses.dataclass",
    "flax.struct.dataclass",
})  # fmt: skip


def whole_number(node: cst.BaseExpression, ctx: Context) -> int | None:
    """Return the whole number that an expression is; None where that is not known."""
    node = followed(node, ctx)
    number = integer_value(node)
    if number is not None or not isinstance(node, cst.Attribute):
        return number
    given = _field(node, ctx)
    if given is None:
        return None
    expression, there = given
    return integer_value(followed(expression, there))


def _field(node: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a field of the one object is that an expression names, and where that stands."""
    from placement_lint.placement.domain.values import Class, Instance, sole

    only = sole(ctx.flow.value(node.value))
    if not isinstance(only, Instance) or only.through is not None:
        return None
    there, maker = ctx.beside(only.cls.module), ctx.beside(only.site.module)
    if there is None or maker is None or _is_assigned(node.attr.value, ctx):
        return None
    cls, made = there.tree.nodes[only.cls.node], maker.tree.nodes[only.site.node]
    if not isinstance(cls, cst.ClassDef) or not isinstance(made, cst.Call) or cls.bases:
        return None
    called = sole(maker.flow.value(made.func))
    names = {
        there.name(each.decorator.func)
        if isinstance(each.decorator, cst.Call)
        else there.name(each.decorator)
        for each in cls.decorators
    }
    is_made = isinstance(called, Class) and called.place == only.cls
    arguments = Arguments(made)
    if not is_made or arguments.is_open or not names or not names <= _DATACLASSES:
        return None
    fields = [
        statement
        for line in cls.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for statement in line.body
        if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name)
    ]
    for position, each in enumerate(fields):
        if isinstance(each.target, cst.Name) and each.target.value == node.attr.value:
            given = arguments.get(position, node.attr.value)
            if given is not None:
                return given, maker
            return None if each.value is None else (each.value, there)
    return None


def _is_assigned(name: str, ctx: Context) -> bool:
    """Return whether any file of the program assigns to an attribute of a name."""
    return any(
        isinstance(target, cst.Attribute) and target.attr.value == name
        for facts in ctx.module.siblings.values()
        for each in facts.tree.every(cst.AssignTarget, cst.AugAssign, cst.AnnAssign)
        for target in (each.target,)
    )
