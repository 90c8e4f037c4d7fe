"""What the attributes of objects are, as the class around says that assigns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.definitions import class_named, class_of_receiver

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.tree import Tree


_MOST_BASES = 8


def own_attribute(node: cst.Attribute, ctx: FileView) -> cst.BaseExpression | None:
    """Return what `self.name` is, where the class assigns it once and for all.

    Or a class of the file that it derives from. `self` is the object whose method it is, by any
    name, also in functions inside of the method.
    """
    owner = class_of_receiver(node.value, ctx.names)
    assigned = ctx.module.fact(_assigned_attributes)
    if (id(None), node.attr.value) in assigned:
        # Whoever has the object sets it.
        return None
    for _ in range(_MOST_BASES):
        if owner is None:
            return None
        found = assigned.get((id(owner), node.attr.value), [])
        if found or not owner.bases:
            return found[0] if len(found) == 1 else None
        owner = class_named(owner.bases[0].value, ctx.names)
    return None


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
        owner = tree.around(node, cst.ClassDef)
        if owner is not None or isinstance(node, cst.Attribute):
            found.setdefault((id(owner), name), []).append(value)
    return found


def _is_taken_apart(node: cst.Attribute, tree: Tree) -> bool:
    """Return whether an attribute is set by a loop, `with`, `del`, or together with others."""
    part: cst.CSTNode = node
    parent = tree.parent(part)
    while isinstance(parent, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        part, parent = parent, tree.parent(parent)
    if isinstance(parent, cst.For | cst.CompFor):
        return parent.target is part
    return isinstance(parent, cst.AssignTarget | cst.AsName | cst.Del)


def attributes_by_name(facts: ModuleFacts) -> dict[str, list[cst.Attribute]]:
    """Return the uses of the attributes of anything in a file, by name."""
    found: dict[str, list[cst.Attribute]] = {}
    for node in facts.tree.every(cst.Attribute):
        found.setdefault(node.attr.value, []).append(node)
    return found
