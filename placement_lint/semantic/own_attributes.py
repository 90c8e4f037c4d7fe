"""What the attributes of objects are, as the class around says that assigns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.called_from import passed_once
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.definitions import class_named, class_of_receiver, parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.tree import Tree


_MOST_BASES = 8
_MOST_NAMES = 3
"""Of one object, in functions in one another."""


def own_attribute(
    node: cst.Attribute, ctx: FileView, *, or_none: bool = False
) -> cst.BaseExpression | None:
    """Return what `self.name` is, where the class assigns it once and for all.

    Or a class of the file that it derives from. `self` is the object whose method it is, by any
    name, also in functions inside of the method. `or_none`: it may be `None` as well.
    """
    owner = own_class(node.value, ctx)
    return attribute_of_class(owner, node.attr.value, ctx, or_none=or_none)


def own_class(node: cst.BaseExpression, ctx: FileView) -> cst.ClassDef | None:
    """Return the class of the object whose method an expression is in, if it is that object.

    By the name that the method has for it, or that a function in the method is given it under.
    """
    for _ in range(_MOST_NAMES):
        owner = class_of_receiver(node, ctx.names)
        parameter = parameter_named(node, ctx.names) if owner is None else None
        given = None if parameter is None else passed_once(parameter, ctx)
        if given is None:
            return owner
        node = given
    return None


def attribute_of_class(
    owner: cst.ClassDef | None, name: str, ctx: FileView, *, or_none: bool = False
) -> cst.BaseExpression | None:
    """Return what an attribute of the objects of a class of the file is: see `own_attribute`."""
    found = _assigned_by(owner, name, ctx, or_none=or_none)
    return found[0] if len(found) == 1 else None


def assigned_to(node: cst.Attribute, ctx: FileView) -> list[cst.BaseExpression | None]:
    """Return all that the class of `self.name` assigns to it; None: more than an expression says.

    Nothing where that is not known.
    """
    return _assigned_by(own_class(node.value, ctx), node.attr.value, ctx, or_none=False)


def _assigned_by(
    owner: cst.ClassDef | None, name: str, ctx: FileView, *, or_none: bool
) -> list[cst.BaseExpression | None]:
    assigned = ctx.module.fact(_assigned_attributes)
    if (id(None), name) in assigned:
        # Whoever has the object sets it.
        return []
    for _ in range(_MOST_BASES):
        if owner is None:
            return []
        found = assigned.get((id(owner), name), [])
        if or_none:
            found = [each for each in found if each is None or not is_none(each)]
        if found or not owner.bases:
            return found
        owner = class_named(owner.bases[0].value, ctx.names)
    return []


def is_set_by_class(owner: cst.ClassDef, name: str, ctx: FileView) -> bool:
    """Return whether a class of the file sets an attribute, or one of the file that it derives from
    first.
    """
    assigned = ctx.module.fact(_assigned_attributes)
    above: cst.ClassDef | None = owner
    for _ in range(_MOST_BASES):
        if above is None:
            return False
        if (id(above), name) in assigned:
            return True
        above = class_named(above.bases[0].value, ctx.names) if above.bases else None
    return False


def _assigned_attributes(
    facts: ModuleFacts,
) -> dict[tuple[int, str], list[cst.BaseExpression | None]]:
    """Return what is assigned to attributes in each class; None: more than an expression says."""
    tree = facts.tree
    found: dict[tuple[int, str], list[cst.BaseExpression | None]] = {}
    for node in tree.every(cst.FunctionDef, cst.Attribute):
        if isinstance(node, cst.FunctionDef):
            name, value = node.name.value, None
        else:
            parent = tree.parent(node)
            name, value = node.attr.value, None
            if isinstance(parent, cst.AssignTarget):
                statement = tree.parent(parent)
                value = statement.value if isinstance(statement, cst.Assign) else None
            elif isinstance(parent, cst.AnnAssign) and parent.target is node:
                value = parent.value
            elif isinstance(parent, cst.AugAssign):
                if parent.target is not node:
                    continue
            elif not _is_taken_apart(node, tree):
                continue
            else:
                value = part_assigned(node, tree)
        owner = tree.around(node, cst.ClassDef)
        if owner is not None or isinstance(node, cst.Attribute):
            found.setdefault((id(owner), name), []).append(value)
    return found


def part_assigned(target: cst.CSTNode, tree: Tree) -> cst.BaseExpression | None:
    """Return what one of several targets is assigned: `self.x, self.y = x, y`.

    None for other targets, and where it is not written out.
    """
    places: list[tuple[int, int]] = []
    parent = tree.parent(target)
    while isinstance(parent, cst.Element):
        whole = tree.parent(parent)
        if not isinstance(whole, cst.Tuple | cst.List):
            return None
        if any(isinstance(each, cst.StarredElement) for each in whole.elements):
            return None
        place = next(n for n, each in enumerate(whole.elements) if each is parent)
        places.append((place, len(whole.elements)))
        parent = tree.parent(whole)
    statement = tree.parent(parent) if isinstance(parent, cst.AssignTarget) else None
    if not isinstance(statement, cst.Assign) or not places:
        return None
    value = statement.value
    for place, count in reversed(places):
        if not isinstance(value, cst.Tuple | cst.List) or len(value.elements) != count:
            return None
        element = value.elements[place]
        if any(isinstance(each, cst.StarredElement) for each in value.elements):
            return None
        value = element.value
    return value


def _is_taken_apart(node: cst.Attribute, tree: Tree) -> bool:
    """Return whether an attribute is set by a loop, `with`, `del`, or together with others."""
    part: cst.CSTNode = node
    parent = tree.parent(part)
    while isinstance(parent, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        part, parent = parent, tree.parent(parent)
    if isinstance(parent, cst.For | cst.CompFor):
        return parent.target is part
    return isinstance(parent, cst.AssignTarget | cst.AsName | cst.Del)


def class_variables(
    node: cst.Attribute, ctx: FileView
) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield what `self.name`, `cls.name` or `type(self).name` is, as the bodies of classes say it.

    Each with whether it certainly is that: what classes of the file have that derive from the one
    around is so only of their objects. Nothing where an object may have one of its own.
    """
    owner = class_of_receiver(_object_of(node.value, ctx), ctx.names)
    assigned = ctx.module.fact(_assigned_attributes)
    name = node.attr.value
    if owner is None or (id(None), name) in assigned:
        return
    derived = [*derived_from(owner, ctx.module)]
    above: cst.ClassDef | None = owner
    for _ in range(_MOST_BASES):
        if above is None or _bound_in(above, name) is not None:
            break
        derived.append(above)
        above = class_named(above.bases[0].value, ctx.names) if above.bases else None
    every = derived if above is None else [*derived, above]
    if any((id(each), name) in assigned for each in every):
        return
    for each in every:
        bound = _bound_in(each, name)
        if bound is not None:
            yield bound, each is above


