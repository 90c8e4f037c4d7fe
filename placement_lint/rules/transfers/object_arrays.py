"""What the attributes of objects of the program are, by the files of their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.called_from import attributes_by_name
from placement_lint.semantic.own_attributes import attribute_of_class
from placement_lint.syntax.definitions import (
    assigned_by,
    class_named,
    class_of_receiver,
    parameter_named,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import KnownType

_MOST_BASES = 16
"""Classes that one derives from, in any number of steps."""


def kept_by_object(node: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what an attribute of an object is set to by one statement alone, and the file of that.

    The object is one of a class of the program that the text names, or that of the method around,
    for which a base of another file may set it; see also `own_attribute`. None where the
    initializer is given the value.
    """
    found, name = _class_of(node, ctx), node.attr.value
    value = None
    for _ in range(_MOST_BASES):
        if found is None:
            return None
        value = attribute_of_class(found.cls, name, found.there)
        if value is not None:
            break
        found = _base_beside(found)
    if found is None or value is None or parameter_named(value, found.there.names) is not None:
        return None
    setting = (
        use for use, where in uses_of_object(node, ctx) if assigned_by(use, where.tree) is not None
    )
    return (value, found.there) if sum(1 for _ in setting) == 1 else None


class _Class(NamedTuple):
    """A class of the program, and its file."""

    cls: cst.ClassDef
    there: Context


def _class_of(node: cst.Attribute, ctx: Context) -> _Class | None:
    """Return the class of the object of which an attribute is one."""
    own = class_of_receiver(node.value, ctx.names)
    if own is not None:
        return _Class(own, ctx)
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    known = ctx.module.fact(KnownTypes).of(node.value)
    there = None if known is None or not known.path else ctx.beside(known.path)
    cls = None if there is None or known is None else _class_here(known, there)
    return None if cls is None or there is None else _Class(cls, there)


def _class_here(known: KnownType, there: Context) -> cst.ClassDef | None:
    from placement_lint.semantic.known_types import KnownTypes

    return there.module.fact(KnownTypes).class_here(known)


def _base_beside(of: _Class) -> _Class | None:
    """Return the class of another file that a class derives from first, in a few steps."""
    cls: cst.ClassDef | None = of.cls
    for _ in range(_MOST_BASES):
        if cls is None or not cls.bases:
            return None
        first = cls.bases[0].value
        cls = class_named(first, of.there.names)
        if cls is None:
            return _beside(first, of.there)
    return None


def _beside(base: cst.BaseExpression, there: Context) -> _Class | None:
    """Return the class of another file that an expression names."""
    name = there.name(base)
    found = None if name is None else definition_beside(there.module, name)
    if found is None or not isinstance(found[0], cst.ClassDef):
        return None
    file = there.beside(found[1].path)
    return None if file is None else _Class(found[0], file)


def _lineage(of: _Class) -> set[int]:
    """Return the `id` of a class and of those of the program that it derives from."""
    found: set[int] = set()
    pending = [of]
    while pending and len(found) < _MOST_BASES:
        each = pending.pop()
        if id(each.cls) in found:
            continue
        found.add(id(each.cls))
        for base in each.cls.bases:
            here = class_named(base.value, each.there.names)
            above = _beside(base.value, each.there) if here is None else _Class(here, each.there)
            if above is not None:
                pending.append(above)
    return found


def uses_of_object(node: cst.Attribute, ctx: Context) -> Iterator[tuple[cst.Attribute, Context]]:
    """Yield the uses of an attribute that may be of the same object, in all files of the program.

    A method of another class is none of its object, but for those that it derives from or that
    derive from it, or where a class derives from both.
    """
    uses = [*uses_of_attribute(node.attr.value, ctx)]
    owner = _class_of(node, ctx) if len(uses) > 1 else None
    lineage = set() if owner is None else _lineage(owner)
    known: dict[int, bool] = {}
    for use, where in uses:
        cls = None if owner is None else class_of_receiver(use.value, where.names)
        if cls is not None and owner is not None and id(cls) not in known:
            others = _lineage(_Class(cls, where))
            known[id(cls)] = (
                id(cls) in lineage
                or id(owner.cls) in others
                or any({id(cls), id(owner.cls)} <= each for each in _joining(ctx))
            )
        if cls is None or known.get(id(cls), True):
            yield use, where


def _joining(ctx: Context) -> list[set[int]]:
    """Return the lineages of the classes of the program that derive from several."""
    known = ctx.module.fact(_known_joining)
    if not known:
        known.append([])
        for path, facts in sorted(ctx.module.siblings.items()):
            classes = facts.fact(_with_bases)
            there = ctx.beside(path) if classes else None
            if there is not None:
                known[0] += [_lineage(_Class(each, there)) for each in classes]
    return known[0]


def _known_joining(_facts: ModuleFacts) -> list[list[set[int]]]:
    """Make the store of one file: the lineages of such classes, once they are asked for."""
    return []


def _with_bases(facts: ModuleFacts) -> list[cst.ClassDef]:
    """Return the classes of a file that derive from several."""
    return [each for each in facts.tree.every(cst.ClassDef) if len(each.bases) > 1]


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
