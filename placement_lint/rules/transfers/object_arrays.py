"""What the attributes of objects of the program are, by the files of their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.own_attributes import attribute_of_class, attributes_by_name
from placement_lint.syntax.definitions import assigned_by, class_of_receiver, parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts


def kept_by_object(node: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what an attribute of an object is set to by one statement alone, and the file of that.

    The object is one of a class of the program that the text names, and is not the one whose method
    the code is in: for that see `own_attribute`. None where the initializer is given the value.
    """
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    known = ctx.module.fact(KnownTypes).of(node.value)
    there = None if known is None or not known.path else ctx.beside(known.path)
    if known is None or there is None:
        return None
    cls, name = there.module.fact(KnownTypes).class_here(known), node.attr.value
    value = attribute_of_class(cls, name, there)
    if value is None or parameter_named(value, there.names) is not None:
        return None
    owner = there.tree.around(value, cst.ClassDef)
    setting = (
        use
        for use, where in uses_of_attribute(name, ctx)
        if assigned_by(use, where.tree) is not None and _may_be_of(use, owner, where)
    )
    return (value, there) if sum(1 for _ in setting) == 1 else None


def _may_be_of(use: cst.Attribute, owner: cst.ClassDef | None, ctx: Context) -> bool:
    """Return whether an attribute may be one of objects of a class, or of one derived from it."""
    cls = class_of_receiver(use.value, ctx.names)
    return cls is None or cls is owner or bool(cls.bases)


def uses_of_attribute(name: str, ctx: Context) -> Iterator[tuple[cst.Attribute, Context]]:
    """Yield the uses of attributes of a name, of anything, in all files of the program: what is
    called is a method of something, and no array.
    """
    for path, facts in sorted(ctx.module.siblings.items()):
        uses = facts.fact(attributes_by_name).get(name, ())
        there = ctx if facts is ctx.module else ctx.beside(path) if uses else None
        if there is not None:
            yield from ((use, there) for use in uses if not _is_called(use, there))


def _is_called(use: cst.CSTNode, ctx: Context) -> bool:
    parent = ctx.parent(use)
    return isinstance(parent, cst.Call) and parent.func is use


def kept_by_module(
    node: cst.Attribute | cst.Name, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return what the one statement sets a variable to that another file has at its top, and that
    file.
    """
    name = ctx.name(node)
    found = None if name is None else definition_beside(ctx.module, name)
    there = None if found is None else ctx.beside(found[1].path)
    if found is None or there is None or there.module is ctx.module:
        return None
    statement = found[0]
    if not isinstance(statement, cst.AnnAssign | cst.Assign) or statement.value is None:
        return None
    return statement.value, there


def uses_of_variable(name: str, ctx: Context) -> Iterator[tuple[cst.CSTNode, Context]]:
    """Yield whatever is called by a name in any file of the program, but for imports."""
    for path, facts in sorted(ctx.module.siblings.items()):
        uses = facts.fact(_names_by_text).get(name, ())
        there = ctx if facts is ctx.module else ctx.beside(path) if uses else None
        for use in uses if there is not None else ():
            if there is not None and not _is_called(use, there):
                yield use, there


def _names_by_text(facts: ModuleFacts) -> dict[str, list[cst.CSTNode]]:
    """Return the names and attributes of a file by what they are called, but for imports."""
    found: dict[str, list[cst.CSTNode]] = {}
    for node in facts.tree.every(cst.Attribute, cst.Name):
        parent = facts.tree.parent(node)
        is_part = isinstance(parent, cst.Attribute) and parent.attr is node
        if not is_part and not isinstance(parent, cst.AsName | cst.ImportAlias | cst.ImportFrom):
            name = node.attr if isinstance(node, cst.Attribute) else node
            if isinstance(name, cst.Name):
                found.setdefault(name.value, []).append(node)
    return found
