"""Numbers that a program keeps in settings: a dataclass of which fields are set once, or a dict.

The values of the interpreter know no numbers: loops would never end. Here one is read off where the
object is made, `Config(heads=6)`, or off the default of its field, or off the dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments, integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Instance
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_MOST_STEPS = 6
_LOOKING = frozenset({"copy", "get", "items", "keys", "values"})
_SHOWING = frozenset({
    "builtins.dict", "builtins.len", "builtins.print", "builtins.repr", "builtins.sorted",
    "builtins.str", "json.dump", "json.dumps", "pprint.pprint", "wandb.init",
})  # fmt: skip
"""What shows a dict, or copies it."""
_FIELDS = frozenset({"attrs.field", "dataclasses.field", "flax.struct.field"})


def whole_number(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> int | None:
    """Return the whole number that an expression is; None where that is not known."""
    node = followed(node, ctx)
    if isinstance(node, cst.BinaryOperation):
        return _computed(node, ctx, steps - 1) if steps else None
    number = integer_value(node)
    if isinstance(node, cst.Subscript) and steps:
        item = _item(node, ctx)
        return None if item is None else whole_number(item, ctx, steps - 1)
    if number is not None or not isinstance(node, cst.Attribute):
        return number
    given = _field(node, ctx)
    if given is None:
        return None
    expression, there = given
    return integer_value(followed(expression, there))


def _computed(node: cst.BinaryOperation, ctx: Context, steps: int) -> int | None:
    """Return the sum, difference, product or quotient of two whole numbers."""
    one, other = whole_number(node.left, ctx, steps), whole_number(node.right, ctx, steps)
    if one is None or other is None:
        return None
    if isinstance(node.operator, cst.FloorDivide):
        return one // other if other else None
    if isinstance(node.operator, cst.Multiply):
        return one * other
    if isinstance(node.operator, cst.Add):
        return one + other
    return one - other if isinstance(node.operator, cst.Subtract) else None


def _item(node: cst.Subscript, ctx: Context) -> cst.BaseExpression | None:
    """Return what a dict of the file has under a key, if nothing in the program may change it."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    key = string_value(index.value) if isinstance(index, cst.Index) else None
    only = ctx.names.sole_binding(node.value)
    if key is None or only is None or not isinstance(node.value, cst.Name):
        return None
    made = None if only.value is None else entries_of(only.value, ctx)
    if made is None or key not in made or not isinstance(only.value, cst.Call | cst.Dict):
        return None
    known = ctx.module.fact(_kept)
    if id(only) not in known:
        known[id(only)] = _is_kept(node.value, ctx)
    return made[key] if known[id(only)] else None


def _is_kept(table: cst.Name, ctx: Context) -> bool:
    """Return whether nothing in the program may change the dict that a name is bound to."""
    name, scope = table.value, ctx.names.scope(table)
    is_global = ctx.names.owner(name, scope) is ctx.names.module_scope
    siblings = ctx.module.siblings.values()
    others = [each for each in siblings if each is not ctx.module] if is_global else []
    if any(each.says(name.encode()) for each in others):
        return False
    return all(_only_looks(use, ctx) for use in ctx.names.uses(name, scope))


def _kept(_facts: ModuleFacts) -> dict[int, bool]:
    """Make the store of one file: by the one binding of a dict."""
    return {}


def _only_looks(use: cst.Name, ctx: Context) -> bool:
    """Return whether a use of a dict binds it, or takes or shows what is in it."""
    parent = ctx.parent(use)
    around = None if parent is None else ctx.parent(parent)
    if isinstance(parent, cst.Subscript) and parent.value is use:
        return not isinstance(around, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del)
    if isinstance(parent, cst.Attribute):
        return isinstance(around, cst.Call) and parent.attr.value in _LOOKING
    if isinstance(parent, cst.Arg) and isinstance(around, cst.Call):
        return bool(parent.star) or ctx.called(around) in _SHOWING
    if isinstance(parent, cst.AnnAssign):
        return parent.target is use
    return isinstance(
        parent,
        cst.AssignTarget
        | cst.CompFor
        | cst.ComparisonTarget
        | cst.For
        | cst.FormattedStringExpression
        | cst.StarredDictElement,
    )


def _field(node: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a field of the one object is that an expression names, and where that stands."""
    from placement_lint.placement.domain.values import Instance, sole

    only = sole(ctx.flow.value(node.value))
    if not isinstance(only, Instance) or not _is_as_made(only, ctx):
        return None
    name, classes = node.attr.value, ctx.flow.program.classes
    fields = classes.fields(only.cls)
    maker = ctx.beside(only.site.module)
    made = None if maker is None else maker.tree.nodes[only.site.node]
    is_own = classes.method(only.cls, "__init__") is not None or _is_assigned(name, ctx)
    if fields is None or maker is None or made is None or is_own:
        return None
    arguments = Arguments(made) if isinstance(made, cst.Call) else None
    if arguments is None:
        if not _is_factory(made, maker):
            return None
    elif arguments.is_open or not _is_class(made, only, maker):
        return None
    for position, (each, default) in enumerate(fields):
        if each == name:
            given = None if arguments is None else arguments.get(position, name)
            return (given, maker) if given is not None else _default(default, only, ctx)
    return None


def _is_as_made(instance: Instance, ctx: Context) -> bool:
    """Return whether an object is the one that was made: a function may have handed it out."""
    from placement_lint.placement.domain.values import Function, sole

    if instance.through is None:
        return True
    there = ctx.beside(instance.through.module)
    call = None if there is None else there.tree.nodes[instance.through.node]
    if there is None or not isinstance(call, cst.Call):
        return False
    return isinstance(sole(there.flow.value(call.func)), Function)


def _is_class(made: cst.CSTNode, instance: Instance, ctx: Context) -> bool:
    """Return whether an object is made by calling its class."""
    from placement_lint.placement.domain.values import Class, sole

    called = sole(ctx.flow.value(made.func)) if isinstance(made, cst.Call) else None
    return isinstance(called, Class) and called.place == instance.cls


def _is_factory(made: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an object is the default of a field, which is made of nothing."""
    argument = ctx.parent(made)
    return (
        isinstance(argument, cst.Arg)
        and argument.keyword is not None
        and argument.keyword.value == "default_factory"
    )


def _default(
    node: cst.BaseExpression | None, instance: Instance, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return the default of a field, which stands in the class of an object, or one of its bases.

    `field(default=4)` is what it says.
    """
    if node is None:
        return None
    places = ctx.flow.program.classes.bases(instance.cls)
    for there in (ctx.beside(place.module) for place in places):
        if there is not None and there.tree.contains(node):
            if isinstance(node, cst.Call) and there.name(node.func) in _FIELDS:
                said = Arguments(node).keywords.get("default")
                return None if said is None else (said, there)
            return node, there
    return None


def _is_assigned(name: str, ctx: Context) -> bool:
    """Return whether any file of the program assigns to an attribute of a name."""
    return any(
        isinstance(target, cst.Attribute) and target.attr.value == name
        for facts in ctx.module.siblings.values()
        for each in facts.tree.every(cst.AssignTarget, cst.AugAssign, cst.AnnAssign)
        for target in (each.target,)
    )
