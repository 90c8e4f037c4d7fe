"""What in the text of a file says the types of the attributes of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.own_attributes import part_assigned
from placement_lint.syntax.definitions import (
    assigned_by,
    class_named,
    class_of_receiver,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts


def attributes_of(cls: cst.ClassDef, facts: ModuleFacts) -> dict[str, list[cst.CSTNode | None]]:
    """Return what says the types of the attributes of a class: annotations, values, methods.

    None among them: a place that sets the attribute to something that nothing is said of.
    """
    tree = facts.tree
    found: dict[str, list[cst.CSTNode | None]] = {}
    for line in cls.body.body:
        if isinstance(line, cst.FunctionDef | cst.ClassDef):
            found.setdefault(line.name.value, []).append(line)
        for child in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            for name, meant in _said_of_names(child):
                found.setdefault(name, []).append(meant)
    for node in tree.every(cst.Attribute, below=cls):
        if not isinstance(node.value, cst.Name) or not _is_of_class(node.value, cls, facts):
            continue
        parent = tree.parent(node)
        said: cst.CSTNode | None = None
        if isinstance(parent, cst.AssignTarget):
            statement = tree.parent(parent)
            said = statement.value if isinstance(statement, cst.Assign) else None
        elif isinstance(parent, cst.AnnAssign) and parent.target is node:
            said = parent.annotation
        elif not _is_bound(node, parent, facts):
            continue
        else:
            said = part_assigned(node, tree)
        found.setdefault(node.attr.value, []).append(said)
    for name, values in facts.fact(_set_from_outside).get(id(cls), {}).items():
        found.setdefault(name, []).extend(values)
    return found


def _said_of_names(
    statement: cst.BaseSmallStatement,
) -> Iterator[tuple[str, cst.Annotation | cst.BaseExpression]]:
    """Yield the names that a statement binds, each with its annotation or its value."""
    if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
        yield statement.target.value, statement.annotation
    elif isinstance(statement, cst.Assign):
        for each in statement.targets:
            if isinstance(each.target, cst.Name):
                yield each.target.value, statement.value


def _set_from_outside(facts: ModuleFacts) -> dict[int, dict[str, list[cst.BaseExpression]]]:
    """Return what is assigned to attributes of an object by its name: `state.step = make()`.

    By the class of which one call makes what the name is, as far as the file has it.
    """
    found: dict[int, dict[str, list[cst.BaseExpression]]] = {}
    for each in facts.tree.every(cst.AssignTarget):
        target, statement = each.target, facts.tree.parent(each)
        is_one = isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name)
        if not isinstance(target, cst.Attribute) or not is_one:
            continue
        made = facts.names.sole_value(target.value)
        cls = class_named(made.func, facts.names) if isinstance(made, cst.Call) else None
        if cls is not None and isinstance(statement, cst.Assign):
            places = found.setdefault(id(cls), {}).setdefault(target.attr.value, [])
            places.append(statement.value)
    return found


def _is_of_class(name: cst.Name, cls: cst.ClassDef, facts: ModuleFacts) -> bool:
    """Return whether a name in a class is an object of it, or the class itself in a method."""
    if name.value in {"self", "cls"}:
        return facts.tree.around(name, cst.ClassDef) is cls
    return class_of_receiver(name, facts.names) is cls


def _is_bound(node: cst.Attribute, parent: cst.CSTNode | None, facts: ModuleFacts) -> bool:
    """Return whether an attribute is bound in another way than by an assignment of its own."""
    by = assigned_by(node, facts.tree)
    return by is not None and not (
        by is parent and isinstance(by, cst.AssignTarget | cst.AnnAssign)
    )