def class_constant(node: cst.Attribute, ctx: FileView) -> cst.BaseExpression | None:
    """Return what `Table.ROWS` is, where the body of a class of the file assigns it, once and for
    all, or that of a class of the file which it derives from.
    """
    cls, name = class_named(node.value, ctx.names), node.attr.value
    assigned = ctx.module.fact(_assigned_attributes)
    if (id(None), name) in assigned:
        return None
    for _ in range(_MOST_BASES):
        # A class above that is unknown may make members of what its body assigns, as `Enum` does.
        if cls is None or cls.keywords or len(cls.bases) > 1 or (id(cls), name) in assigned:
            return None
        above = class_named(cls.bases[0].value, ctx.names) if cls.bases else None
        if cls.bases and above is None:
            return None
        bound = _bound_in(cls, name)
        if bound is not None:
            bindings = ctx.names.scope(bound).bindings.get(name, ())
            return bound if len(bindings) == 1 else None
        cls = above
    return None


def _object_of(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression:
    """Return what an expression is the class of: `type(self)`, `self.__class__`."""
    if isinstance(node, cst.Attribute) and node.attr.value == "__class__":
        return node.value
    if isinstance(node, cst.Call) and ctx.called(node) == "builtins.type" and len(node.args) == 1:
        return node.args[0].value
    return node


def _bound_in(cls: cst.ClassDef, name: str) -> cst.BaseExpression | None:
    """Return what the body of a class assigns to a name."""
    for line in cls.body.body:
        for each in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if not isinstance(each, cst.Assign | cst.AnnAssign):
                continue
            targets = (
                [target.target for target in each.targets]
                if isinstance(each, cst.Assign)
                else [each.target]
            )
            if any(isinstance(target, cst.Name) and target.value == name for target in targets):
                return each.value
    return None


def derived_from(cls: cst.ClassDef, facts: ModuleFacts) -> Iterator[cst.ClassDef]:
    """Yield the classes of the file that derive from one, if only by others."""
    below = facts.fact(derived_classes)
    pending, seen = [cls], {id(cls)}
    while pending:
        for each in below.get(id(pending.pop()), ()):
            if id(each) not in seen:
                seen.add(id(each))
                pending.append(each)
                yield each


def derived_classes(facts: ModuleFacts) -> dict[int, list[cst.ClassDef]]:
    """Return the classes of a file that derive from each one of it, by its `id`."""
    return facts.names.derived
