"""Numbers that a program keeps in settings: a dataclass of which fields are set once, or a dict.

The values of the interpreter know no numbers: loops would never end. Here one is read off where the
object is made, `Config(heads=6)`, or off the default of its field, or off the dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.reading import PRINTING
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.followed import assigned_value, followed
from placement_lint.semantic.own_attributes import assigned_to
from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments, integer_value, string_value
from placement_lint.syntax.definitions import PROPERTIES, assigned_by

if TYPE_CHECKING:
    from placement_lint.placement.domain.program_values import Instance
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_MOST_STEPS = 6
_MOST_MADE = 8
"""Objects that one name stands for, which are looked into."""
_LOOKING = frozenset({"copy", "get", "items", "keys", "values"})
_LOOKING_AT_KEYS = frozenset({"keys"})
_SHOWING_ALL = PRINTING | {
    "builtins.len", "builtins.sorted", "json.dump", "json.dumps", "wandb.init",
}  # fmt: skip
"""What shows a dict, and leaves the dicts in it alone."""
_SHOWING = _SHOWING_ALL | {"builtins.dict"}
"""What shows a dict, or copies it."""
_FIELDS = frozenset({"attrs.field", "dataclasses.field", "flax.struct.field"})


def whole_number(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> int | None:
    """Return the whole number that an expression is; None where that is not known."""
    node = followed(node, ctx)
    if isinstance(node, cst.BinaryOperation):
        return _computed(node, ctx, steps - 1) if steps else None
    if steps and (given := _given_in_call(node, ctx)) is not None:
        return whole_number(*given, steps - 1)
    number = integer_value(node)
    if isinstance(node, cst.Subscript) and steps:
        item = _item(node, ctx)
        return None if item is None else whole_number(*item, steps - 1)
    if number is not None or not isinstance(node, cst.Attribute):
        return number
    given = field_given(node, ctx)
    if given is not None:
        expression, there = given
        return integer_value(followed(expression, there))
    found = given_by_property(node, ctx) if steps else None
    return None if found is None else whole_number(*found, steps - 1)


def _given_in_call(
    node: cst.BaseExpression, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a parameter is in the call that is followed, or what a call gives."""
    if not isinstance(node, cst.Call | cst.Name):
        return None
    # Rules import this module where LibCST may not be needed.
    from placement_lint.rules.meshes.entered_calls import entered

    return ctx.passed(node) or entered(node, ctx)


