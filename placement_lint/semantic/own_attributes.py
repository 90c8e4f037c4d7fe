"""What the attributes of objects are, as the class around says that assigns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.tree import Tree


_OF_CLASSES = frozenset({"builtins.classmethod", "builtins.staticmethod"})
"""Decorators of methods that are not given an object."""


def own_attribute(node: cst.Attribute, ctx: FileView) -> cst.BaseExpression | None:
    """Return what `self.name` is, where the class assigns it once and for all.

    `self` is the object whose method it is, by any name, also in functions inside of the method.
    """
    owner = class_of_self(node.value, ctx.module)
    if owner is None:
        return None
    found = ctx.module.fact(_assigned_attributes).get((id(owner), node.attr.value), [])
    return found[0] if len(found) == 1 else None


def class_of_self(node: cst.BaseExpression, facts: ModuleFacts) -> cst.ClassDef | None:
    """Return the class in whose method a name is the object itself: its first parameter."""
    if not isinstance(node, cst.Name):
        return None
    bindings = facts.names.bindings(node)
    bound = bindings[0].node if len(bindings) == 1 else None
    parameters = facts.tree.parent(bound) if isinstance(bound, cst.Param) else None
    method = None if parameters is None else facts.tree.parent(parameters)
    if not isinstance(method, cst.FunctionDef) or not isinstance(parameters, cst.Parameters):
        return None
    first = [*parameters.posonly_params, *parameters.params][:1]
    is_object = not any(
        facts.names.qualified(x.decorator) in _OF_CLASSES for x in method.decorators
    )
    return class_around(method, facts) if first == [bound] and is_object else None


def class_around(function: cst.CSTNode | None, facts: ModuleFacts) -> cst.ClassDef | None:
    """Return the class that a function is a method of."""
    block = None if function is None else facts.tree.parent(function)
    cls = None if block is None else facts.tree.parent(block)
    return cls if isinstance(cls, cst.ClassDef) and block is cls.body else None


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
        owner = next(
            (each for each in tree.ancestors(node) if isinstance(each, cst.ClassDef)), None
        )
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
