"""What a name stands for in one file, where it is bound once."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.called_from import passed_once
from placement_lint.semantic.own_attributes import class_constant, own_attribute
from placement_lint.syntax.definitions import parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_NAME_HOPS = 4


def assigned_value(node: cst.CSTNode, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a name is bound to, where it is bound once, by an assignment.

    That may be one of several values: `rows, columns = 8, 64`.
    """
    only = ctx.names.sole_binding(node)
    if only is None:
        return None
    bound = only.node
    if only.value is None and isinstance(bound, cst.Assign) and isinstance(node, cst.Name):
        return value_for(node.value, bound, ctx)
    return only.value


def value_for(name: str, assignment: cst.Assign, ctx: FileView) -> cst.BaseExpression | None:
    """Return what an assignment gives a name, alone or as one of several: `a, b = 1, 2`."""
    known = ctx.module.fact(_unpacked)
    if id(assignment) not in known:
        known[id(assignment)] = {
            target.value: value
            for each in assignment.targets
            for target, value in assigned_parts(each.target, assignment.value)
            if isinstance(target, cst.Name)
        }
    return known[id(assignment)].get(name)


def _unpacked(_facts: ModuleFacts) -> dict[int, dict[str, cst.BaseExpression]]:
    """Make the store of one file: what an unpacking binds each name to, by assignment."""
    return {}


def assigned_parts(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield the targets in a target, each with the part of the value that is assigned to it.

    A tuple is a target as a whole where it is not written out what each part of it is given.
    """
    if isinstance(target, cst.Tuple | cst.List) and isinstance(value, cst.Tuple | cst.List):
        parts = (*target.elements, *value.elements)
        if len(target.elements) == len(value.elements) and not any(
            isinstance(part, cst.StarredElement) for part in parts
        ):
            for each, part in zip(target.elements, value.elements, strict=True):
                yield from assigned_parts(each.value, part.value)
            return
    yield target, value


def followed(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression:
    """Return what a name stands for, through a few names that are bound once.

    And through attributes of the object itself, where they are no parameters of its initializer,
    and parameters of functions in the function around, which calls them once.
    """
    for _ in range(_NAME_HOPS):
        value = value_behind(node, ctx)
        if value is None and isinstance(node, cst.Attribute):
            value = own_attribute(node, ctx)
            if value is not None and parameter_named(value, ctx.names) is not None:
                break
            value = value or class_constant(node, ctx)
        if value is None:
            break
        node = value
    return node


def value_behind(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a name is bound to, or what the one call passes for it, where that is certain."""
    value = assigned_value(node, ctx)
    if value is not None or not isinstance(node, cst.Name):
        return value
    parameter = parameter_named(node, ctx.names)
    return None if parameter is None else passed_once(parameter, ctx)


def bound_before(
    name: cst.Name, ctx: FileView
) -> cst.BaseExpression | cst.For | cst.CompFor | None:
    """Return what a name is bound to where it is read: a value, or the loop that it is drawn by.

    That is the last statement before it that binds it, in a block around it, if that is certain.
    """
    places = _binding_places(name, ctx)
    tree = ctx.tree

    def last_within(node: cst.CSTNode, before: int | None = None) -> int | None:
        """Return the last place at which a node, itself included, binds the name."""
        start = tree.index(node)
        end = tree.ends[start] if before is None else before
        at = bisect_left(places, end) - 1
        return places[at] if at >= 0 and places[at] >= start else None

    child: cst.CSTNode = name
    for around in ctx.ancestors(name):
        if isinstance(around, cst.For | cst.CompFor) and child is not around.iter:
            at = bisect_left(places, tree.index(around))
            is_own = at < len(places) and places[at] == tree.index(around)
            if is_own or last_within(around.target) is not None:
                return around
        if isinstance(around, cst.For | cst.While) and last_within(around) is not None:
            return None
        if isinstance(around, cst.IndentedBlock | cst.Module):
            last = last_within(around, tree.index(child))
            if last is not None and last > tree.index(around):
                return _assigned(_statement_of(tree.nodes[last], around, ctx), name.value, ctx)
        if isinstance(around, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return None
        child = around
    return None


def _binding_places(name: cst.Name, ctx: FileView) -> array[int]:
    """Return the places of what binds a name, in order."""
    owner = ctx.names.owner(name.value, ctx.names.scope(name))
    if owner is None:
        return array("i")
    known = ctx.module.fact(_places_by_name)
    key = id(owner), name.value
    if key not in known:
        nodes = (each.node for each in owner.bindings[name.value])
        places = (ctx.tree.index(node) for node in nodes if ctx.tree.contains(node))
        known[key] = array("i", sorted(places))
    return known[key]


def _places_by_name(_facts: ModuleFacts) -> dict[tuple[int, str], array[int]]:
    """Make the store of one file: where each name is bound, by its scope."""
    return {}


def _statement_of(node: cst.CSTNode, block: cst.CSTNode, ctx: FileView) -> cst.CSTNode:
    """Return the statement of a block that a node is in."""
    while (around := ctx.parent(node)) is not None and around is not block:
        node = around
    return node


def _assigned(statement: cst.CSTNode, name: str, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a line with one assignment to one target gives a name."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    only = statement.body[0]
    if not isinstance(only, cst.Assign) or len(only.targets) != 1:
        return None
    return value_for(name, only, ctx)