def given_by_property(
    node: cst.Attribute, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a property of the one object gives that an expression names, and where that
    stands: `return (self.data, self.model)`.
    """
    from placement_lint.placement.domain.program_values import Instance
    from placement_lint.placement.domain.values import sole
    from placement_lint.semantic.returned import only_return

    only = sole(ctx.flow.value(node.value))
    place = None
    if isinstance(only, Instance):
        place = ctx.flow.program.classes.method(only.cls, node.attr.value)
    there = None if place is None else ctx.beside(place.module)
    method = None if place is None or there is None else there.tree.nodes[place.node]
    if there is None or not isinstance(method, cst.FunctionDef) or len(method.decorators) != 1:
        return None
    if there.name(method.decorators[0].decorator) not in PROPERTIES:
        return None
    returned = only_return(method, there)
    return None if returned is None else (returned, there)


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


def _item(node: cst.Subscript, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a dict has under a key, or a dict in it, and the file that this stands in.

    If nothing in the program may change the dict. It may be one of another file.
    """
    keys: list[str] = []
    table: cst.BaseExpression = node
    while isinstance(table, cst.Subscript):
        index = table.slice[0].slice if len(table.slice) == 1 else None
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        if key is None or len(keys) == _MOST_STEPS:
            return None
        keys.insert(0, key)
        table = table.value
    found = _table(table, ctx)
    if found is None:
        return None
    name, made, there = found
    held: cst.BaseExpression = made
    for key in keys:
        entries = entries_of(held, there) if isinstance(held, cst.Call | cst.Dict) else None
        if entries is None or key not in entries:
            return None
        held = entries[key]
    known = there.module.fact(_kept)
    if (id(made), len(keys)) not in known:
        known[id(made), len(keys)] = _is_kept(name, made, there, len(keys))
    return (held, there) if known[id(made), len(keys)] else None


def _table(
    table: cst.BaseExpression, ctx: Context
) -> tuple[str, cst.BaseExpression, Context] | None:
    """Return what a name is bound to, once, with the name and the file in which it is."""
    only = ctx.names.sole_binding(table) if isinstance(table, cst.Name) else None
    if isinstance(table, cst.Name) and only is not None and only.value is not None:
        return table.value, only.value, ctx
    qualified = ctx.name(table) if isinstance(table, cst.Attribute | cst.Name) else None
    found = None if qualified is None else definition_beside(ctx.module, qualified)
    if found is None or qualified is None:
        return None
    bound, facts = found
    there = ctx.beside(facts.path)
    value = bound.value if isinstance(bound, cst.Assign | cst.AnnAssign) else None
    if there is None or value is None:
        return None
    return qualified.rpartition(".")[2], value, there


def _is_kept(name: str, made: cst.BaseExpression, ctx: Context, depth: int) -> bool:
    """Return whether nothing in the program may change a dict, nor one of those in it that so many
    keys lead into. `made`: what the name of the dict is bound to.
    """
    scope = ctx.names.scope(made)
    if ctx.names.owner(name, scope) is ctx.names.module_scope:
        for facts in ctx.module.siblings.values():
            there = ctx.beside(facts.path) if facts is not ctx.module else None
            if there is None or not facts.says(name.encode()):
                continue
            if not all(_only_reads_elsewhere(use, there, depth) for use in _called(name, facts)):
                return False
    return all(_only_reads(use, ctx, depth) for use in ctx.names.uses(name, scope))


def _kept(_facts: ModuleFacts) -> dict[tuple[int, int], bool]:
    """Make the store of one file: by the dict, and how many keys lead into it."""
    return {}


def _called(name: str, facts: ModuleFacts) -> list[cst.CSTNode]:
    return facts.fact(_by_text).get(name, [])


def _by_text(facts: ModuleFacts) -> dict[str, list[cst.CSTNode]]:
    """Return what has a name in a file by its last part, whatever it stands for."""
    found: dict[str, list[cst.CSTNode]] = {}
    for node in facts.tree.every(cst.Attribute, cst.Name):
        last = node.attr.value if isinstance(node, cst.Attribute) else node.value
        found.setdefault(last, []).append(node)
    every = (item for scope in facts.names.scopes() for item in scope.bindings.items())
    for name, bindings in every:
        for each in bindings:
            last = (each.target or name).rpartition(".")[2]
            if last != name:
                # It is imported under another name.
                found.setdefault(last, []).append(each.node)
    return found


def _only_reads_elsewhere(node: cst.CSTNode, ctx: Context, depth: int) -> bool:
    """Return whether what has the name of a dict of another file only looks into it."""
    if not isinstance(node, cst.Attribute | cst.Name):
        return False
    is_bound = isinstance(ctx.parent(node), cst.AssignTarget | cst.AnnAssign)
    return not is_bound and _only_reads(node, ctx, depth)


def _only_reads(use: cst.BaseExpression, ctx: Context, depth: int) -> bool:
    """Return whether a use of a dict binds it, or takes or shows what is in it.

    `depth`: it is a dict of dicts, of so many in one another; what is taken must be none of these.
    """
    parent = ctx.parent(use)
    while depth and isinstance(parent, cst.Subscript) and parent.value is use:
        use, parent, depth = parent, ctx.parent(parent), depth - 1
        if isinstance(parent, cst.Del) or assigned_by(use, ctx.tree) is not None:
            return False
    around = None if parent is None else ctx.parent(parent)
    if not depth:
        return True
    if isinstance(parent, cst.Attribute):
        looking = _LOOKING if depth == 1 else _LOOKING_AT_KEYS
        return isinstance(around, cst.Call) and parent.attr.value in looking
    if isinstance(parent, cst.Arg) and isinstance(around, cst.Call):
        shows = bool(parent.star) or ctx.called(around) in _SHOWING
        return shows if depth == 1 else ctx.called(around) in _SHOWING_ALL
    if isinstance(parent, cst.AnnAssign):
        return parent.target is use
    if isinstance(parent, cst.StarredDictElement):
        return depth == 1
    return isinstance(
        parent,
        cst.AssignTarget
        | cst.CompFor
        | cst.ComparisonTarget
        | cst.For
        | cst.FormattedStringExpression,
    )


def field_given(node: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a field of the one object is that an expression names, and where that stands.

    Or of several that one expression has made, such as for each call of a function.
    """
    from placement_lint.placement.domain.program_values import Instance

    owner: tuple[cst.BaseExpression, Context] | None = (node.value, ctx)
    held = ctx.flow.value(node.value)
    while owner is not None:
        held = owner[1].flow.value(owner[0])
        owner = owner[1].passed(owner[0])
    every = [atom for atom in held if isinstance(atom, Instance)]
    if len({(each.cls, each.site) for each in every}) != 1 or len(every) != len(held):
        return None
    only = every[0]
    if not all(_is_as_made(each, ctx) for each in every):
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


def fields_written(node: cst.Attribute, ctx: Context) -> list[cst.BaseExpression]:
    """Return what a field is of each object, of a record, that the text binds to what has it.

    Nothing where one of them is not written out: `self.pages = Pages(keys, values)`.
    """
    owner = node.value
    made = assigned_to(owner, ctx) if isinstance(owner, cst.Attribute) else []
    if isinstance(owner, cst.Name):
        made = [assigned_value(owner, ctx)]
    given = [_field_of(each, node.attr.value, ctx) for each in made[:_MOST_MADE]]
    known = [each for each in given if each is not None]
    return known if len(known) == len(made) and not _is_assigned(node.attr.value, ctx) else []


def _field_of(
    made: cst.BaseExpression | None, name: str, ctx: Context
) -> cst.BaseExpression | None:
    """Return what a call that makes an object of a record's class gives a field."""
    from placement_lint.placement.domain.program_values import Class
    from placement_lint.placement.domain.values import sole

    called = sole(ctx.flow.value(made.func)) if isinstance(made, cst.Call) else None
    arguments = Arguments(made) if isinstance(made, cst.Call) else None
    if not isinstance(called, Class) or arguments is None or arguments.is_open:
        return None
    classes = ctx.flow.program.classes
    fields = classes.fields(called.place) or []
    names = [each for each, _ in fields]
    if name not in names or classes.method(called.place, "__init__") is not None:
        return None
    return arguments.get(names.index(name), name)


def _is_as_made(instance: Instance, ctx: Context) -> bool:
    """Return whether an object is the one that was made: a function may have handed it out."""
    from placement_lint.placement.domain.program_values import Function
    from placement_lint.placement.domain.values import Method, sole

    if instance.through is None:
        return True
    call, there = ctx.node_at(instance.through) or (None, ctx)
    if not isinstance(call, cst.Call):
        return False
    return isinstance(sole(there.flow.value(call.func)), Function | Method)


def _is_class(made: cst.CSTNode, instance: Instance, ctx: Context) -> bool:
    """Return whether an object is made by calling its class."""
    from placement_lint.placement.domain.program_values import Class
    from placement_lint.placement.domain.values import sole

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
